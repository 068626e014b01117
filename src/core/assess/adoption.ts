/**
 * Which volumes of a former life a new cluster takes over, and why others are refused. What is written on a volume selects
 * it; what its files say decides: the log knows whose it is, and the database who the members are. Every voter that the
 * newest data names gets its place back, also one whose volume is gone, so that a quorum is counted as etcd counts it.
 */
import type { Adopt } from "../../api/adopt.ts";
import type {
  AdoptedMember,
  AdoptionFacts,
  AdoptionMark,
  LeftVolume,
  ReleasedVolume,
} from "../facts/adoption-facts.ts";
import {
  ALL_VOLUMES,
  NO_VOLUMES,
  sayIDs,
  sayReleased,
  sayVolume,
  type AdoptionProblem,
  type NotBound,
} from "../messages/adoption.ts";
import type { DirectoryMember, MemberDirectory } from "../observation.ts";
import { quorum } from "../quorum.ts";
import { isSamePeer, isSecure } from "../config/flags.ts";
import { ordinalOf, type MemberAddress } from "../record.ts";
import { approvable } from "./approvals.ts";
import { minorNumber } from "../version/version.ts";
import type { View } from "../view.ts";

export type Adoption =
  | { readonly is: "refused"; readonly problem: AdoptionProblem }
  /** Of the former life something is still there, or is being deleted. */
  | { readonly is: "awaited"; readonly objects: readonly string[] }
  /** It outlived its claim, and gets one again: only then can it be read. */
  | { readonly is: "rebound"; readonly volume: ReleasedVolume }
  | { readonly is: "reading"; readonly objects: readonly string[]; readonly why?: string | undefined }
  | {
      readonly is: "planned";
      readonly mark: AdoptionMark;
      /** Voters whose volume is not there. */
      readonly missing: readonly string[];
      /** Volumes of the cluster's name that are left as they are. */
      readonly left: readonly string[];
      /** Too few for a quorum: what follows is a recovery from survivors. */
      readonly tooFew: boolean;
      /** The lowest minor that may have written into the log. */
      readonly oldest: string;
    };

/** etcd prints IDs without leading zeros. */
const id = (text: string) => text.toLowerCase().replace(/^0+(?=.)/, "");

/** Whether a volume may be one that was asked for: only such a one is looked into. */
export function mayBeAdopted(
  { clusterID, token }: Adopt,
  { identity }: Pick<LeftVolume, "identity">,
): boolean {
  if (token !== undefined) return identity.token === token;
  return identity.clusterID === undefined || id(identity.clusterID) === id(clusterID ?? "");
}

/** Nobody but its own cluster gets a volume back, so that what is written on it must say whose it is. */
function mayBeRebound({ clusterID, token }: Adopt, { identity }: ReleasedVolume): boolean {
  if (token !== undefined) return identity.token === token;
  return identity.clusterID !== undefined && id(identity.clusterID) === id(clusterID ?? "");
}

type Data = Extract<MemberDirectory, { state: "data" }>;
interface Held {
  readonly volume: LeftVolume;
  readonly data: Data;
}

