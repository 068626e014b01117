/**
 * The planes whose certificates somebody else makes: from the Secrets that hold them to a source of leaves. A changed
 * leaf is copied to the members; of another CA only once all of them trust it, because etcd reads its CAs at its start
 * (R45): which one members run with, and how far the way to another one is, is kept in a Secret.
 */
import type { Secret } from "kubernetes-types/core/v1.d.ts";
import { ownSecretsOf } from "../../core/auth/objects.ts";
import { operatorNames } from "../../core/auth/operator-names.ts";
import { modeOf } from "../../core/config/flags.ts";
import { ordinalOf, type MemberRecord } from "../../core/record.ts";
import type { View } from "../../core/view.ts";
import { isControlledBy } from "../../kube/resources.ts";
import { PLANES, type Plane } from "../../pki/plan.ts";
import type { Given, Keeping, Offer, Problem } from "../../pki/source.ts";
import type { Pem } from "../../seams/pki.ts";
import { CERT_MANAGER, whyNotIssued, type Certificate } from "../cert-manager.ts";
import { CLIENTS, issuedNames, secretNames } from "../names.ts";
import { FILES } from "../render/config.ts";
import { secrets as secretResource } from "../resources.ts";
import { authorityName, givenAuthority } from "./authority-secret.ts";
import { of } from "./entries.ts";
import { asksForGateway } from "./issued.ts";
import { keepCreated } from "./keep.ts";
import { dialler } from "./leaf-specs.ts";
import { issuerOf, notReissued } from "./not-reissued.ts";
import { pemIn, PLANE_FILES, secretsByName, textIn, type SecretsByName } from "./secret-files.ts";
import type { ApplyContext, Outcomes } from "./outcomes.ts";
import { offeredCa, type Offering } from "./plane-source.ts";
import type { Certificates } from "./certificates.ts";
import type { Written } from "./reissues.ts";
import { userLeaf } from "./user-certificates.ts";

/** What of a view names Secrets. */
type Placed = Pick<View, "spec"> & { readonly observation: Pick<View["observation"], "cluster" | "auth"> };

/** A Secret by the field that names it, or its issuer, and what to say while it is not there. */
interface Named {
  readonly field: string;
  readonly name: string;
  readonly absent: Problem;
}

/** Which Secrets the leaves of a plane are in. */
interface Places {
  readonly isMember: (leaf: string) => boolean;
  readonly member: (member: string) => Named;
  /** Of its HTTP gateway; absent where that has none of its own. */
  readonly gateway?: (member: string) => Named | undefined;
  readonly clients: ReadonlyMap<string, Named>;
  /** Whose ca.crt signed what members show. */
  readonly trust: readonly Named[];
  /** Whose ca.crt members trust. */
  readonly accepts: readonly Named[];
}

/** Reads what the spec names for a plane, or cert-manager wrote; true when its leaves can be taken from there. */
export async function takeGiven(
  context: ApplyContext,
  view: View,
  plane: Plane,
  outcomes: Outcomes,
): Promise<boolean> {
  const { certificates, stores, key } = context;
  const { cluster } = view.observation;
  const secrets = secretsByName(stores.ownObjects(key).secrets);
  const records = view.members.map(({ record }) => record);
  const offering = await offeringOf(context, view, plane, records, secrets);
  if (plane === "client") certificates.operatorNames = namesForOperator(certificates, view, secrets);
  const before = certificates.offered(plane);
  // Of a cluster that runs without them: what everybody could use is what they are going to trust.
  const first = view.established ? certificates.judged(cluster, plane, offering, records) : undefined;
  const held = await givenSecret(context, view, plane, outcomes, first);
  const isUsable = held
    ? certificates.useAuthority(cluster, plane, held, {
        offering,
        records,
        spare: spareIn(plane, records, secrets),
      })
    : certificates.useGiven(plane, first ?? offering);
  const after = certificates.offered(plane);
  // The decision has to see it.
  if (held && after && isOther(before, after)) outcomes.changed = true;
  return isUsable;
}

function namesForOperator(
  certificates: Certificates,
  view: View,
  secrets: SecretsByName,
): readonly string[] | undefined {
  const { cluster } = view.observation;
  const own = secrets.get(secretNames(cluster.name).operator);
  const held = own && isControlledBy(own, cluster.uid) ? own : undefined;
  const certificate = held && pemIn(held, "tls.crt", "the operator's certificate");
  return operatorNames(view, certificate && certificates.commonNameOf(certificate));
}

