/**
 * The certificates of a cluster in Secrets: an authority per plane, made if absent and rewritten only by its rotation; the leaves
 * of members, the operator and the users, made anew when they are due (R45). What is in place is judged from
 * the caches, so that nothing is asked of the API server for it.
 */
import type { Secret } from "kubernetes-types/core/v1.d.ts";
import { lifetimesOf } from "../../api/lifetimes.ts";
import { isSecure, modeOf } from "../../core/config/flags.ts";
import { hasOwnGateway } from "../../core/config/gateway.ts";
import type { ClusterFacts, NotMade } from "../../core/observation.ts";
import type { MemberRecord } from "../../core/record.ts";
import { bundleOf, trustedBy, type Authority, type CaSet } from "../../pki/authority.ts";
import { Keeper, type CertificateTime, type Leaf } from "../../pki/keeper.ts";
import { caOf, clientLeaf, givenLeaf, judgeCa, PLANES, type Plane } from "../../pki/plan.ts";
import { memberSans } from "../../pki/sans.ts";
import { managed, type Given, type Keeping } from "../../pki/source.ts";
import { PkiError, type LeafSpec, type Pem, type Pki } from "../../seams/pki.ts";
import { trustOf } from "../../core/template/effective.ts";
import { CLIENTS, neededNames } from "../names.ts";
import { authorityIn } from "./authority-secret.ts";
import { FILES } from "../render/config.ts";
import { caSecret, type TLSFiles } from "../render/secret.ts";
import { GatewayProblems } from "./gateway-problems.ts";
import { diallingLeaf, leavesOf, LeafSpecs } from "./leaf-specs.ts";
import { givenLeaves, isAnother, readable, type Offering } from "./plane-source.ts";
import { pemIn, PLANE_FILES, textIn } from "./secret-files.ts";
import { CLOCK, Unissued } from "./unissued.ts";
import { UserCertificates } from "./user-certificates.ts";

/** A leaf that is due and cannot be renewed is looked at again this late, not on every pass. */
const RETRY_MS = 10_000;

export class Certificates {
  readonly #pki: Pki;
  readonly #time: CertificateTime;
  readonly clusterDomain: string | undefined;
  readonly keeper: Keeper;
  readonly users: UserCertificates;
  /** The Secret that a plane's authority was read from. */
  readonly #readFrom = new Map<Plane, Secret>();
  readonly #authorities = new Map<Plane, Authority>();
  readonly #offered = new Map<Plane, Given>();
  readonly #unissued: Unissued;
  /** The common names that a certificate given to the operator may have; undefined where any will do. */
  operatorNames: readonly string[] | undefined;
  readonly gatewayProblems = new GatewayProblems();
  readonly #specs: LeafSpecs;

  constructor(pki: Pki, time: CertificateTime, clusterDomain?: string) {
    this.#pki = pki;
    this.clusterDomain = clusterDomain;
    this.#specs = new LeafSpecs(clusterDomain);
    this.#time = time;
    this.keeper = new Keeper(pki, time, { retryMs: RETRY_MS });
    this.#unissued = new Unissued(this.keeper, time);
    this.users = new UserCertificates(pki, time, this.keeper);
  }

  /** When the first certificate of a member ends. */
  expiryOf(member: string): number | undefined {
    return this.keeper.expiry(leavesOf(member));
  }

  /** When each certificate ends that is looked after here, CAs too, by name. */
  get expiries(): readonly { readonly name: string; readonly expires: number }[] {
    return this.keeper.ends;
  }

