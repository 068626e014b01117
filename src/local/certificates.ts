/**
 * Certificates of a local cluster as files: a CA per plane, leaves for members, one client certificate for
 * the user and one for the controller. A CA is made if absent and replaced only when a cluster is recovered; leaves are reissued
 * freely, since etcd reads them anew at every handshake (R45).
 */
import path from "node:path";
import type { EtcdClusterSpec } from "../api/etcd-cluster-spec.ts";
import { lifetimesOf, type Lifetimes } from "../api/lifetimes.ts";
import { isSecure } from "../core/config/flags.ts";
import type { MemberRecord } from "../core/record.ts";
import { Keeper } from "../pki/keeper.ts";
import { caOf, clientLeaf, memberLeaf, PLANES, type Plane } from "../pki/plan.ts";
import { memberSans } from "../pki/sans.ts";
import { managed } from "../pki/source.ts";
import type { Clock } from "../seams/clock.ts";
import type { Disk } from "../seams/disk.ts";
import type { LeafSpec, Pem, Pki } from "../seams/pki.ts";
import { HOST } from "./addresses.ts";
import type { Layout } from "./layout.ts";

/** Files that etcd and clients are pointed at. */
export interface MemberFiles {
  /** Certificate and key in one file, so that they are replaced together. */
  readonly pem: string;
  readonly ca: string;
}

/** As the paths of files, or as what is in them. */
export interface ClientCredentials {
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
}

export interface CertificateReport {
  readonly changed: boolean;
  readonly problems: readonly string[];
  readonly lookAgainAt?: number;
}

export interface CertificateState {
  readonly problems: readonly string[];
  readonly expiry: Readonly<Record<string, number>>;
  readonly all: readonly { readonly name: string; readonly expires: number }[];
}

/** A leaf as it should be, and where. */
interface Wanted {
  readonly file: string;
  readonly plane: Plane;
  readonly leaf: LeafSpec;
}

/** Looking at files more often than this finds nothing new; what we wrote ourselves we know. */
const RECHECK_MS = 60_000;

export function tlsPlanes(tls: EtcdClusterSpec["tls"]): Readonly<Record<Plane, boolean>> {
  return { client: isSecure(tls, "client"), peer: isSecure(tls, "peer") };
}

export class Certificates {
  readonly #layout: Layout;
  readonly #disk: Disk;
  readonly #clock: Clock;
  readonly #pki: Pki;
  readonly #keeper: Keeper;

  constructor(layout: Layout, disk: Disk, clock: Clock, pki: Pki) {
    this.#layout = layout;
    this.#disk = disk;
    this.#clock = clock;
    this.#pki = pki;
    this.#keeper = new Keeper(pki, clock, { retryMs: RECHECK_MS, recheckMs: RECHECK_MS });
  }

