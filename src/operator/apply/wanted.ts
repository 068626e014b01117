/**
 * Every object of a cluster, in one list: what it is called, whose it is, and what is done about it. The list follows
 * from the view and from cached objects alone; `applier.ts` carries it out. To own one more object is one more entry.
 */
import type { PersistentVolumeClaim, Secret } from "kubernetes-types/core/v1.d.ts";
import { userSecretName } from "../../api/etcd-user.ts";
import { certifiedUsers } from "../../core/auth/certified.ts";
import { canonical, shortHash } from "../../core/template/hash.ts";
import { isGiven, isSecure, modeOf } from "../../core/config/flags.ts";
import type { MemberRecord } from "../../core/record.ts";
import type { MemberView, View } from "../../core/view.ts";
import { pods, type KubeObject } from "../../kube/resources.ts";
import * as names from "../names.ts";
import { isOurClaim } from "../observe/observe-objects.ts";
import { imageNote, namesRepository } from "../records/image-repository.ts";
import { sizeNote } from "../records/last-understood.ts";
import { memberClaim, wantedClaimSize } from "../render/claim.ts";
import { givenBy, metadataPatch } from "../render/given.ts";
import { generatedPasswords } from "../render/passwords.ts";
import { clientSecret, operatorSecret, snapshotSecret } from "../render/secret.ts";
import { volumeMark } from "../render/volume-identity.ts";
import { claims, etcdClusters, etcdMembers, secrets, volumes } from "../resources.ts";
import { PLANES, type Plane } from "../../pki/plan.ts";
import { authorityName } from "./authority-secret.ts";
import type { Cached } from "./cached.ts";
import { named, nameOf, of, patched } from "./entries.ts";
import { issuedOf } from "./issued.ts";
import { identityOn, podCreated } from "./claim-identity.ts";
import { lostLabels, lostOfRecord } from "./identity.ts";
import { networkOf, peerServicesOf } from "./network.ts";
import { partsOf } from "./not-made.ts";
import { hasTokenKeys, tokenPart } from "./token-keys.ts";
import type { Fields, Issued, Policy, Wanted } from "./wanted-object.ts";

/** What the object of an entry is called. */
export function nameIn(policy: Policy): string {
  switch (policy.do) {
    case "create":
    case "apply":
      return nameOf(policy.object);
    case "patch":
    case "delete":
    case "mark":
      return nameOf(policy.known);
    case "issue":
    case "take":
    case "refuse":
      return policy.name;
    case "run":
      return policy.member.name;
  }
}

export function wantedObjects(view: View, cached: Cached): Wanted[] {
  const { cluster } = view.observation;
  const objects = [
    ...secretsOf(view, cached),
    ...secretMetadata(view, cached),
    // What a spec asks of them that cannot be understood is not known; they stay as they are.
    ...(cluster.invalid === undefined ? networkOf(view, cached) : []),
    // Whatever the spec says: which members there are is in their records.
    ...peerServicesOf(view, cached),
    ...recordedSize(view, cached),
    ...recordedImage(view, cached),
    ...view.members.flatMap((member) => [
      ...claimOf(view, member, cached),
      ...recordOf(view, member, cached),
    ]),
    ...cached.unseen.flatMap(({ member, resource, object }) =>
      patched(partsOf.labels(member), resource, object, lostLabels(cluster, member, object)),
    ),
  ];
  // A Pod that finds no Secret waits for it longer than we need to make it.
  const after = objects.map(({ part }) => part);
  const runs = view.members.map((member): Wanted => {
    return { part: partsOf.pod(member.name), resource: pods, after, policy: { do: "run", member } };
  });
  return [...objects, ...runs];
}

