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
  /** etcd has kept a log here: found empty later, data is lost, also where the latch came too late (H2, H3). */
  readonly used?: boolean;
}

const DOOMED = ".deleting";

export class Volumes {
  readonly #layout: Layout;
  readonly #disk: Disk;
  readonly #random: Random;
  /** Volumes that are known to be marked as used, by UID. */
  readonly #used = new Set<string>();

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
    await this.#disk.rename(dir, `${dir}${DOOMED}`);
    await this.#disk.remove(`${dir}${DOOMED}`);
  }

  /** Finishes deletions that an earlier controller did not live to finish. */
  async finishDeletions(): Promise<void> {
    for (const name of await this.#disk.list(this.#layout.volumes)) {
      if (name.endsWith(DOOMED)) await this.#disk.remove(this.#layout.volume(name).dir);
    }
  }

  /** Remembers, while a member runs, that its log lies here. A start that ended before is none. */
  async noteUse(record: MemberRecord): Promise<void> {
    const uid = record.volumeUID;
    if (uid === undefined || this.#used.has(uid) || (await this.isEmpty(record.name))) return;
    const identity = await this.#identity(record.name);
    if (identity?.uid !== uid) return;
    if (!identity.used) {
      const text = `${JSON.stringify({ ...identity, used: true })}\n`;
      await this.#disk.write(this.#layout.volume(record.name).identity, text, { private: true });
    }
    this.#used.add(uid);
  }

  /** Empty although it has been used: etcd would start over here, or rejoin without memory (R4, H3, I4). */
  async hasLostData(record: MemberRecord): Promise<boolean> {
    const used = record.joined || (await this.#identity(record.name))?.used === true;
    return used && (await this.isEmpty(record.name));
  }

  /** No write-ahead log. */
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
      const { uid, cluster, used } = JSON.parse(text) as Partial<VolumeIdentity>;
      if (typeof uid === "string" && typeof cluster === "string")
        return { uid, cluster, ...(used === true && { used }) };
    } catch {
      // Damaged: falls through to an identity that matches nobody.
    }
    return { uid: "unreadable", cluster: "unreadable" };
  }
}
