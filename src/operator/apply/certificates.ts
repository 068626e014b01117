/**
 * The certificates of a cluster in Secrets: an authority per plane, made if absent and never rewritten; the leaves
 * of members, the operator and the users, made anew when they are due (R45). What is in place is judged from
 * the caches, so that nothing is asked of the API server for it.
 */
import { Buffer } from "node:buffer";
import type { Secret } from "kubernetes-types/core/v1.d.ts";
import { isSecure } from "../../core/config/flags.ts";
import { sameContent } from "../../core/hash.ts";
import type { ClusterFacts, NotMade } from "../../core/observation.ts";
import type { MemberRecord } from "../../core/record.ts";
import { isControlledBy } from "../../kube/resources.ts";
import { CA_LIFE_MS, judgeCa, LEAF_LIFE_MS, USAGES } from "../../pki/plan.ts";
import { clientLeaf, findLeaf, readAuthority, renewLeaf, type Authority } from "../../pki/renewal.ts";
import { memberSans } from "../../pki/sans.ts";
import { PkiError, type LeafSpec, type Pki } from "../../seams/pki.ts";
import { certificateNames, secretNames } from "../names.ts";
import { FILES } from "../render/config.ts";
import { caSecret, type TLSFiles } from "../render/secret.ts";

export type Plane = "client" | "peer";
export const PLANES: readonly Plane[] = ["client", "peer"];

const PLANE_FILES = {
  client: { pemFile: FILES.serverPem, caFile: FILES.clientCA },
  peer: { pemFile: FILES.peerPem, caFile: FILES.peerCA },
} as const;

/** The cached Secrets of the cluster, by name. */
export type SecretsByName = ReadonlyMap<string, Secret>;

export function secretsByName(secrets: readonly Secret[]): SecretsByName {
  return new Map(secrets.map((secret) => [secret.metadata?.name ?? "", secret]));
}

/** What was found for a leaf: its text, or why there is none. */
type Leaf = { readonly certificate: string; readonly key: string } | { readonly problem: string };

interface Checked {
  readonly asked: readonly unknown[];
  readonly until: number;
}

/** What certificates are judged and issued by. */
export interface CertificateTime {
  now(): number;
  /** Why none may be issued now: our clock and the API server's contradict each other. */
  readonly contradiction?: string | undefined;
}

/** A leaf that is due and cannot be renewed is looked at again this late, not on every pass. */
const RECHECK_MS = 10_000;

export class Certificates {
  readonly #pki: Pki;
  readonly #time: CertificateTime;
  readonly #authorities = new Map<Plane, { readonly from: Secret; readonly authority: Authority }>();
  readonly #checked = new Map<string, Checked>();
  readonly #ends = new Map<string, number>();
  /** Members that have no certificate and cannot be given one. */
  readonly #unissued = new Map<string, NotMade>();
  /** Of one cluster, whose name and namespace never change. */
  readonly #leaves = new Map<string, { readonly extra: readonly string[]; readonly spec: LeafSpec }>();
  readonly #problems = new Map<string, string>();

  constructor(pki: Pki, time: CertificateTime) {
    this.#pki = pki;
    this.#time = time;
  }

