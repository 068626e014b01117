/**
 * CORRUPT (R30–R33). The alarm names no member on 3.5 and older, so the hashes of all voters decide on
 * every version: when a majority agrees at one revision, those that differ are replaced; then the alarm is
 * disarmed. Without a majority nobody can know who is right, and that is said.
 *
 * A member that etcd's check at the start ended is only a suspect: any peer that differs ends it, also when
 * the peer is the corrupt one (R33). It is replaced when the others agree without it, and have done so since it
 * ended; when they do not, or cannot be asked because quorum waits for it, it is started without that check, so that its
 * hash can decide. Learners are asked by that check as well, and cannot be compared by us: they are made anew first.
 */
import { millisecondsOf } from "../../api/duration.ts";
import { exitOf } from "../assess/exit-causes.ts";
import { hiddenQuorum } from "../assess/out-of-reach.ts";
import { CAUSES } from "../messages/causes.ts";
import { act, hold, update } from "../steps/outcome.ts";
import type { Outcome } from "../action.ts";
import { HOLDS } from "../steps/hold-classes.ts";
import type { Rule } from "../rule.ts";
import type { HashReport } from "../observation.ts";
import { quorum, survivesRemoval } from "../quorum.ts";
import {
  healthyVotersBut,
  isOrWasVoter,
  isStartedUnchecked,
  namesOf,
  type MemberView,
  type View,
} from "../view.ts";

/** A comparison made longer ago than this says nothing about an alarm that is armed now. */
const FRESH_MS = 60_000;
/** Comparing reads all data: not again at once. */
const AGAIN_MS = 5_000;

export const corrupt: Rule = (view) => {
  const { alarms, hashes } = view.observation.etcd;
  const armed = alarms.find((alarm) => alarm.alarm === "CORRUPT");
  const suspect = view.staying.find((member) => isSuspect(view, member));
  const verdict = hashes ? judge(view, hashes) : undefined;
  if (!view.hasQuorum) return suspect ? [awaitQuorum(view, suspect)] : [];
  if (!armed && !suspect && !(verdict && verdict.odd.length > 0)) {
    const unseen = view.staying.find(
      (member) => member.isVoter && isStartedUnchecked(view, member) && !wasCompared(view, member, hashes),
    );
    if (!unseen?.healthy) return [];
    return [act("maintain", "ComparedUnchecked", { member: unseen.name }, { kind: "CompareHashes" })];
  }

  if (hashes && suspect && isTooEarly(hashes, suspect) && view.now - hashes.at < AGAIN_MS) {
    const until = hashes.at + AGAIN_MS;
    return [hold(HOLDS.allButHealing, "ComparedOnceMore", { member: suspect.name }, { until })];
  }
  if (!hashes || !verdict || view.now - hashes.at > FRESH_MS || isOlder(hashes, suspect)) {
    return [act("heal", "ComparedForCorruption", {}, { kind: "CompareHashes" })];
  }
  if (!verdict.majority) {
    const hidden = verdict.missing.find((member) => member.healthy);
    if (hidden && view.now - hashes.at > AGAIN_MS) {
      return [act("heal", "ComparedAgain", { member: hidden.name }, { kind: "CompareHashes" })];
    }
    if (suspect) return [startUnchecked(suspect, "others-differ")];
    return [hold(HOLDS.allButHealing, "NoMajority", {}, { until: hashes.at + FRESH_MS })];
  }
  // A learner refuses to be hashed (H8); from 3.6 on the alarm names it, and it is simply made anew.
  const learner = view.staying.find(
    (member) => member.entry?.isLearner && member.entry.id === armed?.memberID,
  );
  if (learner) {
    const leaving = { reason: CAUSES.corruptLearner, volume: "Retain" as const, broken: true };
    return [
      act("heal", "CorruptLearnerReplaced", { member: learner.name }, update(learner, "leave", { leaving })),
    ];
  }
  const [odd] = verdict.odd;
  if (odd) {
    if (!survivesRemoval(view.voters, healthyVotersBut(view, odd))) {
      return [hold(HOLDS.allButHealing, "CorruptAwaitsVoters", { member: odd.name })];
    }
    const leaving = {
      reason: CAUSES.differsAtRevision(hashes.revision),
      volume: "Retain" as const,
      broken: true,
    };
    return [act("heal", "CorruptMemberReplaced", { member: odd.name }, update(odd, "leave", { leaving }))];
  }
  if (suspect)
    return [metAnother(view, suspect) ?? replaceUncompared(view, suspect) ?? replaceSuspect(view, suspect)];
  if (verdict.missing.length > 0) {
    const members = namesOf(verdict.missing);
    return [hold(HOLDS.disruptions, "NotComparedYet", { members }, { until: hashes.at + FRESH_MS })];
  }
  if (!armed) return [];
  const nameless = armed.memberID === "0" && !isExplained(view) ? replaceUncompared(view) : undefined;
  return [
    nameless ??
      act("heal", "CorruptDisarmed", {}, { kind: "Disarm", alarm: "CORRUPT", memberID: armed.memberID }),
  ];
};