/** Authorities first, of the planes that the spec asks for and those that somebody still runs with; then the leaves. */
function secretsOf(view: View, cached: Cached): Wanted[] {
  const { cluster } = view.observation;
  const templates = [view.spec.tls, ...view.members.map(({ record }) => record.template.tls)];
  const planes = PLANES.filter((plane) => templates.some((tls) => isSecure(tls, plane)));
  const isTaken = (plane: Plane) => isGiven(view.spec.tls, plane);
  const issued = planes.flatMap((plane) => issuedOf(view, plane, cached));
  const partOf = (plane: Plane) => (isTaken(plane) ? `the given ${plane} certificates` : `the ${plane} CA`);
  const issue = (name: string, ownerUID: string, secret: Issued) => {
    const policy = {
      do: "issue",
      name,
      secret,
      known: named(cached.secrets, name),
      isOurs: of(ownerUID),
    } as const;
    return { resource: secrets, policy };
  };
  const client = (name: string, commonName: string, render: typeof clientSecret): Wanted => ({
    part: `Secret ${name}`,
    needs: [partOf("client")],
    ...issue(name, cluster.uid, { of: "client", commonName, render }),
  });
  const own = names.secretNames(cluster.name);
  const tokens = hasTokenKeys(view, named(cached.secrets, own.tokenKeys))
    ? [{ part: tokenPart(own.tokenKeys), ...issue(own.tokenKeys, cluster.uid, { of: "token" }) }]
    : [];
  return [
    ...issued,
    ...planes.map((plane): Wanted => {
      const name = authorityName(cluster, plane);
      const part = partOf(plane);
      const after = issued.map((one) => one.part);
      if (isTaken(plane)) return { part, after, resource: secrets, policy: { do: "take", name, plane } };
      return { part, ...issue(name, cluster.uid, { of: "authority", plane }) };
    }),
    ...tokens,
    ...view.members.map(({ name, record }) => ({
      part: partsOf.secret(name),
      after: [...planes.map(partOf), ...tokens.map(({ part }) => part)],
      ...issue(names.memberSecretName(name), record.uid, { of: "member", record }),
    })),
    client(own.operator, names.CLIENTS.operator, operatorSecret),
    ...(publishesClients(view, named(cached.secrets, own.client))
      ? [client(own.client, names.CLIENTS.user, clientSecret)]
      : []),
    ...(view.observation.snapshots && names.snapshotSecretName(cluster) === own.snapshot && !isLeft(view)
      ? [client(own.snapshot, names.CLIENTS.snapshot, snapshotSecret)]
      : []),
    ...certifiedUsers(view).map((user) => ({
      part: `Secret ${userSecretName(user.object)}`,
      needs: [partOf("client")],
      ...issue(userSecretName(user.object), user.uid, { of: "user", user }),
    })),
    ...generatedPasswords(cluster).map(({ secret, user }) => ({
      part: `Secret ${secret}`,
      ...issue(secret, cluster.uid, { of: "password", user }),
    })),
  ];
}

/**
 * Whoever signs for themselves has certificates for their clients, too. What was published before is kept up to the
 * moment from which certificates of another source are used, so that clients find its CA beside the former one.
 */
function publishesClients(view: View, known: Secret | undefined): boolean {
  const { client: authority } = view.observation.platform.authorities ?? {};
  const mode = modeOf(view.spec.tls, "client");
  if (!authority || mode === "CertManager") return mode !== "Secrets";
  if (!authority.given) return mode !== "Secrets" || authority.phase === "Bundle";
  return authority.phase === "Bundle" && known !== undefined;
}

/** Certificates of clients come from us again once all members trust our CA. */
function isLeft(view: View): boolean {
  return view.observation.platform.authorities?.client?.given === true;
}

/** Labels and annotations of Secrets, whatever becomes of what is in them. */
function secretMetadata(view: View, cached: Cached): Wanted[] {
  const { cluster } = view.observation;
  return secretsOf(view, cached).flatMap(({ part, policy }) => {
    const known =
      policy.do === "issue" && policy.known && policy.isOurs(policy.known) ? policy.known : undefined;
    if (!known || known.metadata?.deletionTimestamp !== undefined) return [];
    const entries = patched(`the metadata of ${part}`, secrets, known, givenTo(cluster, known));
    return entries.map((entry) => ({ ...entry, after: [part] }));
  });
}

/** Its PersistentVolume outlives a namespace, which takes its claims along. */
function markOf(
  { observation }: View,
  record: MemberRecord,
  known: PersistentVolumeClaim,
  cached: Cached,
  about: Fields | undefined,
): Wanted[] {
  const created = podCreated(record, cached);
  if (created === undefined || !known.spec?.volumeName) return [];
  const identity = volumeMark(observation.cluster, record, created);
  const note = shortHash(canonical(identity));
  if (known.metadata?.annotations?.[names.ANNOTATIONS.volumeMarked] === note) return [];
  const noted = { metadata: { annotations: { [names.ANNOTATIONS.volumeMarked]: note } } };
  const policy = {
    do: "mark",
    known,
    identity,
    fields: about,
    noted: merged(about, noted) ?? noted,
  } as const;
  return [{ part: partsOf.volume(record.name), resource: volumes, policy }];
}