function isOther(before: Given | undefined, after: Given): boolean {
  return before?.trust.text !== after.trust.text || before.accepts.text !== after.accepts.text;
}

/** The Secret with the CA that members of the plane run with, or are going to; created if it is absent. */
export async function givenSecret(
  { client, stores, key }: Pick<ApplyContext, "client" | "stores" | "key">,
  view: View,
  plane: Plane,
  outcomes: Outcomes,
  first?: Offering,
): Promise<Secret | undefined> {
  const { cluster } = view.observation;
  const secrets = secretsByName(stores.ownObjects(key).secrets);
  const records = view.members.map(({ record }) => record);
  const known = secrets.get(authorityName(cluster, plane));
  if (known && isControlledBy(known, cluster.uid)) return known;
  const inUse = trustInUse(plane, records, secrets);
  const offered = first && !("problem" in first) ? offeredCa(first) : undefined;
  const ca = inUse
    ? { certificate: inUse.accepts, ...(inUse.trust !== inUse.accepts && { servers: inUse.trust }) }
    : offered;
  if (!ca) return undefined;
  const kept = await keepCreated(
    client,
    secretResource,
    givenAuthority(cluster, plane, ca),
    known,
    of(cluster.uid),
  );
  return outcomes.note(secretResource, kept) ? kept.object : undefined;
}

/** A certificate that is for all members is in the Secret of any of them. */
export function spareIn(
  plane: Plane,
  records: readonly MemberRecord[],
  secrets: SecretsByName,
): Keeping["spare"] {
  return (leaf) => {
    const { pemFile } = PLANE_FILES[plane];
    for (const { name, uid } of records) {
      const secret = secrets.get(name);
      if (leaf === `${name} ${plane}` || !secret || !isControlledBy(secret, uid)) continue;
      const pem = pemIn(secret, pemFile, `Secret ${name}`);
      if (pem) return pem;
    }
    return undefined;
  };
}

async function offeringOf(
  { certificates, given, reissues, stores, key }: ApplyContext,
  view: View,
  plane: Plane,
  records: readonly MemberRecord[],
  labelled: SecretsByName,
): Promise<Offering> {
  const { cluster } = view.observation;
  const own = stores.ownObjects(key);
  const isCertManager = modeOf(view.spec.tls, plane) === "CertManager";
  certificates.keeper.report(issuerOf(plane), undefined);
  if (isCertManager && !(await stores.followCertificates(key))) return { problem: certManagerMissing(plane) };
  const clash = isCertManager ? undefined : nameClash(view, plane);
  if (clash) return { problem: clash };
  const places = (one: Plane) => placesOf(view, one, records, own.certificates);
  const named = secretsIn(places(plane), records);
  given.keepOnly(new Set(PLANES.flatMap((one) => secretsIn(places(one), records))));
  const found = new Map<string, Secret>();
  for (const name of named) {
    const secret = await given.read(cluster.namespace, name, labelled.get(name));
    if (secret) found.set(name, secret);
  }
  const source = givenSource({ places: places(plane), namespace: cluster.namespace, found });
  if (!isCertManager) {
    // Of what cert-manager writes every change is seen.
    if ("problem" in source) given.expect(named);
    return source;
  }
  const { member, trust, accepts, clients } = places(plane);
  const all = [...records.map(({ name }) => member(name)), ...clients.values(), ...trust, ...accepts];
  const isThere = all.filter(({ name }) => found.has(name));
  certificates.keeper.report(issuerOf(plane), notReissued(isThere, own.certificates, view.serverNow));
  const groups = byIssuer(view, plane, places(plane)).map((group) => writtenIn(group, found));
  const problem = await reissues.ask(groups, own.certificates);
  return problem && !("problem" in source) ? { problem } : source;
}

/** What comes from one issuer, and so changes together. */
function byIssuer(view: Placed, plane: Plane, { trust, accepts }: Places): (readonly Named[])[] {
  if (plane === "peer") return [trust];
  const { server, operator } = view.spec.tls.client?.certManager ?? {};
  const isOne =
    server?.name === operator?.name && server?.kind === operator?.kind && server?.group === operator?.group;
  return isOne ? [[...trust, ...accepts]] : [trust, accepts];
}