/**
 * The voters agree, and yet etcd found data that differs. Its checks ask learners too, whose data we cannot compare (H8):
 * one of them is made anew, which costs no vote, before a voter is accused or the alarm is taken for cured.
 */
function replaceUncompared(view: View, suspect?: MemberView): Outcome | undefined {
  const learner = view.staying.find(({ entry }) => entry?.isLearner && entry.name !== "");
  if (!learner) return undefined;
  const leaving = { reason: CAUSES.maybeCorruptLearner, volume: "Retain" as const, broken: true };
  return act(
    "heal",
    "UncomparedLearnerReplaced",
    { member: learner.name, ...(suspect && { suspect: suspect.name }) },
    update(learner, "leave", { leaving }),
  );
}

/** Whoever was replaced within the last hour may be why the alarm was raised. */
function isExplained({ observation }: View): boolean {
  return Object.keys(observation.cluster.marks.replaced ?? {}).length > 0;
}

/** A voter that etcd's check at the start has ended. */
function isSuspect(view: View, member: MemberView): boolean {
  return isOrWasVoter(view, member) && exitOf(member)?.cure === "comparison";
}

/** A comparison from before it ended says nothing about it, nor about the peer that may have changed since. */
function isOlder(hashes: HashReport, suspect: MemberView | undefined): boolean {
  return (
    suspect !== undefined && (hashes.byMember[suspect.name] !== undefined || isTooEarly(hashes, suspect))
  );
}

/** By the clock of its node, which may be ahead of ours: then it is no reason to read all data all the time. */
function isTooEarly(hashes: HashReport, { workload }: MemberView): boolean {
  return workload.state === "exited" && hashes.at < workload.since;
}

/**
 * Those that answer are no quorum. The one that runs may be the corrupt one, which keeps all the good copies from
 * starting; but first whoever else may be on the way is waited for.
 */
function awaitQuorum(view: View, suspect: MemberView): Outcome {
  const patience = millisecondsOf(view.spec.repair.unhealthyAfter);
  const isOnItsWay = ({ answer, unhealthySince }: MemberView) =>
    !answer.reachable && view.now - (unhealthySince ?? view.now) < patience;
  // They serve everybody but us, without the suspect: nothing waits for it (H16).
  const hidden = hiddenQuorum(view);
  const mayCome = view.staying.filter(
    (member) =>
      isOrWasVoter(view, member) &&
      !isSuspect(view, member) &&
      (hidden.includes(member) || isOnItsWay(member)),
  );
  if (mayCome.length === 0) return startUnchecked(suspect, "quorum-waits");
  return hold(HOLDS.nothing, "SuspectAwaitsOthers", { member: suspect.name, others: namesOf(mayCome) });
}

