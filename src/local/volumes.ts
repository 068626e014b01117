/**
 * Volumes on one machine: a directory with an identity beside the data. Made when a record has none yet,
 * deleted only by a step (I5), and never made anew for a record that was permitted to start on one (H2, I4).
 */
import type { VolumeFacts } from "../core/observation.ts";
import { ordinalOf, type MemberRecord } from "../core/record.ts";
import type { Disk } from "../seams/disk.ts";
import { hex, type Random } from "../seams/random.ts";
import type { Layout } from "./layout.ts";

interface VolumeIdentity {
  readonly uid: string;
  /** The UID of the cluster that made it. */
  readonly cluster: string;
}

export class Volumes {
  readonly #layout: Layout;
  readonly #disk: Disk;
  readonly #random: Random;

  constructor(layout: Layout, disk: Disk, random: Random) {
    this.#layout = layout;
    this.#disk = disk;
    this.#random = random;
  }

  async facts(member: string): Promise<VolumeFacts> {
    const identity = await this.#identity(member);
    return identity === undefined ? { state: "absent" } : { state: "ready", uid: identity.uid };
  }

  /** True when one was made. A directory without an identity is half made, and is finished. */
  async ensure(record: MemberRecord, clusterUID: string): Promise<boolean> {
    if (record.volumeUID !== undefined || record.leaving !== undefined) return false;
    if ((await this.#identity(record.name)) !== undefined) return false;
    const volume = this.#layout.volume(record.name);
    await this.#disk.makeDirectory(volume.data);
    const identity: VolumeIdentity = { uid: hex(this.#random, 8), cluster: clusterUID };
    await this.#disk.write(volume.identity, `${JSON.stringify(identity)}\n`, { private: true });
    return true;
  }

  async delete(member: string, uid: string): Promise<void> {
    const identity = await this.#identity(member);
    if (identity === undefined || identity.uid !== uid) return; // Gone, or another one by now: not ours to delete.
    const { dir } = this.#layout.volume(member);
    // Out of sight first: a crash half way must not leave a volume that looks whole.
    const doomed = `${dir}.deleting`;
    await this.#disk.rename(dir, doomed);
    await this.#disk.remove(doomed);
  }

  /** No write-ahead log: etcd would start over here if it were let (R4, H3). */
  async isEmpty(member: string): Promise<boolean> {
    return (await this.#disk.list(this.#layout.volume(member).wal)).length === 0;
  }

  /** The highest ordinal among volumes, kept ones included, so that no name comes back (H11). */
  async highestOrdinal(cluster: string): Promise<number> {
    const ordinals = (await this.#disk.list(this.#layout.volumes)).map(
      (name) => ordinalOf(cluster, name) ?? 0,
    );
    return Math.max(0, ...ordinals);
  }

  /** Volumes of other clusters that bear a name of ours (I9). */
  async clashes(records: readonly MemberRecord[], clusterUID: string): Promise<string[]> {
    const found = await Promise.all(
      records.map(async ({ name }) => {
        const identity = await this.#identity(name);
        return identity !== undefined && identity.cluster !== clusterUID
          ? [this.#layout.volume(name).dir]
          : [];
      }),
    );
    return found.flat();
  }

  async #identity(member: string): Promise<VolumeIdentity | undefined> {
    const text = await this.#disk.read(this.#layout.volume(member).identity);
    if (text === undefined) return undefined;
    try {
      const { uid, cluster } = JSON.parse(text) as Partial<VolumeIdentity>;
      if (typeof uid === "string" && typeof cluster === "string") return { uid, cluster };
    } catch {
      // Damaged: falls through to an identity that matches nobody.
    }
    return { uid: "unreadable", cluster: "unreadable" };
  }
}