function writtenIn(places: readonly Named[], found: ReadonlyMap<string, Secret>): Written[] {
  return places.flatMap(({ name, field }) => {
    const secret = found.get(name);
    return secret ? [{ name, field, secret }] : [];
  });
}

/** A Secret of the user cannot be where a copy of it, or something else of ours, has to be. */
export function nameClash(view: Placed, plane: Plane): Problem | undefined {
  const { name: cluster, namespace } = view.observation.cluster;
  // Auth can be enabled later.
  const { root, operator, client = "" } = ownSecretsOf(cluster, false);
  const ours: readonly string[] = [...Object.values(secretNames(cluster)), root, operator, client];
  const named = Object.entries(view.spec.tls[plane]?.secrets ?? {});
  const [role, name] =
    named.find(([, one]) => ours.includes(one) || ordinalOf(cluster, one) !== undefined) ?? [];
  return name === undefined
    ? undefined
    : {
        reason: "CertificateInvalid",
        message: `spec.tls.${plane}.secrets.${role}: Secret ${namespace}/${name} has the name of a Secret that Quorate writes itself; give yours another name`,
      };
}

function certManagerMissing(plane: Plane): Problem {
  return {
    reason: "CertManagerMissing",
    message: `spec.tls.${plane}.certManager: the API server does not serve Certificates of ${CERT_MANAGER}/v1, or not to the operator; install cert-manager. The operator checks for it every 15 s`,
  };
}

function secretsIn(places: Places, records: readonly MemberRecord[]): string[] {
  const { member, gateway, clients, trust, accepts } = places;
  const ofMembers = records.flatMap(({ name }) => [member(name), gateway?.(name) ?? []].flat());
  const all = [...trust, ...accepts, ...clients.values(), ...ofMembers];
  return [...new Set(all.map(({ name }) => name))];
}

export function placesOf(
  view: Placed,
  plane: Plane,
  records: readonly MemberRecord[],
  issued: readonly Certificate[],
): Places {
  const { tls } = view.spec;
  const { name: cluster, namespace } = view.observation.cluster;
  const isMember = (leaf: string) => leaf.endsWith(` ${plane}`);
  if (modeOf(tls, plane) === "CertManager") {
    const pending = (role: string, name: string): Named => {
      const field = `spec.tls.${plane}.certManager.${role}`;
      const certificate = issued.find(({ metadata }) => metadata?.name === name);
      const why = (certificate && whyNotIssued(certificate)) ?? "cert-manager has not reported on it";
      const { issuerRef } = certificate?.spec ?? {};
      const by = issuerRef ? ` by ${issuerRef.kind} ${issuerRef.name}` : "";
      const message = `${field}: Certificate ${namespace}/${name} is not issued yet${by} (${why})`;
      return {
        field,
        name,
        absent: { reason: "CertificatePending", of: `Certificate ${namespace}/${name}`, message },
      };
    };
    const role = plane === "client" ? "server" : "member";
    const member = (one: string) => pending(role, issuedNames.member(one, plane));
    const trust = records.map(({ name }) => member(name));
    const operator = pending("operator", issuedNames.operator(cluster));
    const user = pending("operator", issuedNames.client(cluster));
    const ofUsers = (view.observation.auth?.users ?? [])
      .filter(({ certificate, applied }) => certificate && applied)
      .map(({ object }) => [userLeaf(object), pending("operator", issuedNames.user(object))] as const);
    const asking = records.filter((record) => asksForGateway(view.observation.cluster, record));
    const gateways = new Map(
      asking.map(({ name }) => [name, pending("operator", issuedNames.gateway(name))] as const),
    );
    return {
      isMember,
      member,
      ...(plane === "client" && { gateway: (one) => gateways.get(one) }),
      trust,
      clients: new Map(
        plane === "client" ? [[CLIENTS.operator, operator], [CLIENTS.user, user], ...ofUsers] : [],
      ),
      // Of every client that is given one here: nobody is locked out whose certificate is still of another CA.
      accepts:
        plane === "client"
          ? [operator, user, ...ofUsers.map(([, named]) => named), ...gateways.values()]
          : trust,
    };
  }
  const named = (role: string, name: string): Named => {
    const field = `spec.tls.${plane}.secrets.${role}`;
    const message = `${field}: Secret ${namespace}/${name} does not exist`;
    return { field, name, absent: { reason: "SecretMissing", of: `Secret ${namespace}/${name}`, message } };
  };
  const { client, peer } = tls;
  if (plane === "peer" || !client?.secrets) {
    const member = named("member", peer?.secrets?.member ?? "");
    return { isMember, member: () => member, clients: new Map(), trust: [member], accepts: [member] };
  }
  const { server, operator, gateway, trustedCA } = client.secrets;
  const [shown, ours] = [named("server", server), named("operator", operator)];
  return {
    isMember,
    member: () => shown,
    ...(gateway !== undefined && { gateway: () => named("gateway", gateway) }),
    clients: new Map([[CLIENTS.operator, ours]]),
    trust: [shown],
    accepts: [trustedCA === undefined ? ours : named("trustedCA", trustedCA)],
  };
}

