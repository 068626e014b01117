/**
 * The planes whose certificates somebody else makes: from the Secrets that hold them to a source of leaves. A changed
 * leaf is copied to the members; another CA is not, because etcd reads its CAs only at start (R45): members that trust
 * different ones would not talk to each other.
 */
import type { Secret } from "kubernetes-types/core/v1.d.ts";
import type { TLS } from "../../api/tls.ts";
import type { MemberRecord } from "../../core/record.ts";
import type { View } from "../../core/view.ts";
import { isControlledBy } from "../../kube/resources.ts";
import { splitBundle } from "../../pki/bundle.ts";
import { PLANES, type Plane } from "../../pki/plan.ts";
import type { Given, Offer, Problem } from "../../pki/source.ts";
import type { Pem } from "../../seams/pki.ts";
import { CLIENTS } from "../names.ts";
import { FILES } from "../render/config.ts";
import { secretsByName, textIn, type SecretsByName } from "./certificates.ts";
import type { ApplyContext } from "./outcomes.ts";

/** A Secret that the spec names, by its field. */
interface Named {
  readonly field: string;
  readonly name: string;
}

/** Which Secrets a plane needs, by what they are for. */
function namedIn(tls: TLS, plane: Plane): Readonly<Record<string, Named>> {
  const named = Object.entries(tls[plane]?.secrets ?? {});
  return Object.fromEntries(
    named.map(([role, name]) => [role, { field: `spec.tls.${plane}.secrets.${role}`, name }]),
  );
}

/** Reads what the spec names for a plane; true when its leaves can be taken from there. */
export async function takeGiven(context: ApplyContext, view: View, plane: Plane): Promise<boolean> {
  const { certificates, given, stores, key } = context;
  const { tls } = view.spec;
  const { namespace } = view.observation.cluster;
  const labelled = secretsByName(stores.ownObjects(key).secrets);
  const named = Object.values(namedIn(tls, plane));
  given.keepOnly(new Set(PLANES.flatMap((one) => Object.values(namedIn(tls, one)).map(({ name }) => name))));
  const found = new Map<string, Secret>();
  for (const { name } of named) {
    const secret = await given.read(namespace, name, labelled.get(name));
    if (secret) found.set(name, secret);
  }
  const records = view.members.map(({ record }) => record);
  const source = givenSource({ tls, namespace, plane, found, inUse: trustInUse(plane, records, labelled) });
  const isUsable = certificates.useGiven(plane, source);
  if (!isUsable) given.expect(named.map(({ name }) => name));
  return isUsable;
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
  readonly tls: TLS;
  readonly namespace: string;
  readonly plane: Plane;
  /** By name. */
  readonly found: ReadonlyMap<string, Secret>;
  readonly inUse: Trust | undefined;
}

export function givenSource(input: GivenInput): Given | { readonly problem: Problem } {
  const { tls, plane, inUse } = input;
  const named = namedIn(tls, plane);
  const [member, client] = [named["server"] ?? named["member"], named["operator"]];
  const authority = named["trustedCA"] ?? client ?? member;
  if (!member || !authority) return missing(`spec.tls.${plane}`, "names no Secret");
  const [trust, accepts] = [fileOf(input, member, "ca.crt"), fileOf(input, authority, "ca.crt")];
  if ("problem" in trust) return trust;
  if ("problem" in accepts) return accepts;
  for (const [now, before, { field, name }] of [
    [trust, inUse?.trust, member],
    [accepts, inUse?.accepts, authority],
  ] as const) {
    if (before === undefined || isSameBundle(now.text, before)) continue;
    const message = `${field}: ca.crt of Secret ${name} is not what the members of the cluster trust, and etcd reads CAs only at start. The members keep their certificates; put the previous CA back`;
    return { problem: { reason: "CAChanged", message } };
  }
  const offer = (from: Named, judgedBy: Pem): Offer => {
    const [certificate, key] = [fileOf(input, from, "tls.crt"), fileOf(input, from, "tls.key")];
    if ("problem" in certificate) return certificate;
    return "problem" in key ? key : { certificate, key, trust: judgedBy };
  };
  const find = (leaf: string): Offer =>
    leaf === CLIENTS.operator && client ? offer(client, accepts) : offer(member, trust);
  return { kind: "gives", trust, accepts, find };
}

/** A file of one of the Secrets, or why there is none. */
function fileOf(
  { namespace, found }: GivenInput,
  { field, name }: Named,
  file: string,
): Pem | { readonly problem: Problem } {
  const secret = found.get(name);
  if (!secret) return missing(field, `Secret ${namespace}/${name} does not exist`, "SecretMissing");
  const text = textIn(secret, file);
  if (text === undefined || text.trim() === "")
    return missing(field, `Secret ${namespace}/${name} has no ${file}`);
  return { text, where: `${field}: Secret ${namespace}/${name}, ${file}` };
}

function missing(
  field: string,
  what: string,
  reason: NonNullable<Problem["reason"]> = "CertificateInvalid",
): { readonly problem: Problem } {
  return { problem: { reason, message: `${field}: ${what}` } };
}

/** The same certificates, in whatever order. */
function isSameBundle(a: string, b: string): boolean {
  if (a.trim() === b.trim()) return true;
  const [left, right] = [new Set(splitBundle(a)), new Set(splitBundle(b))];
  return left.size > 0 && left.size === right.size && [...left].every((one) => right.has(one));
}