/** Since its start; or just now, should the clock of its node be ahead of ours. */
function wasCompared({ now }: View, { workload }: MemberView, hashes: HashReport | undefined): boolean {
  if (!hashes || workload.state !== "running") return false;
  return workload.since <= hashes.at || now - hashes.at < AGAIN_MS;
}

/** Its copy may be the good one: without etcd's check it starts, and can be compared with the others. */
function startUnchecked(suspect: MemberView, why: "others-differ" | "quorum-waits"): Outcome {
  const { template } = suspect.record;
  if (!template.options.corruptCheck.initial) {
    return hold(HOLDS.allButHealing, "SuspectUndecided", { member: suspect.name, why });
  }
  const corruptCheck = { ...template.options.corruptCheck, initial: false };
  return act(
    "heal",
    "StartedUnchecked",
    { member: suspect.name, why },
    update(suspect, "revert", { template: { ...template, options: { ...template.options, corruptCheck } } }),
  );
}

/**
 * While it ran, a corrupt peer was there that has been taken out since: that one may be why it was ended. It has its
 * chance among those that are left, at once and not when its backoff is over.
 */
function metAnother(view: View, suspect: MemberView): Outcome | undefined {
  const { workload, name: member } = suspect;
  const leaving = view.members.filter((other) => other !== suspect && other.record.leaving?.broken);
  if (leaving.length > 0)
    return hold(HOLDS.allButHealing, "SuspectAwaitsRemoval", { member, others: namesOf(leaving) });
  const { replaced = {} } = view.observation.cluster.marks;
  // A time that is still to come was written by a clock that was ahead: by it, it would start again for ever.
  const isEarlier = (at: number) => workload.state === "exited" && workload.since < at && at <= view.now;
  const other = Object.keys(replaced).find((one) => isEarlier(replaced[one] ?? 0));
  if (other === undefined) return undefined;
  return act("heal", "SuspectStartedAgain", { member, other }, { kind: "StopWorkload", member });
}

function replaceSuspect(view: View, suspect: MemberView): Outcome {
  if (!survivesRemoval(view.voters, healthyVotersBut(view, suspect))) {
    return hold(HOLDS.allButHealing, "CorruptAwaitsVoters", { member: suspect.name });
  }
  const leaving = {
    reason: CAUSES.differsFromVoters,
    volume: "Retain" as const,
    broken: true,
  };
  return act(
    "heal",
    "CorruptMemberReplaced",
    { member: suspect.name },
    update(suspect, "leave", { leaving }),
  );
}

interface Verdict {
  readonly majority: boolean;
  readonly odd: readonly MemberView[];
  readonly missing: readonly MemberView[];
}

/** Compares voters only: a learner refuses to be hashed (H8). Compact revisions must be equal too (H14). */
function judge(view: View, report: HashReport): Verdict {
  const voters = view.staying.filter((member) => member.isVoter);
  const groups = new Map<string, MemberView[]>();
  const missing: MemberView[] = [];
  for (const voter of voters) {
    const answer = report.byMember[voter.name];
    if (!answer) {
      missing.push(voter);
      continue;
    }
    const key = `${answer.hash}@${answer.compactRevision}`;
    groups.set(key, [...(groups.get(key) ?? []), voter]);
  }
  const largest = [...groups.values()].toSorted((a, b) => b.length - a.length)[0] ?? [];
  const majority = largest.length >= quorum(view.voters);
  const compactRevision = report.byMember[largest[0]?.name ?? ""]?.compactRevision;
  const comparable = (member: MemberView) =>
    report.byMember[member.name]?.compactRevision === compactRevision;
  const others = voters.filter((voter) => !largest.includes(voter) && !missing.includes(voter));
  return {
    majority,
    odd: others.filter(comparable),
    missing: [...missing, ...others.filter((member) => !comparable(member))],
  };
}