/** The CAs that members were given. */
interface Trust {
  readonly trust: string;
  readonly accepts: string;
}

function trustInUse(
  plane: Plane,
  records: readonly MemberRecord[],
  secrets: SecretsByName,
): Trust | undefined {
  for (const { name, uid } of records) {
    const secret = secrets.get(name);
    if (!secret || !isControlledBy(secret, uid)) continue;
    const accepts = textIn(secret, plane === "client" ? FILES.clientCA : FILES.peerCA);
    const servers = plane === "client" ? textIn(secret, FILES.serverCA) : undefined;
    if (accepts !== undefined) return { trust: servers ?? accepts, accepts };
  }
  return undefined;
}

interface GivenInput {
  readonly places: Places;
  readonly namespace: string;
  /** By name. */
  readonly found: ReadonlyMap<string, Secret>;
}

export function givenSource(input: GivenInput): Given | { readonly problem: Problem } {
  const { places } = input;
  const [trust, accepts] = [bundleOf(input, places.trust), bundleOf(input, places.accepts)];
  if ("problem" in trust) return trust;
  if ("problem" in accepts) return accepts;
  const find = (leaf: string): Offer => {
    const member = leaf.slice(0, leaf.lastIndexOf(" "));
    const client =
      places.clients.get(leaf) ?? (leaf === dialler(member, "client") ? places.gateway?.(member) : undefined);
    if (!client && !places.isMember(leaf))
      return { problem: { message: `there is no certificate for ${leaf}` } };
    const from = client ?? places.member(member);
    const [certificate, key] = [fileOf(input, from, "tls.crt"), fileOf(input, from, "tls.key")];
    if ("problem" in certificate) return certificate;
    return "problem" in key ? key : { certificate, key, trust: client ? accepts : trust };
  };
  return { kind: "gives", trust, accepts, find, ...(places.gateway && { gateways: true }) };
}

/** The CAs of these Secrets, of those that are there. */
function bundleOf(input: GivenInput, places: readonly Named[]): Pem | { readonly problem: Problem } {
  const there = places.filter(({ name }) => input.found.has(name));
  const files = (there.length > 0 ? there : places.slice(0, 1)).map((one) => fileOf(input, one, "ca.crt"));
  const missing = files.find((one) => "problem" in one);
  if (missing) return missing;
  const pems = files as Pem[];
  const [first] = pems;
  if (!first)
    return { problem: { reason: "CertificatePending", message: "no member has a certificate yet" } };
  const texts = [...new Set(pems.map(({ text }) => (text.endsWith("\n") ? text : `${text}\n`)))];
  return { text: texts.join(""), where: first.where };
}

/** A file of one of the Secrets, or why there is none. */
function fileOf(
  { namespace, found }: GivenInput,
  { field, name, absent }: Named,
  file: string,
): Pem | { readonly problem: Problem } {
  const secret = found.get(name);
  if (!secret) return { problem: absent };
  const text = textIn(secret, file);
  const where = `${field}: Secret ${namespace}/${name}`;
  if (text === undefined || text.trim() === "")
    return { problem: { reason: "CertificateInvalid", of: where, message: `${where} has no ${file}` } };
  return { text, where: `${where}, ${file}` };
}
