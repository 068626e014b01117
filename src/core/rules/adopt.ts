/**
 * First boot from the volumes that a former life of this cluster left (`spec.storage.adopt`). Before anything exists it is
 * settled, from the data itself, which volume is whose, and written down together with the latch of I3: from then on this
 * is a cluster that exists, and no member of it ever starts empty. Then each voter that the data names gets a record, as
 * one that has joined, on its old volume and under its old ID and peer URL. One whose volume is gone has lost its data:
 * the rules for that replace it, or tell that quorum is lost and from whom it can be recovered.
 */
import type { NewMemberRecord, Outcome } from "../action.ts";
import { NO_VOLUME, type AdoptedMember, type AdoptionMark } from "../facts/adoption-facts.ts";
import { adoptionOf } from "../assess/adoption.ts";
import { noAddress } from "../assess/newcomer.ts";
import { isSamePeer } from "../config/flags.ts";
import { HOLDS } from "../steps/hold-classes.ts";
import { act, hold, holdFor } from "../steps/outcome.ts";
import { ordinalOf, type ClusterMarks } from "../record.ts";
import type { Rule } from "../rule.ts";
import { listeningAs } from "../template/peer-plane.ts";
import { targetOf } from "../template/target.ts";
import { RELEASES, releaseOf } from "../version/releases.ts";
import { minorOf } from "../version/version.ts";
import type { View } from "../view.ts";

/** A volume may become readable, or out of reach, without an event. */
const LOOK_AGAIN_MS = 10_000;

export const adopt: Rule = (view) => {
  const { marks } = view.observation.cluster;
  if (marks.adopting) return [recordNext(view, marks.adopting)];
  const asked = view.spec.storage.adopt;
  // A cluster that was recovered or restored since begins its next lives from that.
  if (!asked || view.established || marks.recovered) return [];
  const { step } = targetOf(view);
  if (step.kind === "refused") return [holdFor(HOLDS.everything, step.why)];
  const until = view.now + LOOK_AGAIN_MS;
  const adoption = adoptionOf(view, asked);
  switch (adoption.is) {
    case "refused":
      return [hold(HOLDS.everything, "AdoptionRefused", { problem: adoption.problem, ...asked }, { until })];
    case "awaited":
      return [hold(HOLDS.everything, "AdoptionAwaits", { objects: adoption.objects }, { until })];
    case "rebound": {
      const { name: volume, uid, member } = adoption.volume;
      const action = { kind: "BindVolume", member, volume, uid } as const;
      return [act("join", "VolumeBinds", { volume, member }, action)];
    }
    case "reading": {
      const { objects, why } = adoption;
      return [hold(HOLDS.everything, "AdoptionReads", { objects, why }, { until })];
    }
    case "planned": {
      const { mark, missing, left, tooFew, oldest } = adoption;
      const change: Partial<ClusterMarks> = {
        established: { token: view.token, clusterID: mark.clusterID },
        adopting: mark,
        highestOrdinal: highestIn(view, mark),
        // What the former life remembered of its log is gone with it; so the log may hold the worst (H1, H5).
        batchJoined: true,
        ...oldLogOf(oldest),
      };
      const params = { clusterID: mark.clusterID, members: mark.members.map(({ name }) => name) };
      return [
        act(
          "join",
          "AdoptionBegins",
          { ...params, missing, left, tooFew },
          { kind: "MarkCluster", purpose: "adopt", change },
        ),
      ];
    }
  }
};

function highestIn({ nextOrdinal, observation: { cluster } }: View, { members }: AdoptionMark): number {
  return Math.max(nextOrdinal - 1, ...members.map(({ name }) => ordinalOf(cluster.name, name) ?? 0));
}

/** The minor before the one that runs may have left requests in the log that the one after it cannot replay. */
function oldLogOf(oldest: string): Pick<ClusterMarks, "oldLog"> {
  const minor = minorOf(oldest);
  const before = RELEASES[RELEASES.findIndex((release) => release.minor === minor) - 1];
  return before && releaseOf(before.minor)?.v2Requests ? { oldLog: { minor: before.minor } } : {};
}

function recordNext(view: View, mark: AdoptionMark): Outcome {
  const { cluster, platform } = view.observation;
  const next = mark.members.find(({ name }) => !view.members.some((member) => member.name === name));
  if (!next)
    return act(
      "record",
      "AdoptionEnds",
      { count: mark.members.length },
      { kind: "MarkCluster", purpose: "adopted", change: { adopting: undefined } },
    );
  const { step, template: wanted } = targetOf(view);
  if (step.kind === "refused") return holdFor(HOLDS.everything, step.why);
  const sibling = view.staying[0]?.record.template;
  const template = sibling ?? wanted;
  const ordinal = ordinalOf(cluster.name, next.name);
  const address = platform.adoption?.addresses.find(
    (one) => one.ordinal === ordinal && isSamePeer(one.address.peerURL, next.peerURL),
  )?.address;
  if (!template || ordinal === undefined || !address) return noAddress();
  const record: NewMemberRecord = {
    name: next.name,
    ordinal,
    role: "Voter",
    token: view.token,
    boot: "Join",
    address,
    initialCluster: mark.members.map(({ name, peerURL }) => ({ name, peerURL })),
    memberID: next.memberID,
    volumeUID: next.volumeUID ?? NO_VOLUME,
    joined: true,
    run: view.spec.replicas > 0,
    ...(next.host && { host: next.host }),
    template: { ...template, storage: storageOf(view, next), tls: listeningAs(template.tls, next.peerURL) },
  };
  const params = { member: next.name, memberID: next.memberID, isLost: next.volumeUID === undefined };
  return act("join", "MemberAdopted", params, { kind: "CreateMember", member: next.name, record });
}

/** As its volume is: where the spec asks for another size or class, it is changed like that of any member. */
function storageOf(
  { spec }: View,
  { size, className }: AdoptedMember,
): NewMemberRecord["template"]["storage"] {
  const { retention: _, volumeMode: __, adopt: ___, ...storage } = spec.storage;
  return { ...storage, ...(size !== undefined && { size }), ...(className !== undefined && { className }) };
}
