/**
 * Members that will not come back by themselves are removed; the scale rule then lets a newcomer take their
 * place. Dead: remove first, then add (H6), since etcd admits nobody while a voter is down (R19). A member
 * never returns under its old identity once its data is gone (I4, R7).
 */
import { millisecondsOf } from "../../api/duration.ts";
import {
  approvalCountsAt,
  approvalOf,
  isApproved,
  isApprovalGiven,
  unreachable,
} from "../assess/out-of-reach.ts";
import { expiredPlanes } from "../assess/expired-authority.ts";
import { CAUSES } from "../messages/causes.ts";
import { act, hold, update } from "../steps/outcome.ts";
import type { Outcome, StepClass } from "../action.ts";
import { exitOf, meaningOf } from "../assess/exit-causes.ts";
import type { ExitCause } from "../observation.ts";
import { HOLDS } from "../steps/hold-classes.ts";
import type { Rule } from "../rule.ts";
import { survivesRemoval } from "../quorum.ts";
import { troubleOf } from "../assess/trouble.ts";
import { unmade } from "../assess/unmade.ts";
import { failsByTemplate } from "../assess/template-fault.ts";
import { healthyVotersBut, isOrWasVoter, type MemberView, type View } from "../view.ts";

const HOUR_MS = 3_600_000;
/** Why a member that can never serve again is replaced, in words. */
const LOST_FOR_GOOD: Partial<Record<ExitCause, string>> = {
  "data-missing": CAUSES.dataMissing,
  "data-corrupt": CAUSES.dataCorrupt,
  removed: CAUSES.removedFromEtcd,
  // Another founder that met an existing cluster: it must join it properly (H2).
  "already-bootstrapped": CAUSES.startedForNewCluster,
};

export const replaceBroken: Rule = (view) => {
  if (!view.established) return [];
  // No process that starts is accepted by others then: that it does not serve says nothing of it, and nobody could follow it.
  if (expiredPlanes(view).length > 0) return [];
  const outcomes: Outcome[] = [];
  for (const member of view.staying) {
    const fault = faultOf(view, member);
    if (fault) outcomes.push(replace(view, member, fault));
  }
  return outcomes;
};

interface Fault {
  /** One of CAUSES: what the record of the member will say. */
  readonly cause: string;
  /** The disk or node that holds its volume cannot be reached; a person may know more than we do. */
  readonly storage?: boolean;
  /** It stays, with its data: only a person can end this. */
  readonly kept?: boolean;
  /** Only we do not see it. */
  readonly unseen?: boolean;
  /** Kubernetes ends its Pod, and its node does not hear of it. */
  readonly serving?: boolean;
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
    return { cause: CAUSES.notListed };
  if (record.volumeUID !== undefined) {
    if (volume.state === "absent") return { cause: CAUSES.volumeGone };
    if (volume.state === "ready" && volume.uid !== record.volumeUID) return { cause: CAUSES.volumeReplaced };
  }
  if (workload.state === "exited" && meaningOf(workload.cause).cure === "replacement")
    return { cause: LOST_FOR_GOOD[workload.cause] ?? workload.detail };
  // A copy of a voter may be the good one: rule corrupt finds out, and replaces whoever is the odd one (R33).
  if (exitOf(member)?.cure === "comparison")
    return isOrWasVoter(view, member) ? undefined : { cause: CAUSES.differsFromPeer };
  // It must not vote on without its memory; where a quorum forgot, there is none left to remove it by (I4).
  if (member.forgot !== undefined) return { cause: CAUSES.forgot(member.forgot.evidence) };
  // One without a vote is missed by nobody.
  if (member.deleting && (!isOrWasVoter(view, member) || isDown(view, member)))
    return { cause: CAUSES.deletedByHand };
  if (record.retiring?.requested && !member.outOfReach && isDown(view, member))
    return { cause: CAUSES.replacementRequested };
  // Not permitted to start yet: it cannot have failed.
  if (record.volumeUID === undefined) return undefined;
  // Without a canary nobody takes the edit back for the user.
  if (!view.spec.update.canary && failsByTemplate(view, member)) return { cause: "", kept: true };
  // It serves everybody but us: what we cannot see is no evidence against it (H16).
  if (member.outOfReach) {
    if (!view.hasQuorum) return undefined; // Rule quorum-lost tells.
    return isApproved(view, "replace", member) ? { cause: CAUSES.approved } : { cause: "", unseen: true };
  }
  // That nobody hears of its kubelet is no evidence against a member that answers (H16).
  if (member.stillServes && workload.state === "stopping" && workload.overdue)
    return { cause: "", serving: true };
  const since = unhealthySince ?? view.now;
  if (volume.state === "unreachable") {
    const cause = CAUSES.volumeUnreachable(volume.reason);
    return view.now - since >= lostAfter ? { cause } : { cause, storage: true, until: since + lostAfter };
  }
  if (workload.state === "absent") return { cause: "", unmade: true };
  if (view.now - since >= lostAfter) {
    return { cause: CAUSES.downSince(since) };
  }
  return { cause: "", until: since + lostAfter };
}

