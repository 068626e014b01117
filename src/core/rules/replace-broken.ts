/**
 * Members that will not come back by themselves are removed; the scale rule then lets a newcomer take their
 * place. Dead: remove first, then add (H6), since etcd admits nobody while a voter is down (R19). A member
 * never returns under its old identity once its data is gone (I4, R7).
 */
import { millisecondsOf } from "../../api/duration.ts";
import {
  approvalCountsAt,
  howToApprove,
  isApproved,
  isWordGiven,
  whereToLook,
  whyUnreachable,
} from "../assess/out-of-reach.ts";
import { act, hold, update } from "../outcome.ts";
import type { Outcome, StepClass } from "../action.ts";
import type { Rule } from "../rule.ts";
import { survivesRemoval } from "../quorum.ts";
import { trouble } from "../assess/trouble.ts";
import { unmade } from "../assess/unmade.ts";
import { failsByTemplate, TAKE_BACK } from "./retemplate.ts";
import { healthyVotersBut, isOrWasVoter, type MemberView, type View } from "../view.ts";

const HOUR_MS = 3_600_000;
/** Exits after which the same data directory can never serve again. */
const FATAL = {
  "data-missing": "its data is gone",
  "data-corrupt": "its data is corrupt",
  removed: "etcd has removed it",
} as const;

export const replaceBroken: Rule = (view) => {
  if (!view.established) return [];
  const outcomes: Outcome[] = [];
  for (const member of view.staying) {
    const fault = faultOf(view, member);
    if (fault) outcomes.push(replace(view, member, fault));
  }
  return outcomes;
};

interface Fault {
  readonly reason: string;
  /** The disk or node that holds its volume cannot be reached; a person may know more than we do. */
  readonly storage?: boolean;
  /** It stays, with its data: only a person can end this. */
  readonly kept?: boolean;
  /** Only we do not see it. */
  readonly unseen?: boolean;
  /** It has no workload, and that is ours to make: no time that passes makes it lost (H16). */
  readonly unmade?: boolean;
  /** Certain faults are acted on at once, by the number of replacements left; others waited their time already. */
  readonly until?: number;
}

function faultOf(view: View, member: MemberView): Fault | undefined {
  const { record, volume, workload, unhealthySince } = member;
  const lostAfter = millisecondsOf(view.spec.repair.memberLostAfter);
  if (member.healthy) return undefined;
  const { list } = view.observation.etcd;
  // A second add would get another ID than the one it was permitted to start with, and be taken for a ghost.
  if ((record.joined || record.memberID !== undefined) && list?.linearizable && !member.entry)
    return { reason: "etcd does not list it any more" };
  if (record.volumeUID !== undefined) {
    if (volume.state === "absent") return { reason: "its volume is gone" };
    if (volume.state === "ready" && volume.uid !== record.volumeUID)
      return { reason: "its volume was replaced by another one" };
  }
  if (workload.state === "exited" && workload.cause in FATAL)
    return { reason: FATAL[workload.cause as keyof typeof FATAL] };
  // A copy of a voter may be the good one: rule corrupt finds out, and replaces whoever is the odd one (R33).
  if (workload.state === "exited" && workload.cause === "data-differs")
    return isOrWasVoter(view, member) ? undefined : { reason: "its data differs from a peer's" };
  // Another founder that met an existing cluster: it must join it properly (H2).
  if (workload.state === "exited" && workload.cause === "already-bootstrapped") {
    return { reason: "it was started for a new cluster, but the cluster exists" };
  }
  // It must not vote on without its memory; where a quorum forgot, there is none left to remove it by (I4).
  if (member.forgot !== undefined) return { reason: `it came back without its data (${member.forgot})` };
  if (member.deleting) return { reason: "its record was deleted by hand" };
  // Not permitted to start yet: it cannot have failed.
  if (record.volumeUID === undefined) return undefined;
  // Without a canary nobody takes the edit back for the user.
  if (!view.spec.update.canary && failsByTemplate(view, member))
    return { reason: "its new template fails it", kept: true };
  // It serves everybody but us: what we cannot see is no evidence against it (H16).
  if (member.outOfReach) {
    if (!view.hasQuorum) return undefined; // Rule quorum-lost tells.
    return isApproved(view, "replace", member)
      ? { reason: "its replacement was approved" }
      : { reason: "the operator cannot reach it", unseen: true };
  }
  const since = unhealthySince ?? view.now;
  if (volume.state === "unreachable") {
    const reason = `its volume cannot be reached: ${volume.reason}`;
    return view.now - since >= lostAfter ? { reason } : { reason, storage: true, until: since + lostAfter };
  }
  if (workload.state === "absent") return { reason: trouble(member), unmade: true };
  if (view.now - since >= lostAfter) {
    return { reason: `it has been down for ${Math.round((view.now - since) / 1000)} s` };
  }
  return { reason: "it is down", until: since + lostAfter };
}