  get problems(): readonly string[] {
    return [...this.#problems.values()];
  }

  /** When the next leaf is due; undefined when none is known. */
  get lookAgainAt(): number | undefined {
    const due = [...this.#checked.values()].map(({ until }) => until);
    return due.length === 0 ? undefined : Math.min(...due);
  }

  /** When the first certificate of a member ends. */
  expiryOf(member: string): number | undefined {
    const ends = leavesOf(member).flatMap((leaf) => this.#ends.get(leaf) ?? []);
    return ends.length === 0 ? undefined : Math.min(...ends);
  }

  /** The names and addresses that the certificates of a member are issued for. */
  namesOf(member: string): unknown {
    return leavesOf(member).map((leaf) => this.#leaves.get(leaf)?.spec.sans);
  }

  forget(member: string): void {
    this.#unissued.delete(member);
    for (const name of leavesOf(member))
      for (const known of [this.#checked, this.#ends, this.#problems, this.#leaves]) known.delete(name);
  }

  /** A new authority as a Secret, to be made if there is none. */
  async newAuthority(cluster: ClusterFacts, plane: Plane): Promise<Secret> {
    const commonName = `${cluster.name} ${plane} CA`;
    const { contradiction } = this.#time;
    if (contradiction !== undefined) {
      this.#problems.set(plane, contradiction);
      throw new PkiError("wrong-clock", commonName, contradiction);
    }
    const { certificate, key } = await this.#pki.issueCa({ commonName, lifeMs: CA_LIFE_MS });
    return caSecret(cluster, plane, { certificate, key, ca: certificate });
  }

  /** Reads the authority; what is wrong with it is a problem, and then nothing of its plane can be issued. */
  useAuthority(cluster: ClusterFacts, plane: Plane, secret: Secret): boolean {
    const known = this.#authorities.get(plane);
    const where = `Secret ${cluster.namespace}/${secret.metadata?.name}`;
    if (known?.from !== secret) {
      this.#authorities.delete(plane);
      try {
        const [certificate, key] = [textIn(secret, "tls.crt"), textIn(secret, "tls.key")];
        const authority = readAuthority(
          this.#pki,
          { text: certificate ?? "", where: `${where}, tls.crt` },
          key === undefined ? undefined : { text: key, where: `${where}, tls.key` },
        );
        this.#authorities.set(plane, { from: secret, authority });
      } catch (error) {
        if (!(error instanceof PkiError)) throw error;
        this.#problems.set(plane, `${error.message}; restore it from a backup`);
        return false;
      }
    }
    const { authority } = this.#authorities.get(plane) ?? {};
    const verdict = authority && judgeCa(authority.facts, LEAF_LIFE_MS, this.#time.now());
    if (verdict && verdict.state !== "valid") this.#problems.set(plane, `${where}: ${verdict.message}`);
    else this.#problems.delete(plane);
    return verdict !== undefined;
  }

  tellProblem(plane: Plane, message: string): void {
    this.#problems.set(plane, message);
  }

  /** The certificates among the files of a member, with `external` names; undefined while one cannot be had. */
  async memberFiles(
    cluster: ClusterFacts,
    record: MemberRecord,
    present: Secret | undefined,
    external: readonly string[] = [],
  ): Promise<Record<string, string> | undefined> {
    const { name, template } = record;
    const files: Record<string, string> = {};
    for (const plane of PLANES) {
      if (!isSecure(template.tls, plane)) continue;
      const { pemFile, caFile } = PLANE_FILES[plane];
      const spec = this.#memberLeaf(cluster, record, plane, [...template.tls.extraSANs, ...external]);
      const text = present && textIn(present, pemFile);
      const ca = this.#trust(plane);
      if (ca === undefined) {
        const kept = present && this.#withoutAuthority(`${name} ${plane}`, present, pemFile, caFile);
        if (kept === undefined) return this.#cannotIssue(name, this.#problems.get(plane), plane);
        Object.assign(files, kept);
        if (plane === "peer")
          files[FILES.peerClientPem] =
            (present && textIn(present, FILES.peerClientPem)) ?? files[pemFile] ?? "";
        continue;
      }
      const leaf = await this.#leaf(`${name} ${plane}`, plane, spec, text, text);
      if ("problem" in leaf) return this.#cannotIssue(name, leaf.problem, plane);
      files[pemFile] = leaf.certificate + leaf.key;
      files[caFile] = ca;
      if (plane === "peer")
        files[FILES.peerClientPem] = await this.#peerClient(name, present, files[pemFile]);
    }
    this.#unissued.delete(name);
    return files;
  }

  /** Where there is none, the certificate that it shows its peers does: it has names, and peers look them up. */
  async #peerClient(name: string, present: Secret | undefined, shown: string): Promise<string> {
    const text = present && textIn(present, FILES.peerClientPem);
    const leaf = await this.#leaf(`${name} peer client`, "peer", clientLeaf(name), text, text);
    return "problem" in leaf ? shown : leaf.certificate + leaf.key;
  }

  /** Why this member has no certificate; undefined when it has, or has not been looked at. */
  unissuedFor(member: string): NotMade | undefined {
    return this.#unissued.get(member);
  }

  /** Why nobody is given a certificate now, whatever authority there is. */
  get contradiction(): string | undefined {
    return this.#time.contradiction;
  }

  #cannotIssue(member: string, why: string | undefined, plane: Plane): undefined {
    const { contradiction } = this.#time;
    // Without its authority a plane waits for the clock only where a new one could be made.
    const byClock = contradiction !== undefined && (this.canIssue(plane) || why === contradiction);
    this.#unissued.set(member, {
      reason: byClock ? "CertificateNotIssued" : "AuthorityMissing",
      message: `its certificate cannot be issued: ${why ?? `the ${plane} CA is missing`}`,
    });
    return undefined;
  }

  /**
   * What a member has is good as long as it is valid: only issuing takes the authority, and that may be gone. Judged by
   * the CA that the Secret itself trusts.
   */
  #withoutAuthority(
    name: string,
    present: Secret,
    pemFile: string,
    caFile: string,
  ): Record<string, string> | undefined {
    const [text, ca] = [textIn(present, pemFile), textIn(present, caFile)];
    if (text === undefined || ca === undefined) return undefined;
    const pem = { text, where: `the certificate of ${name}` };
    const found = findLeaf(this.#pki, pem, pem, { text: ca, where: `the CA next to it` });
    const now = this.#time.now();
    if (found.kind !== "present") return undefined;
    const { isCa, keyMatches, issuedBy, notBefore, notAfter } = found.facts;
    if (isCa || !keyMatches || issuedBy === undefined || now < notBefore || now > notAfter) return undefined;
    this.#ends.set(name, notAfter);
    return { [pemFile]: text, [caFile]: ca };
  }

  /** Whether a member could start with the certificates in its Secret, due for renewal or not. */
  areValid({ name, template }: MemberRecord, present: Secret): boolean {
    return PLANES.every((plane) => {
      const { pemFile, caFile } = PLANE_FILES[plane];
      return (
        !isSecure(template.tls, plane) ||
        this.#withoutAuthority(`${name} ${plane}`, present, pemFile, caFile) !== undefined
      );
    });
  }

  /** Whether leaves of this plane can be issued. */
  canIssue(plane: Plane): boolean {
    return this.#authorities.has(plane);
  }

  /** A client's certificate, the operator's or a user's. */
  async clientFiles(commonName: string, present: Secret | undefined): Promise<TLSFiles | undefined> {
    const [certificate, key] = present ? [textIn(present, "tls.crt"), textIn(present, "tls.key")] : [];
    const leaf = await this.#leaf(commonName, "client", clientLeaf(commonName), certificate, key);
    const ca = this.#trust("client");
    if ("problem" in leaf || ca === undefined) return undefined;
    return { certificate: leaf.certificate, key: leaf.key, ca };
  }

  /** Every pass asks, and the names hardly ever change. */
  #memberLeaf(cluster: ClusterFacts, record: MemberRecord, plane: Plane, extra: readonly string[]): LeafSpec {
    const name = `${record.name} ${plane}`;
    const known = this.#leaves.get(name);
    if (known && sameContent(known.extra, extra)) return known.spec;
    const spec = memberLeaf(cluster, record, plane, extra);
    this.#leaves.set(name, { extra, spec });
    return spec;
  }

  #trust(plane: Plane): string | undefined {
    return this.#authorities.get(plane)?.authority.pair.certificate;
  }

  /** `certificate` and `key` may be one text that holds both. */
  async #leaf(
    name: string,
    plane: Plane,
    leaf: LeafSpec,
    certificate: string | undefined,
    key: string | undefined,
  ): Promise<Leaf> {
    const ca = this.#authorities.get(plane)?.authority;
    if (!ca) return { problem: `no ${plane} CA` };
    const now = this.#time.now();
    const both = certificate !== undefined && certificate === key;
    const present =
      certificate === undefined || key === undefined ? undefined : { certificate, key: both ? "" : key };
    const asked = [leaf, ca.facts.fingerprint, certificate, key] as const;
    const checked = this.#checked.get(name);
    if (present && checked && sameContent(checked.asked, asked) && now < checked.until) return present;
    const pem = (text: string | undefined, file: string) =>
      text === undefined ? undefined : { text, where: `the certificate of ${name}, ${file}` };
    const trust = { text: ca.pair.certificate, where: `the ${plane} CA` };
    const found = findLeaf(this.#pki, pem(certificate, "certificate"), pem(key, "key"), trust);
    const renewal = await renewLeaf(this.#pki, {
      name,
      leaf,
      found,
      ca,
      now,
      blocked: this.#time.contradiction,
    });
    if (renewal.kind === "blocked") {
      this.#problems.set(name, renewal.message);
      this.#checked.delete(name);
      if (!present || found.kind !== "present") return { problem: renewal.message };
      // A leaf that cannot be renewed may still serve for a while.
      this.#checked.set(name, { asked, until: now + RECHECK_MS });
      return present;
    }
    this.#problems.delete(name);
    this.#ends.set(name, renewal.notAfter);
    // Judged again once it is in place; until then nothing is due.
    this.#checked.delete(name);
    if (renewal.kind === "issued") return renewal.pair;
    this.#checked.set(name, { asked, until: renewal.lookAgainAt });
    return present ?? { problem: "no certificate" };
  }
}