  memberFiles(member: string, plane: Plane): MemberFiles {
    return { pem: this.#file(`${member}-${plane}.pem`), ca: this.caFile(plane) };
  }

  caFile(plane: Plane): string {
    return this.#file(`ca-${plane}.crt`);
  }

  /** What a person gives to etcdctl. */
  userFiles(): ClientCredentials {
    return { ca: this.caFile("client"), cert: this.#file("user.pem"), key: this.#file("user.pem") };
  }

  /** What the controller dials etcd with; undefined while it does not exist. */
  async controllerCredentials(): Promise<ClientCredentials | undefined> {
    const [ca, pem] = await Promise.all([
      this.#disk.read(this.caFile("client")),
      this.#disk.read(this.#file("controller.pem")),
    ]);
    return ca === undefined || pem === undefined ? undefined : { ca, cert: pem, key: pem };
  }

  /** Makes and renews what these members need. */
  async ensure(
    cluster: string,
    records: readonly MemberRecord[],
    spec: EtcdClusterSpec["tls"],
  ): Promise<CertificateReport> {
    const lives = lifetimesOf(spec);
    const wanted = [
      ...this.#clientLeaves(spec, lives),
      ...records.flatMap((record) => this.#leavesOf(record, lives)),
    ];
    const due: number[] = [];
    let changed = false;
    const planes = new Set(wanted.map(({ plane }) => plane));
    for (const plane of planes) changed = (await this.#ensureAuthority(cluster, plane, lives)) || changed;
    await Promise.all(
      wanted.map(async (one) => {
        const result = await this.#ensureLeaf(one);
        changed ||= result.issued;
        due.push(result.lookAgainAt);
      }),
    );
    const { problems } = this.#keeper;
    return { changed, problems, ...(due.length > 0 && { lookAgainAt: Math.min(...due) }) };
  }

  /** For a cluster of which nobody runs: the next `ensure` makes another authority, and leaves under it. */
  async renewAuthority(plane: Plane): Promise<void> {
    // The certificate first: without it the authority counts as not made.
    await this.#disk.remove(this.caFile(plane));
    await this.#disk.remove(this.#file(`ca-${plane}.key`));
    this.#keeper.use(plane, undefined);
  }

  /** What a status tells: what is wrong, and when the first certificate of each member ends. */
  async describe(records: readonly MemberRecord[]): Promise<CertificateState> {
    const expiry: Record<string, number> = {};
    for (const record of records) {
      const leaves = this.#leavesOf(record);
      for (const leaf of leaves) await this.#learnExpiry(leaf);
      const first = this.#keeper.expiry(leaves.map(({ file }) => file));
      if (first !== undefined) expiry[record.name] = first;
    }
    const all = this.#keeper.ends.map(({ name, expires }) => ({
      name: path.basename(name).replace(/\.(pem|crt)$/, ""),
      expires,
    }));
    return { problems: this.#keeper.problems, expiry, all };
  }

  /** For whoever only looks; what is kept here is known. */
  async #learnExpiry({ file, plane }: Wanted): Promise<void> {
    if (this.#keeper.expiry([file]) !== undefined) return;
    const [pem, trust] = [await this.#read(file), await this.#read(this.caFile(plane))];
    if (pem && trust) this.#keeper.serves(file, pem, trust);
  }

  async remove(member: string): Promise<void> {
    for (const plane of PLANES) {
      const { pem } = this.memberFiles(member, plane);
      this.#keeper.forget(pem);
      await this.#disk.remove(pem);
    }
  }

  async #read(file: string): Promise<Pem | undefined> {
    const text = await this.#disk.read(file);
    return text === undefined ? undefined : { text, where: file };
  }

  #file(name: string): string {
    return path.join(this.#layout.pki, name);
  }

  #clientLeaves(spec: EtcdClusterSpec["tls"], { leafMs }: Lifetimes): Wanted[] {
    if (!isSecure(spec, "client")) return [];
    return ["user", "controller"].map((who) => ({
      file: this.#file(`${who}.pem`),
      plane: "client",
      leaf: clientLeaf(`quorate-${who}`, leafMs),
    }));
  }

  #leavesOf({ name, template }: MemberRecord, { leafMs } = lifetimesOf(template.tls)): Wanted[] {
    const { sans } = memberSans({ hosts: ["localhost", HOST, "::1", name], extra: template.tls.extraSANs });
    return PLANES.filter((plane) => isSecure(template.tls, plane)).map((plane) => ({
      file: this.memberFiles(name, plane).pem,
      plane,
      leaf: memberLeaf(name, plane, sans, leafMs),
    }));
  }

  /** True when it was made now. */
  async #ensureAuthority(cluster: string, plane: Plane, { caMs }: Lifetimes): Promise<boolean> {
    if (this.#keeper.source(plane)) return false;
    const [certFile, keyFile] = [this.caFile(plane), this.#file(`ca-${plane}.key`)];
    let [certificate, key] = await Promise.all([this.#read(certFile), this.#read(keyFile)]);
    const made = certificate === undefined;
    if (certificate === undefined) {
      // The certificate is written last: with it there the CA is whole, without it nobody has used the key.
      const issued = await this.#pki.issueCa(caOf(cluster, plane, caMs));
      await this.#disk.makeDirectory(this.#layout.pki);
      await this.#disk.write(keyFile, issued.key, { private: true });
      await this.#disk.write(certFile, issued.certificate);
      certificate = { text: issued.certificate, where: certFile };
      key = { text: issued.key, where: keyFile };
    }
    this.#keeper.use(plane, managed(this.#pki, certificate, key));
    return made;
  }

  async #ensureLeaf({ file, plane, leaf }: Wanted): Promise<{ issued: boolean; lookAgainAt: number }> {
    const now = this.#clock.now();
    const checked = this.#keeper.checkedUntil(file) ?? 0;
    if (now < checked) return { issued: false, lookAgainAt: checked };
    const pem = await this.#read(file);
    const { issued = false } = await this.#keeper.leaf(file, plane, leaf, {
      certificate: pem,
      key: pem,
      write: ({ certificate, key }) => this.#disk.write(file, certificate + key, { private: true }),
    });
    const lookAgainAt = this.#keeper.checkedUntil(file) ?? now + RECHECK_MS;
    return { issued, lookAgainAt };
  }
}
