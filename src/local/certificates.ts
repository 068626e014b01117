/**
 * Certificates of a local cluster as files: a CA per plane, leaves for members, one client certificate for
 * the user and one for the controller. Leaves are reissued freely, since etcd reads them anew at every handshake; the
 * CAs that it trusts it reads at its start (R45), so those are in a file of each member, as its record names them.
 */
import path from "node:path";
import type { EtcdClusterSpec } from "../api/etcd-cluster-spec.ts";
import { lifetimesOf, type Lifetimes } from "../api/lifetimes.ts";
import { sentencesOf, type Problem } from "../control/problem.ts";
import type { UserCertificate, UserFacts } from "../core/auth/facts.ts";
import { isSecure } from "../core/config/flags.ts";
import { hasOwnGateway } from "../core/config/gateway.ts";
import type { MemberRecord } from "../core/record.ts";
import { bundleOf, trustedBy, type Authority } from "../pki/authority.ts";
import { Keeper } from "../pki/keeper.ts";
import { clientLeaf, gatewayLeaf, memberLeaf, PLANES, type Plane } from "../pki/plan.ts";
import { memberSans } from "../pki/sans.ts";
import { managed } from "../pki/source.ts";
import type { Clock } from "../seams/clock.ts";
import type { Disk } from "../seams/disk.ts";
import { PkiError, type LeafSpec, type Pem, type Pki } from "../seams/pki.ts";
import { trustOf } from "../core/template/effective.ts";
import { HOST } from "./addresses.ts";
import { Authorities } from "./authorities.ts";
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
  readonly problems: readonly Problem[];
  readonly lookAgainAt?: number;
}

export interface CertificateState {
  readonly problems: readonly string[];
  readonly expiry: Readonly<Record<string, number>>;
  readonly all: readonly { readonly name: string; readonly expires: number }[];
}

/** An EtcdUser by its object, and its name in etcd. */
export type CertifiedUser = Pick<UserFacts, "object" | "name">;

/** A leaf as it should be, and where. */
interface Wanted {
  readonly file: string;
  readonly plane: Plane;
  readonly leaf: LeafSpec;
}

/** Looking at files more often than this finds nothing new; what we wrote ourselves we know. */
const RECHECK_MS = 60_000;
/** Long enough for a handshake, whatever the clocks. */
const ONE_USE_MS = 10 * 60_000;

export function tlsPlanes(tls: EtcdClusterSpec["tls"]): Readonly<Record<Plane, boolean>> {
  return { client: isSecure(tls, "client"), peer: isSecure(tls, "peer") };
}

/** Those that the spec asks for, and those that somebody still runs with. */
export function planesOf(tls: EtcdClusterSpec["tls"], records: readonly MemberRecord[]): Plane[] {
  const all = [tls, ...records.map(({ template }) => template.tls)];
  return PLANES.filter((plane) => all.some((one) => isSecure(one, plane)));
}

export class Certificates {
  readonly #layout: Layout;
  readonly #disk: Disk;
  readonly #clock: Clock;
  readonly #pki: Pki;
  readonly authorities: Authorities;
  readonly #keeper: Keeper;
  /** What the keeper issues from. */
  readonly #used = new Map<Plane, Authority>();

  constructor(layout: Layout, disk: Disk, clock: Clock, pki: Pki) {
    this.#layout = layout;
    this.#disk = disk;
    this.#clock = clock;
    this.#pki = pki;
    this.authorities = new Authorities(layout, disk, pki);
    this.#keeper = new Keeper(pki, clock, { retryMs: RECHECK_MS, recheckMs: RECHECK_MS });
  }