/** On its first way in: neither lost nor ill, though it is not waited for for ever. */
function isStarting({ record, workload }: MemberView): boolean {
  return !record.joined && workload.state !== "exited";
}

/** It may come back: only what needs every voter waits for it. */
function waitsForVoters({ isVoter }: MemberView): readonly StepClass[] {
  return isVoter ? ["join", "promote", "roll", "maintain"] : ["roll", "maintain"];
}

function replace(view: View, member: MemberView, fault: Fault): Outcome {
  const wait = (
    reason: "MemberUnhealthy" | "ReplacementBudget" | "RemovalUnsafe",
    message: string,
    until?: number,
    next?: string,
  ) => hold({ classes: ["join", "promote", "shrink", "roll", "maintain"], reason, message, until, next });

  const classes = waitsForVoters(member);
  if (fault.kept) {
    return hold({
      classes,
      reason: "TargetFailed",
      message: `${member.name} keeps its data: ${fault.reason} (${trouble(member)})`,
      next: TAKE_BACK,
    });
  }
  if (fault.unmade) return unmade(member, classes);
  if (fault.unseen) {
    const isGiven = isWordGiven(view, "replace", member);
    const { memberLostAfter } = view.spec.repair;
    return hold({
      classes,
      reason: "MemberUnreachable",
      message: `${whyUnreachable([member])}; it is kept`,
      ...(isGiven && { until: approvalCountsAt(view, "replace", member) }),
      next: isGiven
        ? `${whereToLook([member])}. Its replacement is approved, and begins once it has been out of reach for ${memberLostAfter}.`
        : `${whereToLook([member])}. To replace it nevertheless, ${howToApprove(view, "replace", member)}.`,
    });
  }
  if (fault.until !== undefined && !fault.storage && isStarting(member)) {
    return hold({
      classes,
      reason: "MemberStarting",
      message: `${member.name} is starting for the first time (${trouble(member)})`,
      until: fault.until,
    });
  }
  if (fault.until !== undefined) {
    return hold({
      classes,
      reason: fault.storage ? "StorageLost" : "MemberUnhealthy",
      message: `${member.name} is not healthy (${fault.storage ? fault.reason : trouble(member)}); it is replaced if it stays so`,
      until: fault.until,
      ...(fault.storage && {
        next: "Bring its node or disk back, or wait: it is replaced without its data.",
      }),
    });
  }
  if (!view.hasQuorum)
    return wait("RemovalUnsafe", `${member.name}: ${fault.reason}; it cannot be replaced without quorum`);
  if (member.isVoter && !survivesRemoval(view.voters, healthyVotersBut(view, member))) {
    return wait("RemovalUnsafe", `${member.name}: ${fault.reason}; removing it now would cost the quorum`);
  }
  const budget = budgetFreeAt(view);
  if (budget !== undefined) {
    const { maxReplacementsPerHour: limit } = view.spec.repair;
    const why =
      limit === 0 ? "replacing is turned off" : `${limit} members were replaced within the hour already`;
    return wait(
      "ReplacementBudget",
      `${member.name}: ${fault.reason}; ${why}`,
      budget,
      "Find out what breaks the members; raise spec.repair.maxReplacementsPerHour to go on at once.",
    );
  }
  const leaving = { reason: fault.reason, volume: view.spec.storage.retention.onScaleIn, broken: true };
  return act("heal", `${member.name} is replaced: ${fault.reason}`, update(member, "leave", { leaving }));
}

/** Undefined while another replacement is allowed, else when the next one will be. */
function budgetFreeAt(view: View): number | undefined {
  const limit = view.spec.repair.maxReplacementsPerHour;
  const { replaced = {} } = view.observation.cluster.marks;
  const done = Object.values(replaced);
  const underWay = view.members
    .filter(({ name, record }) => record.leaving?.broken && replaced[name] === undefined)
    .map(() => view.now);
  // An hour ahead is a clock that was wrong when it was written, or is now: nothing may wait for that time to come.
  const recent = [...done, ...underWay]
    .filter((at) => Math.abs(view.now - at) < HOUR_MS)
    .toSorted((a, b) => a - b);
  if (recent.length < limit) return undefined;
  return (recent[recent.length - limit] ?? view.now) + HOUR_MS;
}
