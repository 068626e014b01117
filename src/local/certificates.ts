/**
 * Certificates of a local cluster as files: a CA per plane, leaves for members, one client certificate for
 * the user and one for the controller. A CA is made if absent and never replaced; leaves are reissued
 * freely, since etcd reads them anew at every handshake (R45).
 */
import path from "node:path";
import type { EtcdClusterSpec } from "../api/etcd-cluster-spec.ts";
import { isSecure } from "../core/config/flags.ts";
import type { MemberRecord } from "../core/record.ts";
import { CA_LIFE_MS, LEAF_LIFE_MS, USAGES, type Found } from "../pki/plan.ts";
import { clientLeaf, findLeaf, readAuthority, renewLeaf, type Authority } from "../pki/renewal.ts";
import { memberSans } from "../pki/sans.ts";
import type { Clock } from "../seams/clock.ts";
import type { Disk } from "../seams/disk.ts";
import type { LeafSpec, Pki } from "../seams/pki.ts";
import { HOST } from "./addresses.ts";
import type { Layout } from "./layout.ts";

export type Plane = "client" | "peer";

/** Files that etcd and clients are pointed at. */
export interface MemberFiles {
  /** Certificate and key in one file, so that they are replaced together. */
  readonly pem: string;
  readonly ca: string;
}