  /** A record that names no CAs is of the plane's first one, which is in a file for all. */
  memberFiles({ name, template }: Pick<MemberRecord, "name" | "template">, plane: Plane): MemberFiles {
    const own = trustOf(template, plane) === undefined ? undefined : this.#file(`${name}-${plane}-ca.crt`);
    return { pem: this.#leafFile(name, plane), ca: own ?? this.caFile(plane) };
  }

  /** What the HTTP gateway of a member dials it with. */
  gatewayFile(member: string): string {
    return this.#file(`${member}-gateway.pem`);
  }

  /** The CA files of a member, as its record names them; to be called before its start. */
  async writeTrust(record: MemberRecord): Promise<void> {
    for (const plane of PLANES) {
      const ids = trustOf(record.template, plane);
      const authority = ids && (await this.authorities.get(plane));
      if (!authority) continue;
      const file = this.memberFiles(record, plane).ca;
      const text = trustedBy(this.#pki, authority, ids);
      if ((await this.#disk.read(file)) !== text) await this.#disk.write(file, text);
    }
  }

  /** What clients trust. */
  caFile(plane: Plane): string {
    return this.authorities.bundleFile(plane);
  }

  #leafFile(member: string, plane: Plane): string {
    return this.#file(`${member}-${plane}.pem`);
  }

  /** What a person gives to etcdctl. */
  userFiles(): ClientCredentials {
    return { ca: this.caFile("client"), cert: this.#file("user.pem"), key: this.#file("user.pem") };
  }

  /** The files of what the controller dials etcd with. */
  controllerFiles(): ClientCredentials {
    const pem = this.#file("controller.pem");
    return { ca: this.caFile("client"), cert: pem, key: pem };
  }

  /** What the controller dials etcd with; undefined while it does not exist. */
  async controllerCredentials(): Promise<ClientCredentials | undefined> {
    const [ca, pem] = await Promise.all([
      this.#disk.read(this.caFile("client")),
      this.#disk.read(this.#file("controller.pem")),
    ]);
    return ca === undefined || pem === undefined ? undefined : { ca, cert: pem, key: pem };
  }

  /** A certificate of the client CA for one use, kept nowhere; undefined while there is no CA that can sign. */
  async credentialsFor(commonName: string): Promise<ClientCredentials | undefined> {
    const source = this.#keeper.source("client");
    if (source?.kind !== "signs") return undefined;
    const issued = await source.obtain({ ...clientLeaf(commonName), lifeMs: ONE_USE_MS });
    return { ca: source.trust.text, cert: issued.certificate, key: issued.key };
  }

  /** Makes and renews what these members and users need. */
  async ensure(
    cluster: string,
    records: readonly MemberRecord[],
    spec: EtcdClusterSpec["tls"],
    users: readonly CertifiedUser[] = [],
  ): Promise<CertificateReport> {
    const lives = lifetimesOf(spec);
    const wanted = [
      ...this.#clientLeaves([spec, ...records.map(({ template }) => template.tls)], lives, users),
      ...records.flatMap((record) => this.#leavesOf(record, lives)),
    ];
    const due: number[] = [];
    let changed = false;
    if (users.length > 0) await this.#disk.makeDirectory(this.#layout.userCertificates);
    // Of a plane that is asked for, before anybody restarts to have certificates of it.
    const planes = new Set([...planesOf(spec, records), ...wanted.map(({ plane }) => plane)]);
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
    await this.authorities.forget(plane);
    this.#used.delete(plane);
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
    // Those of users are told with their users.
    const all = this.#keeper.ends
      .filter(({ name }) => path.dirname(name) !== this.#layout.userCertificates)
      .map(({ name, expires }) => ({ name: path.basename(name).replace(/\.(pem|crt)$/, ""), expires }));
    return { problems: sentencesOf(this.#keeper.problems), expiry, all };
  }

  /** For whoever only looks; what is kept here is known. */
  async #learnExpiry({ file, plane }: Pick<Wanted, "file" | "plane">): Promise<void> {
    if (this.#keeper.expiry([file]) !== undefined) return;
    const [pem, trust] = [await this.#read(file), await this.#read(this.caFile(plane))];
    if (pem && trust) this.#keeper.serves(file, pem, trust);
  }

  async remove(member: string): Promise<void> {
    for (const plane of PLANES) {
      const pem = this.#leafFile(member, plane);
      this.#keeper.forget(pem);
      await this.#disk.remove(pem);
      await this.#disk.remove(this.#file(`${member}-${plane}-ca.crt`));
    }
    this.#keeper.forget(this.gatewayFile(member));
    await this.#disk.remove(this.gatewayFile(member));
  }

  /** Of users that ask for one, from what is in place, by the names of their objects. */
  async userFacts(users: readonly UserFacts[]): Promise<Record<string, UserCertificate>> {
    const found: [string, UserCertificate][] = [];
    for (const { object, certificate, deleting } of users) {
      if (!certificate || deleting) continue;
      const secret = this.#layout.userCertificate(object);
      const wanted = { file: secret, plane: "client" } as const;
      await this.#learnExpiry(wanted);
      const expires = this.#keeper.expiry([secret]);
      const problem = this.#keeper.problem(secret);
      found.push([
        object,
        { secret, ...(expires !== undefined && { expires }), ...(problem !== undefined && { problem }) },
      ]);
    }
    return Object.fromEntries(found);
  }

  async removeUser(object: string): Promise<void> {
    const file = this.#layout.userCertificate(object);
    this.#keeper.forget(file);
    await this.#disk.remove(file);
  }

  /** Other certificates for a member, or, without one, for the users and the controller. */
  async reissue(
    record: MemberRecord | undefined,
    spec: EtcdClusterSpec["tls"],
    records: readonly MemberRecord[],
    cluster: string,
    users: readonly CertifiedUser[] = [],
  ): Promise<void> {
    const lives = lifetimesOf(spec);
    // Clients use theirs until the last member has stopped serving TLS.
    const all = [spec, ...records.map(({ template }) => template.tls)];
    const wanted = record ? this.#leavesOf(record, lives) : this.#clientLeaves(all, lives, users);
    for (const plane of new Set(wanted.map((one) => one.plane)))
      await this.#ensureAuthority(cluster, plane, lives);
    for (const { file, plane, leaf } of wanted) {
      this.#keeper.forget(file);
      const { issued, problem } = await this.#keeper.leaf(file, plane, leaf, {
        certificate: undefined,
        key: undefined,
        write: ({ certificate, key }) => this.#disk.write(file, certificate + key, { private: true }),
      });
      if (!issued) throw new PkiError("issuing-failed", file, problem ?? "could not be issued");
    }
  }

  async #read(file: string): Promise<Pem | undefined> {
    const text = await this.#disk.read(file);
    return text === undefined ? undefined : { text, where: file };
  }

  #file(name: string): string {
    return path.join(this.#layout.pki, name);
  }

  #clientLeaves(
    all: readonly Parameters<typeof isSecure>[0][],
    { leafMs }: Lifetimes,
    users: readonly CertifiedUser[],
  ): Wanted[] {
    if (!all.some((tls) => isSecure(tls, "client"))) return [];
    return [
      ...["user", "controller"].map((who) => [this.#file(`${who}.pem`), `quorate-${who}`] as const),
      ...users.map(({ object, name }) => [this.#layout.userCertificate(object), name] as const),
    ].map(([file, commonName]) => ({ file, plane: "client", leaf: clientLeaf(commonName, leafMs) }));
  }

  #leavesOf({ name, template }: MemberRecord, { leafMs } = lifetimesOf(template.tls)): Wanted[] {
    const { sans } = memberSans({ hosts: ["localhost", HOST, "::1", name], extra: template.tls.extraSANs });
    const ownGateway = hasOwnGateway(template);
    const shown = PLANES.filter((plane) => isSecure(template.tls, plane)).map((plane) => ({
      file: this.#leafFile(name, plane),
      plane,
      leaf: memberLeaf(name, plane, sans, { lifeMs: leafMs, ownGateway }),
    }));
    if (!ownGateway) return shown;
    return [...shown, { file: this.gatewayFile(name), plane: "client", leaf: gatewayLeaf(leafMs) }];
  }

  /** True when files of it were written. */
  async #ensureAuthority(cluster: string, plane: Plane, { caMs }: Lifetimes): Promise<boolean> {
    const { authority, changed } = await this.authorities.ensure(cluster, plane, caMs);
    if (this.#used.get(plane) !== authority) this.#use(plane, authority);
    return changed;
  }

  #use(plane: Plane, authority: Authority): void {
    const where = this.caFile(plane);
    const { certificate, key } = authority.signer;
    const pair = [{ text: certificate, where }, key === "" ? undefined : { text: key, where }] as const;
    const trust = { text: bundleOf(authority), where };
    this.#keeper.use(plane, { ...managed(this.#pki, ...pair), trust, accepts: trust });
    this.#used.set(plane, authority);
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
