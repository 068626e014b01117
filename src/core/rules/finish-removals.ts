/**
 * Members on their way out: removed from etcd first, while quorum survives it (I1), then their workload,
 * their volume as was decided, and last their record. Each step can be the last before a crash; the
 * intent in the record (`leaving`) is what makes the next pass go on with it (H10).
 */
import { CAUSES } from "../messages/causes.ts";
import { act, hold, update } from "../steps/outcome.ts";
import type { Outcome } from "../action.ts";
import { HOLDS } from "../steps/hold-classes.ts";
import type { Rule } from "../rule.ts";
import { survivesRemoval } from "../quorum.ts";
import { ordinalOf } from "../record.ts";
import { healthyVotersBut, type MemberView, type View } from "../view.ts";
import { clearanceOf } from "../assess/clearance.ts";
import { successor } from "../assess/successor.ts";

/** Replacements are limited by the hour (`repair.maxReplacementsPerHour`); older ones are forgotten. */
const HOUR_MS = 3_600_000;

export const finishRemovals: Rule = (view) => {
  // A record of a former life: its attempt was abandoned before any client could write (H2), or the cluster was recovered
  // from one member's data. Keep its volume, if it may have been used.
  const former = view.members.find((member) => member.record.token !== view.token && !member.record.leaving);
  if (former) {
    const { recovered } = view.observation.cluster.marks;
    const isRecovered = recovered !== undefined;
    const cause = recovered?.survivor === undefined ? CAUSES.restored : CAUSES.recovered;
    const leaving = {
      reason: isRecovered ? cause : CAUSES.abandonedBoot,
      volume: former.record.volumeUID === undefined ? "Delete" : "Retain",
    } as const;
    const code = isRecovered ? "FormerMember" : "AbandonedBoot";
    return [act("heal", code, { member: former.name }, update(former, "leave", { leaving }))];
  }
  // One that has to stay for a while must not keep another from going: it may be waiting for just that.
  const waits: Outcome[] = [];
  for (const member of view.members.filter((candidate) => candidate.record.leaving)) {
    const outcomes = finishRemoval(view, member);
    if (outcomes.some((outcome) => "act" in outcome)) return [...waits, ...outcomes];
    waits.push(...outcomes);
  }
  return waits;
};

function finishRemoval(view: View, member: MemberView): readonly Outcome[] {
  const { workload, record } = member;
  const why = { member: member.name, cause: record.leaving?.reason ?? "" };
  const formerLife = record.token !== view.token;

  // Whatever its record says: as long as etcd counts it, it is removed there first.
  if (view.established && (!formerLife || member.entry)) {
    const { list } = view.observation.etcd;
    if (!list?.linearizable || !view.hasQuorum) return []; // Rule quorum-lost tells why.
    if (member.entry) return [removeFromEtcd(view, member, why)].flat();
  }
  if (workload.state !== "absent" && workload.state !== "stopping") {
    return [act("heal", "MemberLeaving", why, { kind: "StopWorkload", member: member.name })];
  }
  // A kubelet may hang, or its node be lost where Nodes may not be read: what follows in etcd does not wait for it.
  if (workload.state === "stopping" && !workload.lostNode)
    return [remember(view, member) ?? stillStopping(view, member, workload.since)];
  // A volume that somebody put in the place of its own is not ours to delete (I9).
  // Nor is one whose data a recovery had to choose from: it may hold what the survivor lacks.
  const isSpared = formerLife && view.observation.cluster.marks.recovered !== undefined;
  const deletes = { kind: "DeleteMember", member: member.name } as const;
  if (record.leaving?.volume === "Delete" && !isSpared) {
    const clearance = clearanceOf(view, member);
    if (clearance.next === "delete") {
      const { volumeUID } = clearance;
      return [act("heal", "MemberLeaving", why, { kind: "DeleteVolume", member: member.name, volumeUID })];
    }
    if (clearance.next === "wait") {
      const { where, until } = clearance;
      const params = { member: member.name, where };
      return [
        remember(view, member) ??
          hold(HOLDS.nothing, "DataBeingDeleted", params, { unfinished: true, until }),
      ];
    }
    if (clearance.next === "leave") {
      const left = { member: member.name, where: clearance.where, why: clearance.why };
      return [remember(view, member) ?? act("heal", "DataRemains", left, deletes)];
    }
  }
  return [remember(view, member) ?? act("heal", "MemberLeaving", why, deletes)];
}

/** That its name was used and, where it was broken, when it was replaced; undefined once the cluster has it. */
function remember(view: View, { name: member, record }: MemberView): Outcome | undefined {
  const { marks, name } = view.observation.cluster;
  const ordinal = ordinalOf(name, member) ?? 0;
  const uncounted = record.leaving?.broken && marks.replaced?.[member] === undefined;
  if (marks.highestOrdinal < ordinal || uncounted) {
    const recent = Object.entries(marks.replaced ?? {}).filter(([, at]) => Math.abs(view.now - at) < HOUR_MS);
    return act(
      "record",
      "NameUsed",
      { member },
      {
        kind: "MarkCluster",
        purpose: "remember-member",
        change: {
          highestOrdinal: Math.max(marks.highestOrdinal, ordinal),
          ...(uncounted ? { replaced: { ...Object.fromEntries(recent), [member]: view.now } } : {}),
        },
      },
    );
  }
  return undefined;
}

/** Most end within this time, and then nobody has to share a place with them. */
const SOON_MS = 10_000;
/** A Pod ends within its grace period, which is far below this, or something is wrong where it runs. */
const STUCK_MS = 5 * 60_000;

/** Told, and soon in nobody's way; never by force, since a node that is silent may still run it (H14). */
function stillStopping(view: View, { name }: MemberView, since: number): Outcome {
  const [soon, stuck] = [since + SOON_MS, since + STUCK_MS];
  if (view.now < soon)
    return hold(HOLDS.membershipAndDisruptions, "RemovedStillStopping", { member: name }, { until: soon });
  return view.now < stuck
    ? hold(HOLDS.nothing, "RemovedStillStopping", { member: name }, { unfinished: true, until: stuck })
    : hold(HOLDS.nothing, "RemovedStuck", { member: name }, { unfinished: true });
}

function removeFromEtcd(
  view: View,
  member: MemberView,
  why: { readonly member: string; readonly cause: string },
): Outcome[] {
  const memberID = member.entry?.id ?? "";
  const remove = act("heal", "MemberLeaving", why, { kind: "RemoveFromEtcd", member: member.name, memberID });
  if (!member.isVoter) return [remove];
  if (!survivesRemoval(view.voters, healthyVotersBut(view, member))) {
    return [hold(HOLDS.membershipAndDisruptions, "RemovalAwaitsVoters", why)];
  }
  // Removing the leader costs an election (R20); handing over first costs next to nothing.
  const nextLeader = member.isLeader ? successor(view, member) : undefined;
  if (nextLeader?.entry) {
    return [
      act(
        "heal",
        "LeaderLeaving",
        { member: member.name },
        { kind: "MoveLeader", member: nextLeader.name, memberID: nextLeader.entry.id },
      ),
    ];
  }
  return [remove];
}