export function adoptionOf(view: View, adopt: Adopt): Adoption {
  const facts = view.observation.platform.adoption;
  if (!facts || facts.refused !== undefined)
    return refused({ kind: "unreadable", why: facts?.refused ?? NO_VOLUMES });
  if (facts.remains.length > 0) return { is: "awaited", objects: facts.remains };
  const candidates = facts.volumes.filter((volume) => mayBeAdopted(adopt, volume));
  const ending = candidates.filter((volume) => volume.ending);
  if (ending.length > 0) return { is: "awaited", objects: objectsOf(ending) };
  const released = (facts.released ?? []).filter((volume) => mayBeRebound(adopt, volume));
  const bindable = released.filter((volume) => volume.refused === undefined);
  const [next] = bindable;
  if (next) {
    const copies = bindable.filter(({ member }) => member === next.member);
    if (copies.length > 1)
      return refused({ kind: "copies", volumes: copies.map(({ name }) => name), member: next.member });
    return { is: "rebound", volume: next };
  }
  const notBound = {
    released: released.map(({ name, refused: why }) => sayReleased(name, why)),
    unlisted: facts.unlisted?.why,
  };
  if (candidates.length === 0)
    return refused({ kind: "none", found: facts.volumes.map(describeVolume), ...notBound });
  const unread = candidates.filter(
    ({ directory }) => directory === undefined || directory.state === "reading",
  );
  if (unread.length > 0) {
    const [first] = unread;
    const why = first?.directory?.state === "reading" ? first.directory.why : undefined;
    return { is: "reading", objects: objectsOf(unread), why };
  }
  const [alone] = candidates.flatMap(({ object, directory }) =>
    directory && "alone" in directory && directory.alone !== undefined
      ? [{ object, data: directory.alone }]
      : [],
  );
  if (alone) return refused({ kind: "alone", ...alone });
  const held = candidates.flatMap((volume): Held[] =>
    volume.directory?.state === "data" ? [{ volume, data: volume.directory }] : [],
  );
  const mislabelled = held.find(({ volume: { identity }, data }) => !agrees(identity, data));
  if (mislabelled) {
    const { object, identity } = mislabelled.volume;
    return refused({ kind: "differs", object, says: sayIDs(identity), holds: sayIDs(mislabelled.data) });
  }
  // One that bears no identity may hold anything.
  const own = held.filter(
    ({ data }) => adopt.clusterID === undefined || id(data.clusterID) === id(adopt.clusterID),
  );
  const clusterIDs = [...new Set(own.map(({ data }) => data.clusterID))];
  if (clusterIDs.length > 1) return refused({ kind: "several", clusterIDs });
  const [newest] = own.toSorted((a, b) => b.data.term - a.data.term || b.data.index - a.data.index);
  if (!newest?.data.members) return refused({ kind: "no-data", objects: objectsOf(candidates) });
  const found = { candidates, own, newest: newest.data, list: newest.data.members };
  return planned(view, facts, { ...found, notBound });
}

interface Found {
  readonly candidates: readonly LeftVolume[];
  readonly own: readonly Held[];
  readonly newest: Data;
  readonly list: readonly DirectoryMember[];
  readonly notBound: NotBound;
}

function planned(view: View, facts: AdoptionFacts, found: Found): Adoption {
  const { candidates, own, newest, list, notBound } = found;
  const { name: cluster } = view.observation.cluster;
  const members: AdoptedMember[] = [];
  const taken: LeftVolume[] = [];
  for (const { id: memberID, name, peerURL } of list.filter(({ isLearner }) => !isLearner)) {
    const same = own.filter(({ data }) => data.memberID === memberID);
    if (same.length > 1)
      return refused({ kind: "twice", objects: objectsOf(same.map(({ volume }) => volume)), memberID });
    const ordinal = ordinalOf(cluster, name);
    if (ordinal === undefined) return refused({ kind: "unnamed", name: name || memberID });
    const addresses = facts.addresses.filter((one) => one.ordinal === ordinal);
    if (!addresses.some(({ address }) => canListenAs(view, address, peerURL)))
      return refused({
        kind: "address",
        member: name,
        peerURL,
        here: addresses.map(({ address }) => address.peerURL),
      });
    const volume = facts.volumes.find(({ member }) => member === name);
    if (volume) {
      const problem = whyNot(volume, candidates, own, { memberID, clusterID: newest.clusterID });
      if (problem) return refused(problem);
      taken.push(volume);
    }
    const { storage = {}, host } = volume ?? {};
    const place = { ...(volume && { volumeUID: volume.uid }), ...storage, ...(host && { host }) };
    members.push({ name, memberID, peerURL, ...place });
  }
  const asked = view.spec.version;
  const versions = taken.flatMap(({ object, identity }) =>
    identity.version === undefined ? [] : [{ object, wrote: identity.version }],
  );
  // As in a rollout that was interrupted: some may be one minor behind, nobody is ahead.
  const wrong = versions.find(({ wrote }) => {
    const distance = minorNumber(asked) - minorNumber(wrote);
    return distance !== 0 && distance !== 1;
  });
  const behind = versions.filter(({ wrote }) => minorNumber(wrote) < minorNumber(asked));
  const tooOld = versions.length > 0 && behind.length === versions.length ? behind[0] : undefined;
  const mismatch = wrong ?? tooOld;
  if (mismatch) return refused({ kind: "version", ...mismatch, asked });
  const missing = members
    .flatMap(({ name, volumeUID }) => (volumeUID === undefined ? [name] : []))
    .toSorted();
  // What a cache lacks need not be gone.
  const absent = facts.absent.filter(({ member }) => missing.includes(member));
  const unread = absent.find((one) => one.unread !== undefined);
  if (unread) return { is: "reading", objects: [unread.object], why: unread.unread };
  if (missing.length > 0 && facts.unlisted?.isDenied === false)
    return { is: "reading", objects: [ALL_VOLUMES], why: facts.unlisted.why };
  const withData = own.filter(({ volume }) => taken.includes(volume)).length;
  const tooFew = withData < quorum(members.length);
  if (tooFew && missing.length > 0) {
    const approval = approvable(view.observation, adoptingWithout(missing));
    if (view.observation.cluster.approved !== approval.word)
      return refused({
        kind: "lacks",
        objects: absent.map(({ object }) => object),
        members: missing,
        approval,
        ...notBound,
      });
  }
  return {
    is: "planned",
    mark: { clusterID: newest.clusterID, members },
    missing,
    left: facts.volumes.filter((volume) => !taken.includes(volume)).map(describeVolume),
    tooFew,
    oldest: behind[0]?.wrote ?? asked,
  };
}