/** One answer that it missed does not make it broken: while it serves, its successor joins before it goes (H6). */
function isDown(view: View, { workload, unhealthySince }: MemberView): boolean {
  const patience = millisecondsOf(view.spec.repair.unhealthyAfter);
  return workload.state !== "running" || view.now - (unhealthySince ?? view.now) >= patience;
}

/** On its first way in: neither lost nor ill, though it is not waited for for ever. */
function isStarting({ record, workload }: MemberView): boolean {
  return !record.joined && workload.state !== "exited";
}

/** It may come back: only what needs every voter waits for it. */
function waitsForVoters({ isVoter }: MemberView): readonly StepClass[] {
  return isVoter ? HOLDS.needingAllVoters : HOLDS.disruptions;
}

function replace(view: View, member: MemberView, fault: Fault): Outcome {
  const { name } = member;
  const { cause, until } = fault;
  const classes = waitsForVoters(member);
  if (fault.kept) return hold(classes, "TemplateKept", { member: name, trouble: troubleOf(member) });
  if (fault.unmade) return unmade(member, classes);
  if (fault.serving) {
    const node = member.workload.state === "stopping" ? member.workload.lostNode : undefined;
    return hold(classes, "ServesWhileEnding", { member: name, ...(node !== undefined && { node }) });
  }
  if (fault.unseen) {
    const about = { unreachable: unreachable([member]), approval: approvalOf(view, "replace", member) };
    return isApprovalGiven(view, "replace", member)
      ? hold(classes, "ApprovedReplacementWaits", about, { until: approvalCountsAt(view, "replace", member) })
      : hold(classes, "MemberUnreachable", about);
  }
  if (until !== undefined) {
    if (fault.storage) return hold(classes, "StorageLost", { member: name, cause, at: until }, { until });
    const trouble = troubleOf(member);
    return isStarting(member)
      ? hold(classes, "FirstStart", { member: name, trouble }, { until })
      : hold(classes, "MemberDown", { member: name, trouble, at: until }, { until });
  }
  const broken = { member: name, cause };
  if (!view.hasQuorum) return hold(HOLDS.allButHealing, "ReplacementAwaitsQuorum", broken);
  if (member.isVoter && !survivesRemoval(view.voters, healthyVotersBut(view, member)))
    return hold(HOLDS.allButHealing, "ReplacementAwaitsVoters", broken);
  const at = budgetFreeAt(view);
  if (at !== undefined) {
    const limit = view.spec.repair.maxReplacementsPerHour;
    return hold(HOLDS.allButHealing, "ReplacementLimit", { ...broken, limit, at }, { until: at });
  }
  const leaving = { reason: cause, volume: view.spec.storage.retention.onScaleIn, broken: true };
  return act("heal", "MemberReplaced", broken, update(member, "leave", { leaving }));
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