/** By these names a member's leaves are remembered and told. */
function leavesOf(member: string): string[] {
  return [...PLANES.map((plane) => `${member} ${plane}`), `${member} peer client`];
}

/** R46: etcd looks the address of a peer up under the names in its certificate; our own loopback counts too. */
function memberLeaf(
  cluster: ClusterFacts,
  record: MemberRecord,
  plane: Plane,
  extra: readonly string[],
): LeafSpec {
  const { hosts, domains } = certificateNames(cluster, record, plane);
  const { sans } = memberSans({
    hosts: [...hosts, "127.0.0.1", "::1"],
    domains,
    ...(plane === "client" && { extra }),
  });
  const usages = plane === "client" ? USAGES.server : USAGES.peer;
  return { commonName: record.name, sans, usages, lifeMs: LEAF_LIFE_MS };
}

/** Cached Secrets never change, and every pass reads them. */
const texts = new WeakMap<object, Map<string, string>>();

export function textIn({ data }: Secret, file: string): string | undefined {
  const encoded = data?.[file];
  if (data === undefined || encoded === undefined) return undefined;
  const known = texts.get(data)?.get(file);
  if (known !== undefined) return known;
  const text = Buffer.from(encoded, "base64").toString();
  if (!Object.isFrozen(data)) return text;
  const decoded = texts.get(data) ?? new Map<string, string>();
  texts.set(data, decoded.set(file, text));
  return text;
}

/** Whether a member was ever given certificates of this plane: then its authority must not be another one. */
export function isPlaneInUse(
  plane: Plane,
  records: readonly MemberRecord[],
  secrets: SecretsByName,
): boolean {
  const { caFile: file } = PLANE_FILES[plane];
  return records.some(({ name, uid }) => {
    const secret = secrets.get(name);
    return secret !== undefined && isControlledBy(secret, uid) && secret.data?.[file] !== undefined;
  });
}

/** The Secret of a plane's authority. */
export function authorityName(cluster: Pick<ClusterFacts, "name">, plane: Plane): string {
  const { clientCA, peerCA } = secretNames(cluster.name);
  return plane === "client" ? clientCA : peerCA;
}