/** What the spec gives to every object, as a patch. Of a spec that cannot be understood it is not known. */
function givenTo({ invalid, spec }: View["observation"]["cluster"], known: KubeObject): Fields | undefined {
  const given = givenBy(spec.metadata);
  return invalid === undefined ? metadataPatch(known, given, given) : undefined;
}

/** Patches of one object in one write. */
function merged(...patches: readonly (Fields | undefined)[]): Fields | undefined {
  const metadata: Record<string, unknown> = {};
  for (const [field, value] of patches.flatMap((patch) => Object.entries(patch?.metadata ?? {})))
    metadata[field] = Array.isArray(value)
      ? value
      : { ...(metadata[field] as object | undefined), ...(value as object) };
  return Object.keys(metadata).length === 0 ? undefined : { metadata };
}

/** Should the next spec not be understood, this is how many members are kept. Before the latch there is nobody to keep. */
function recordedSize(view: View, { cluster: object }: Cached): Wanted[] {
  const { generation, invalid } = view.observation.cluster;
  const annotations = { [names.ANNOTATIONS.size]: sizeNote(view.spec) };
  // Of another generation, it is the object of another spec than the view's.
  if (!view.established || invalid !== undefined || object?.metadata.generation !== generation) return [];
  const isNoted = object.metadata.annotations?.[names.ANNOTATIONS.size] === sizeNote(view.spec);
  return isNoted ? [] : patched("the recorded size", etcdClusters, object, { metadata: { annotations } });
}

/** Should the operator be given another repository, this is where its members' image comes from until the next version. */
function recordedImage(view: View, { cluster: object }: Cached): Wanted[] {
  const { generation, invalid } = view.observation.cluster;
  if (invalid !== undefined || object?.metadata.generation !== generation) return [];
  const note = namesRepository(object) ? null : imageNote(view.spec);
  if ((object.metadata.annotations?.[names.ANNOTATIONS.image] ?? null) === note) return [];
  const annotations = { [names.ANNOTATIONS.image]: note };
  return patched("the recorded image", etcdClusters, object, { metadata: { annotations } });
}

/** Made before its member may start; from then on it is that one or none. */
function claimOf(view: View, member: MemberView, cached: Cached): Wanted[] {
  const { record, volume } = member;
  const { cluster } = view.observation;
  if (record.template.storage.medium !== "Persistent" || record.leaving) return [];
  const known = cached.claim(names.claimName(record.name));
  const part = partsOf.claim(record.name);
  if (record.volumeUID === undefined) {
    const isOurs = (found: KubeObject) => isOurClaim(cluster.uid, record, found);
    const object = memberClaim(cluster, record);
    return [{ part, resource: claims, policy: { do: "create", object, known, isOurs } }];
  }
  if (known?.metadata?.uid !== record.volumeUID) return [];
  const lost = lostLabels(cluster, record.name, known);
  const about = merged(lost, givenTo(cluster, known), identityOn(view, member, known, cached));
  const marked = markOf(view, record, known, cached, about);
  const isPatched = marked.length === 0 || lost !== undefined;
  const restored = isPatched ? patched(part, claims, known, about) : marked;
  const size = wantedClaimSize(record, known);
  const grows =
    known.metadata.deletionTimestamp === undefined &&
    volume.state === "ready" &&
    volume.tooSmall === undefined;
  if (size === undefined || !grows) return restored;
  // The class decides whether it can; where it cannot, another member takes its place.
  const refused = (why: string) =>
    `${size} was rejected (${why}); set another storage.className to replace the members one at a time`;
  const fields = { spec: { resources: { requests: { storage: size } } } };
  const grown = patched(`the size of the claim of ${record.name}`, claims, known, fields, { refused });
  return [...restored, ...grown];
}

/** Records are made, changed and deleted by steps; here only what tells whose they are is given back. */
function recordOf(view: View, { record }: MemberView, cached: Cached): Wanted[] {
  const object = cached.member(record.name);
  if (object?.metadata.uid !== record.uid) return [];
  const { cluster } = view.observation;
  const fields = merged(lostOfRecord(cluster, object), givenTo(cluster, object));
  return patched(partsOf.record(record.name), etcdMembers, object, fields, { exact: true });
}