export interface ClientFiles {
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
}

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
  readonly #authorities = new Map<Plane, Authority>();
  /** When each file has to be looked at again, by the wall clock. */
  readonly #checkedUntil = new Map<string, number>();
  readonly #ends = new Map<string, number>();
  readonly #problems = new Map<string, string>();

  constructor(layout: Layout, disk: Disk, clock: Clock, pki: Pki) {
    this.#layout = layout;
    this.#disk = disk;
    this.#clock = clock;
    this.#pki = pki;
  }

  memberFiles(member: string, plane: Plane): MemberFiles {
    return { pem: this.#file(`${member}-${plane}.pem`), ca: this.caFile(plane) };
  }

  caFile(plane: Plane): string {
    return this.#file(`ca-${plane}.crt`);
  }

  /** What a person gives to etcdctl. */
  userFiles(): ClientFiles {
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
    const wanted = [
      ...clientLeaves(spec).map((one) => this.#at(one)),
      ...records.flatMap((r) => this.#leavesOf(r)),
    ];
    const problems: string[] = [];
    const due: number[] = [];
    let changed = false;
    const planes = new Set(wanted.map(({ plane }) => plane));
    for (const plane of planes) changed = (await this.#ensureAuthority(cluster, plane)) || changed;
    await Promise.all(
      wanted.map(async (one) => {
        const result = await this.#ensureLeaf(one);
        changed ||= result.issued;
        if (result.problem !== undefined) problems.push(result.problem);
        due.push(result.lookAgainAt);
      }),
    );
    return { changed, problems, ...(due.length > 0 && { lookAgainAt: Math.min(...due) }) };
  }

  /** What a status tells: what is wrong, and when the first certificate of each member ends. */
  async describe(records: readonly MemberRecord[]): Promise<CertificateState> {
    const expiry: Record<string, number> = {};
    for (const record of records) {
      const ends = await Promise.all(this.#leavesOf(record).map((wanted) => this.#end(wanted)));
      const known = ends.filter((end) => end !== undefined);
      if (known.length > 0) expiry[record.name] = Math.min(...known);
    }
    return { problems: [...this.#problems.values()], expiry };
  }

  async #end(wanted: Wanted): Promise<number | undefined> {
    const known = this.#ends.get(wanted.file);
    if (known !== undefined) return known;
    const found = await this.#find(wanted);
    if (found.kind !== "present") return undefined;
    this.#ends.set(wanted.file, found.facts.notAfter);
    return found.facts.notAfter;
  }

  async remove(member: string): Promise<void> {
    for (const plane of ["client", "peer"] as const) {
      const { pem } = this.memberFiles(member, plane);
      for (const known of [this.#checkedUntil, this.#ends, this.#problems]) known.delete(pem);
      await this.#disk.remove(pem);
    }
  }

  #file(name: string): string {
    return path.join(this.#layout.pki, name);
  }

  #at({ name, leaf }: { name: string; leaf: LeafSpec }): Wanted {
    return { file: this.#file(name), plane: "client", leaf };
  }

  #leavesOf({ name, template }: MemberRecord): Wanted[] {
    const planes = tlsPlanes(template.tls);
    const { sans } = memberSans({
      hosts: ["localhost", HOST, "::1", name],
      extra: template.tls.extraSANs,
    });
    const leaf = (usages: LeafSpec["usages"]) => ({ commonName: name, sans, usages, lifeMs: LEAF_LIFE_MS });
    return [
      ...(planes.client
        ? [
            {
              file: this.memberFiles(name, "client").pem,
              plane: "client" as const,
              leaf: leaf(USAGES.server),
            },
          ]
        : []),
      ...(planes.peer
        ? [{ file: this.memberFiles(name, "peer").pem, plane: "peer" as const, leaf: leaf(USAGES.peer) }]
        : []),
    ];
  }

  /** True when it was made now. */
  async #ensureAuthority(cluster: string, plane: Plane): Promise<boolean> {
    if (this.#authorities.has(plane)) return false;
    const [certFile, keyFile] = [this.caFile(plane), this.#file(`ca-${plane}.key`)];
    let [certificate, key] = await Promise.all([this.#disk.read(certFile), this.#disk.read(keyFile)]);
    let made = false;
    if (certificate === undefined) {
      // The certificate is written last: with it there the CA is whole, without it nobody has used the key.
      const issued = await this.#pki.issueCa({ commonName: `${cluster} ${plane} CA`, lifeMs: CA_LIFE_MS });
      await this.#disk.makeDirectory(this.#layout.pki);
      await this.#disk.write(keyFile, issued.key, { private: true });
      await this.#disk.write(certFile, issued.certificate);
      ({ certificate, key } = issued);
      made = true;
    }
    const keyPem = key === undefined ? undefined : { text: key, where: keyFile };
    this.#authorities.set(plane, readAuthority(this.#pki, { text: certificate, where: certFile }, keyPem));
    return made;
  }

  async #ensureLeaf(wanted: Wanted): Promise<{ issued: boolean; problem?: string; lookAgainAt: number }> {
    const now = this.#clock.now();
    const checked = this.#checkedUntil.get(wanted.file) ?? 0;
    if (now < checked) return { issued: false, lookAgainAt: checked };
    const ca = this.#authorities.get(wanted.plane);
    if (!ca) throw new TypeError(`no certificate authority for ${wanted.file}`);
    const found = await this.#find(wanted);
    const { file, leaf } = wanted;
    const renewal = await renewLeaf(this.#pki, { name: file, leaf, found, ca, now });
    this.#problems.delete(file);
    if (renewal.kind === "blocked") {
      this.#problems.set(file, renewal.message);
      return { issued: false, problem: renewal.message, lookAgainAt: now + RECHECK_MS };
    }
    const due = renewal.kind === "kept" ? renewal.lookAgainAt : Number.POSITIVE_INFINITY;
    const lookAgainAt = Math.min(due, now + RECHECK_MS);
    if (renewal.kind === "issued") {
      const { certificate, key } = renewal.pair;
      await this.#disk.write(file, certificate + key, { private: true });
      this.#ends.set(file, renewal.notAfter);
    }
    this.#checkedUntil.set(file, lookAgainAt);
    return { issued: renewal.kind === "issued", lookAgainAt };
  }

  async #find({ file, plane }: Wanted): Promise<Found> {
    const text = await this.#disk.read(file);
    const pem = text === undefined ? undefined : { text, where: file };
    const trust =
      this.#authorities.get(plane)?.pair.certificate ?? (await this.#disk.read(this.caFile(plane)));
    const trusted = trust === undefined ? undefined : { text: trust, where: this.caFile(plane) };
    return findLeaf(this.#pki, pem, pem, trusted);
  }
}

function clientLeaves(spec: EtcdClusterSpec["tls"]): { name: string; leaf: LeafSpec }[] {
  if (!tlsPlanes(spec).client) return [];
  return [
    { name: "user.pem", leaf: clientLeaf("quorate-user") },
    { name: "controller.pem", leaf: clientLeaf("quorate-controller") },
  ];
}