/** Members without certificates cannot reach one that listens with TLS; the other way round they can, and change it (R52). */
function canListenAs({ spec }: View, address: MemberAddress, peerURL: string): boolean {
  const canDial = isSecure(spec.tls, "peer") || peerURL.startsWith("http:");
  return canDial && isSamePeer(address.peerURL, peerURL);
}

/**
 * The word by which a person says that these volumes do not come any more. Without it a cluster whose claims are applied
 * together with it would lose quorum for good, because some of them came a moment later.
 */
function adoptingWithout(members: readonly string[]): string {
  return `adopt-without-${members.join("-")}`;
}

/** Why the volume that bears the name of a voter cannot be that voter's; undefined where it is. */
function whyNot(
  volume: LeftVolume,
  candidates: readonly LeftVolume[],
  own: readonly Held[],
  voter: { readonly memberID: string; readonly clusterID: string },
): AdoptionProblem | undefined {
  const { object, identity } = volume;
  const data = own.find((one) => one.volume === volume)?.data;
  if (data)
    return data.memberID === voter.memberID
      ? undefined
      : { kind: "differs", object, says: sayIDs(voter), holds: sayIDs(data) };
  // It was emptied or is damaged or out of reach, and what is written on it tells whose it was: a member that lost its data.
  const isKnown =
    candidates.includes(volume) &&
    volume.directory?.state !== "data" &&
    identity.memberID !== undefined &&
    id(identity.memberID) === id(voter.memberID);
  if (isKnown) return undefined;
  const { directory } = volume;
  const clusterID = directory?.state === "data" ? directory.clusterID : identity.clusterID;
  return { kind: "foreign", object, clusterID };
}

function agrees(identity: LeftVolume["identity"], data: Data): boolean {
  const { clusterID = data.clusterID, memberID = data.memberID } = identity;
  return id(clusterID) === id(data.clusterID) && id(memberID) === id(data.memberID);
}

function refused(problem: AdoptionProblem): Adoption {
  return { is: "refused", problem };
}

function objectsOf(volumes: readonly LeftVolume[]): string[] {
  return volumes.map(({ object }) => object);
}

function describeVolume({ object, identity, directory }: LeftVolume): string {
  return sayVolume(object, directory?.state === "data" ? directory.clusterID : identity.clusterID);
}
