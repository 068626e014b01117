/**
 * Why a member has no Pod, from what was tried for it: the API server or somebody behind it refused an object, or its
 * certificates cannot be issued, for want of an authority or of a clock that is right. Remembered until it is made; forgetting it costs a message (H16).
 */
import { isGiven, isSecure, modeOf, modesInUse } from "../../core/config/flags.ts";
import type { ClusterFacts, NotMade, PlatformFacts } from "../../core/observation.ts";
import { memberName, type MemberRecord } from "../../core/record.ts";
import { isControlledBy } from "../../kube/resources.ts";
import { PLANES, type Plane } from "../../pki/plan.ts";
import { authorityName } from "./authority-secret.ts";
import type { Certificates } from "./certificates.ts";
import { spareIn } from "./given.ts";
import { isPlaneInUse, secretsByName, type SecretsByName } from "./secret-files.ts";
import { takenBy } from "../observe/observe-objects.ts";
import { issuerOf } from "./not-reissued.ts";
import type { ApplyContext } from "./outcomes.ts";
import { memberLacksKey } from "./token-keys.ts";

/** What each member's parts are called in problems. */
export const partsOf = {
  record: (member: string) => `the record of ${member}`,
  claim: (member: string) => `the claim of ${member}`,
  volume: (member: string) => `the PersistentVolume of ${member}`,
  secret: (member: string) => `the Secret of ${member}`,
  labels: (member: string) => `the labels of the objects of ${member}`,
  latch: (member: string) => `the joined annotation on the Pod of ${member}`,
  pod: (member: string) => `the Pod of ${member}`,
} as const;

export function notMadeOf(
  context: Pick<ApplyContext, "waits" | "certificates" | "clashes" | "stores" | "key">,
  member: string,
): NotMade | undefined {
  const { waits, certificates, clashes } = context;
  const clash = clashes.found.find((found) => found.member === member);
  if (clash) return takenBy(clash);
  const unissued = certificates.unissuedFor(member);
  if (unissued) return unissued;
  for (const part of [partsOf.claim, partsOf.secret] as const) {
    const message = waits.failureOf(part(member));
    if (message !== undefined) return { reason: "ObjectRefused", message };
  }
  const keyless = memberLacksKey(context, member);
  if (keyless !== undefined) return { reason: "ObjectRefused", message: keyless };
  const message = waits.failureOf(partsOf.pod(member));
  return message === undefined ? undefined : { reason: "PodRefused", message };
}

/** A newcomer needs certificates: none is added to etcd that could not be given one. */
export function newcomersBlockedBy(
  { stores, certificates, key }: Pick<ApplyContext, "stores" | "certificates" | "key">,
  cluster: ClusterFacts,
  records: readonly MemberRecord[],
  next?: PlatformFacts["offers"][number],
): NotMade | undefined {
  const secrets = secretsByName(stores.ownObjects(key).secrets);
  keepGiven(certificates, cluster, records, secrets);
  const notGiven = notGivenTo(certificates, cluster, records, next);
  if (notGiven !== undefined) return { reason: "CertificateNotGiven", message: notGiven };
  const missing = PLANES.find((plane) => {
    const secret = secrets.get(authorityName(cluster, plane));
    const there = secret !== undefined && isControlledBy(secret, cluster.uid);
    return (
      isSecure(cluster.spec.tls, plane) &&
      !isGiven(cluster.spec.tls, plane) &&
      !there &&
      certificates.keeper.source(plane) === undefined &&
      isPlaneInUse(plane, records, secrets)
    );
  });
  if (missing === undefined) {
    const { contradiction } = certificates;
    const secure = PLANES.some(
      (plane) => isSecure(cluster.spec.tls, plane) && !isGiven(cluster.spec.tls, plane),
    );
    return secure && contradiction !== undefined
      ? { reason: "CertificateNotIssued", message: contradiction }
      : undefined;
  }
  const name = `${cluster.namespace}/${authorityName(cluster, missing)}`;
  return {
    reason: "AuthorityMissing",
    message: `Secret ${name} is missing, so no certificate can be issued`,
  };
}

/**
 * A plane is asked of us, or asked for no more, whose certificates were given: before anything is decided, nobody makes
 * them any more.
 */
function keepGiven(
  certificates: Certificates,
  cluster: ClusterFacts,
  records: readonly MemberRecord[],
  secrets: SecretsByName,
): void {
  for (const plane of PLANES) {
    if (isGiven(cluster.spec.tls, plane)) continue;
    certificates.keeper.report(issuerOf(plane), undefined);
    if (!isUsed(cluster, records, plane)) {
      certificates.leave(plane);
      continue;
    }
    const secret = secrets.get(authorityName(cluster, plane));
    if (!secret || !isControlledBy(secret, cluster.uid)) continue;
    if (certificates.keeper.source(plane)?.kind !== "signs")
      certificates.useAuthority(cluster, plane, secret, { spare: spareIn(plane, records, secrets) });
  }
}

/** Why the next member could not be given a certificate of those that somebody else makes, or made until now. */
function notGivenTo(
  certificates: Certificates,
  cluster: ClusterFacts,
  records: readonly MemberRecord[],
  next: PlatformFacts["offers"][number] | undefined,
): string | undefined {
  const planes = PLANES.filter((plane) => isGiven(cluster.spec.tls, plane));
  // What cert-manager has yet to issue it is asked for when there is a record.
  const missing = planes
    .flatMap((plane) => certificates.keeper.problemOf(plane) ?? [])
    .filter(({ reason }) => reason !== "CertificatePending");
  if (missing[0] !== undefined || !next) return missing[0]?.message;
  // Of the CA in use it is not given any more, and members may not trust the next one yet.
  const member = { name: memberName(cluster.name, next.ordinal), address: next.address };
  const given = PLANES.filter((plane) => {
    if (!isUsed(cluster, records, plane)) return false;
    const isKept = certificates.keeper.source(plane)?.kind === "keeps";
    return isKept || modeOf(cluster.spec.tls, plane) === "Secrets";
  });
  return given.flatMap((plane) => certificates.unusableFor(cluster, member, plane) ?? [])[0];
}

/** Somebody has certificates of this plane, or is to have some. */
function isUsed({ spec }: ClusterFacts, records: readonly MemberRecord[], plane: Plane): boolean {
  return modesInUse(plane, spec.tls, records).some((mode) => mode !== "Disabled");
}