  /** The names and addresses that the certificates of a member are issued for. */
  namesOf(member: string): unknown {
    return leavesOf(member).map((leaf) => this.#specs.sansOf(leaf));
  }

  forget(member: string): void {
    this.#unissued.forget(member);
    this.gatewayProblems.forget(this.keeper, member);
    for (const name of leavesOf(member)) {
      this.#specs.forget(name);
      this.keeper.forget(name);
    }
  }

  /** A new authority as a Secret, to be made if there is none. */
  async newAuthority(cluster: ClusterFacts, plane: Plane): Promise<Secret> {
    const request = caOf(cluster.name, plane, lifetimesOf(cluster.spec.tls).caMs);
    const { contradiction } = this.#time;
    if (contradiction !== undefined) {
      this.keeper.report(plane, { of: CLOCK, message: contradiction });
      throw new PkiError("wrong-clock", request.commonName, contradiction);
    }
    const { certificate, key } = await this.#pki.issueCa(request);
    return caSecret(cluster, plane, { certificate, key, ca: certificate });
  }

  /** Reads the authority; what is wrong with it is a problem, and then nothing of its plane can be issued. */
  useAuthority(
    cluster: ClusterFacts,
    plane: Plane,
    secret: Secret,
    given: {
      readonly offering?: Offering;
      readonly spare?: Keeping["spare"];
      readonly records?: readonly MemberRecord[];
    } = {},
  ): boolean {
    const where = `Secret ${cluster.namespace}/${secret.metadata?.name}`;
    const { spare } = given;
    let authority = this.#authorities.get(plane);
    if (this.#readFrom.get(plane) !== secret || !authority) {
      this.#readFrom.delete(plane);
      this.#authorities.delete(plane);
      try {
        authority = authorityIn(secret, where);
        if (!authority.signer.given) this.#sign(plane, authority, secret, where);
        this.#authorities.set(plane, authority);
        this.#readFrom.set(plane, secret);
      } catch (error) {
        if (!(error instanceof PkiError)) throw error;
        this.keeper.use(plane, undefined);
        this.keeper.report(plane, `${error.message}; restore it from a backup`);
        return false;
      }
    }
    const offering =
      given.offering && this.judged(cluster, plane, given.offering, given.records, authority.signer);
    this.#offer(plane, offering);
    if (authority.signer.given) {
      const { source, problem } = givenLeaves(this.#pki, { authority, where }, offering, spare);
      this.keeper.use(plane, source);
      this.keeper.report(plane, problem);
      return true;
    }
    const source = this.keeper.source(plane);
    const verdict =
      source?.kind === "signs"
        ? judgeCa(source.ca, lifetimesOf(cluster.spec.tls).leafMs, this.#time.now())
        : undefined;
    const notGiven = offering && "problem" in offering ? offering.problem : undefined;
    this.keeper.report(
      plane,
      verdict && verdict.state !== "valid" ? `${where}: ${verdict.message}` : notGiven,
    );
    return verdict !== undefined;
  }

  /**
   * Members are not restarted to trust another CA whose certificates none of them could use, nor to have certificates for
   * the first time that they could not be given.
   */
  judged(
    cluster: ClusterFacts,
    plane: Plane,
    found: Offering,
    records: readonly MemberRecord[] = [],
    signer?: CaSet,
  ): Offering {
    const offering = readable(this.#pki, found);
    if ("problem" in offering) return offering;
    const isOther = signer === undefined || isAnother(this.#pki, signer, offering);
    const due = isOther ? records : records.filter(({ template }) => !isSecure(template.tls, plane));
    const leaves = due.map((record): [string, LeafSpec] => {
      const extra = record.template.tls.extraSANs;
      return [`${record.name} ${plane}`, this.#specs.of(cluster, record, plane, { extra, given: true })];
    });
    if (plane === "client" && due.length > 0)
      leaves.push([CLIENTS.operator, this.#clientLeaf(cluster, CLIENTS.operator)]);
    const [problem] = leaves.flatMap(([leaf, wanted]) => this.keeper.flawOf(leaf, offering, wanted) ?? []);
    return problem ? { problem } : offering;
  }

  #sign(plane: Plane, authority: Authority, secret: Secret, where: string): void {
    const certificate = pemIn(secret, "tls.crt", where) ?? { text: "", where: `${where}, tls.crt` };
    const source = managed(this.#pki, certificate, pemIn(secret, "tls.key", where));
    const trust = { text: bundleOf(authority), where };
    this.keeper.use(plane, { ...source, trust, accepts: trust });
  }

  /** What somebody else gives to a plane of which no member has a certificate yet, or why nothing. */
  useGiven(plane: Plane, offering: Offering): boolean {
    this.#readFrom.delete(plane);
    this.#authorities.delete(plane);
    const checked = readable(this.#pki, offering);
    this.#offer(plane, checked);
    const problem = "problem" in checked ? checked.problem : undefined;
    this.keeper.use(plane, "problem" in checked ? undefined : checked);
    this.keeper.report(plane, problem);
    return problem === undefined;
  }

  /** Nobody has certificates of this plane, and nobody is to have any: nothing about it is a problem. */
  leave(plane: Plane): void {
    this.#readFrom.delete(plane);
    this.#authorities.delete(plane);
    this.#offered.delete(plane);
    this.keeper.use(plane, undefined);
    this.keeper.forget(`${plane} CA`);
    this.keeper.report(plane, undefined);
  }

  /** What somebody else gives to this plane now, as last read. */
  offered(plane: Plane): Given | undefined {
    return this.#offered.get(plane);
  }

  #offer(plane: Plane, offering: Offering | undefined): void {
    if (offering === undefined || "problem" in offering) this.#offered.delete(plane);
    else this.#offered.set(plane, offering);
  }

  /**
   * The certificates among the files of a member, with `external` names; undefined while one cannot be had. `reissue`:
   * with other certificates than the present ones, if they can be issued, or with another server certificate alone.
   */
  async memberFiles(
    cluster: ClusterFacts,
    record: MemberRecord,
    present: Secret | undefined,
    external: readonly string[] = [],
    reissue: "all" | "server" | "none" = "none",
  ): Promise<Record<string, string> | undefined> {
    const { name, template } = record;
    const files: Record<string, string> = {};
    for (const plane of PLANES) {
      if (!isSecure(template.tls, plane)) {
        for (const leaf of leavesOf(name, [plane])) this.keeper.forget(leaf);
        continue;
      }
      const { pemFile, caFile } = PLANE_FILES[plane];
      const source = this.keeper.source(plane);
      if (plane === "client" && (source === undefined || !hasOwnGateway(template)))
        this.gatewayProblems.forget(this.keeper, name);
      // What a load balancer is called is known to nobody who makes a certificate beforehand.
      const extra = source?.kind === "signs" ? external : [];
      const spec = this.#specs.of(cluster, record, plane, {
        extra: [...template.tls.extraSANs, ...extra],
        given: source !== undefined && source.kind !== "signs",
      });
      if (source === undefined) {
        this.keeper.report(`${name} ${plane}`, undefined);
        const kept = present && this.#withoutAuthority(`${name} ${plane}`, present, plane);
        if (kept === undefined) return this.#unissued.note(record, this.keeper.problem(plane), plane);
        Object.assign(files, kept);
        if (plane === "peer")
          files[FILES.peerClientPem] =
            (present && textIn(present, FILES.peerClientPem)) ?? files[pemFile] ?? "";
        else if (hasOwnGateway(template))
          files[FILES.gatewayPem] = (present && textIn(present, FILES.gatewayPem)) ?? files[pemFile] ?? "";
        continue;
      }
      const leafName = `${name} ${plane}`;
      const another =
        reissue === "all" || (reissue === "server" && plane === "client")
          ? await this.#leaf(leafName, plane, spec, undefined, pemFile)
          : undefined;
      const leaf = another?.pair ? another : await this.#leaf(leafName, plane, spec, present, pemFile);
      if (leaf.pair === undefined) return this.#unissued.note(record, leaf.problem, plane);
      files[pemFile] = leaf.pair.certificate + leaf.pair.key;
      files[caFile] = this.#trustedBy(record, plane) ?? source.accepts.text;
      if (plane === "client" && source.trust.text !== source.accepts.text)
        files[FILES.serverCA] = source.trust.text;
      const kept = reissue === "all" ? undefined : present;
      if (plane === "peer")
        files[FILES.peerClientPem] =
          source.kind === "signs"
            ? await this.#dialling(cluster, "peer", name, kept, files[pemFile])
            : (source.kind === "keeps" && present && textIn(present, FILES.peerClientPem)) || files[pemFile];
      else if (hasOwnGateway(template)) {
        const isSigned = source.kind === "signs";
        files[FILES.gatewayPem] =
          isSigned || (source.kind === "gives" && source.gateways)
            ? await this.#dialling(cluster, plane, name, isSigned ? kept : present, files[pemFile])
            : (present && textIn(present, FILES.gatewayPem)) || files[pemFile];
      }
    }
    this.#unissued.forget(name);
    return files;
  }

  /** As its record names them: etcd reads them at its start only (R45). */
  #trustedBy({ template }: MemberRecord, plane: Plane): string | undefined {
    const authority = this.#authorities.get(plane);
    return authority && trustedBy(this.#pki, authority, trustOf(template, plane));
  }

  /**
   * What a member dials its peers with, and its gateway the member itself. Where none can be signed, the certificate that
   * it shows does: to peers it has names, and they look them up; the gateway answers nobody with it, and all else works.
   */
  async #dialling(
    cluster: ClusterFacts,
    plane: Plane,
    name: string,
    present: Secret | undefined,
    shown: string,
  ): Promise<string> {
    const { leafMs } = lifetimesOf(cluster.spec.tls);
    const { who, leaf, file } = diallingLeaf(name, plane, leafMs);
    const { pair, problem } = await this.#leaf(who, plane, leaf, present, file);
    if (plane === "client" && modeOf(cluster.spec.tls, plane) === "CertManager")
      this.gatewayProblems.take(this.keeper, name, who, pair ? undefined : problem);
    return pair ? pair.certificate + pair.key : shown;
  }

  /** Why this member has no certificate; undefined when it has, or has not been looked at. */
  unissuedFor(member: string): NotMade | undefined {
    return this.#unissued.get(member);
  }

  /** Why nobody is given a certificate now, whatever authority there is. */
  get contradiction(): string | undefined {
    return this.#time.contradiction;
  }

  /**
   * What a member has is good as long as it is valid: only issuing takes the authority, and that may be gone. Judged by
   * the CA that the Secret itself trusts.
   */
  #withoutAuthority(name: string, present: Secret, plane: Plane): Record<string, string> | undefined {
    const { pemFile, caFile } = PLANE_FILES[plane];
    const [pem, ca] = [pemIn(present, pemFile, name), pemIn(present, caFile, name)];
    const servers = plane === "client" ? pemIn(present, FILES.serverCA, name) : undefined;
    if (!pem || !ca || !this.keeper.serves(name, pem, servers ?? ca)) return undefined;
    return { [pemFile]: pem.text, [caFile]: ca.text, ...(servers && { [FILES.serverCA]: servers.text }) };
  }

  /** Whether a member could start with the certificates in its Secret, due for renewal or not. */
  areValid({ name, template }: MemberRecord, present: Secret): boolean {
    return PLANES.every(
      (plane) =>
        !isSecure(template.tls, plane) ||
        this.#withoutAuthority(`${name} ${plane}`, present, plane) !== undefined,
    );
  }

  /** Empty where it has none, undefined where it cannot be read. */
  commonNameOf(certificate: Pem): string | undefined {
    try {
      return this.#pki.inspect({ certificate }).commonName ?? "";
    } catch (error) {
      if (!(error instanceof PkiError)) throw error;
      return undefined;
    }
  }

  /** Of the certificate in a PEM text, lower-case hex. */
  fingerprintOf(text: string): string {
    return this.#pki.inspect({ certificate: { text, where: "the server certificate" } }).fingerprint;
  }

  /** What keeps the certificates that were given from serving a member that does not exist yet. */
  unusableFor(
    cluster: ClusterFacts,
    member: Pick<MemberRecord, "name" | "address">,
    plane: Plane,
  ): string | undefined {
    const { sans } = memberSans({ hosts: neededNames(cluster, member, plane) });
    const leaf = givenLeaf(member.name, plane, sans);
    return this.keeper.unusable(`${member.name} ${plane}`, plane, leaf)?.message;
  }

  /** A client's certificate, the operator's or a user's. */
  async clientFiles(
    cluster: ClusterFacts,
    commonName: string,
    present: Secret | undefined,
  ): Promise<TLSFiles | undefined> {
    const { pair } = await this.#leaf(
      commonName,
      "client",
      this.#clientLeaf(cluster, commonName),
      present,
      "tls.crt",
      "tls.key",
    );
    const source = this.keeper.source("client");
    return pair && source && { certificate: pair.certificate, key: pair.key, ca: source.trust.text };
  }

  #clientLeaf({ spec }: ClusterFacts, commonName: string): LeafSpec {
    const leaf = clientLeaf(commonName, lifetimesOf(spec.tls).leafMs);
    const users = commonName === CLIENTS.operator ? this.operatorNames : undefined;
    return users ? { ...leaf, users } : leaf;
  }

  /** Certificate and key are in one file, or in two. */
  #leaf(
    name: string,
    plane: Plane,
    wanted: LeafSpec,
    present: Secret | undefined,
    file: string,
    keyFile = file,
  ): Promise<Leaf> {
    const where = `the certificate of ${name}`;
    const certificate = present && pemIn(present, file, where);
    const key = keyFile === file ? certificate : present && pemIn(present, keyFile, where);
    return this.keeper.leaf(name, plane, wanted, { certificate, key });
  }
}
