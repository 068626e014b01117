/**
 * Ready, Reconciling and Stalled, as kstatus and all that builds on it (kubectl wait, Flux, Argo CD, Helm) read them:
 * Ready says that the spec is applied and the cluster serves; of the other two, which are abnormal when true, at most
 * one is True: work that needs no help, or work that needs a person or has not moved for too long.
 */
import type { Condition } from "../../api/metadata.ts";
import type { Act, Decision, Hold, HoldReason } from "../action.ts";
import type { StatusReason } from "../messages/condition-reasons.ts";
import { conditionVerdict as said, sayWork, WORK_CONTINUES } from "../messages/condition-verdicts.ts";
import { WORK } from "../messages/reasons.ts";
import { sentences } from "../messages/words.ts";
import type { View } from "../view.ts";
import { isFalse, isTrue, no, timestamp, unknown, yes, type Verdict } from "./condition.ts";

/** What keeps the cluster from being as its spec says. */
export interface Work {
  readonly reason: StatusReason;
  readonly message: string;
  /** It does not end by itself. */
  readonly needsPerson: boolean;
}

/**
 * A person may have to help with these, but a moment of bad network, or of a full node, looks the same: they stall by the
 * deadline.
 */
const MAY_PASS: ReadonlySet<string> = new Set([
  "EtcdUnreachable",
  "MemberUnreachable",
  "PodBackOff",
] satisfies HoldReason[]);
/** Nothing is to be done, because the spec says so. */
const AT_REST: ReadonlySet<string> = new Set(["Paused", "Hibernated"] satisfies HoldReason[]);

/** Undefined when nothing is left to do. Maintenance of a cluster that is as its spec says is no work on the spec. */
export function workOf(decision: Decision, problems: readonly string[], failure?: string): Work | undefined {
  const { act, holds } = decision;
  if (act && (!isUpkeep(act) || failure !== undefined)) {
    return { reason: WORK[act.class].reason, message: sayWork(act.message, failure), needsPerson: false };
  }
  const wait = mainHold(holds) ?? holds.find(({ reason }) => reason === "ForeignMember");
  if (wait) {
    const needsPerson = wait.needsPerson && !MAY_PASS.has(wait.reason) && !AT_REST.has(wait.reason);
    return { reason: wait.reason, message: sayHold(wait), needsPerson };
  }
  if (problems.length === 0) return undefined;
  return { reason: "PlatformProblem", message: problems.join("; "), needsPerson: false };
}

/** The record of an operation is no part of the spec either. */
function isUpkeep({ class: kind, action }: Act): boolean {
  return kind === "maintain" || action.kind === "UpdateOperation" || action.kind === "DeleteOperation";
}

/** `since` is when the present work began or last moved. */
export function progressOf(
  view: View,
  work: Work | undefined,
  since: number,
  Quorate: Verdict,
): { readonly Reconciling: Verdict; readonly Stalled: Verdict } {
  if (!work) return both(said("Converged", {}));
  const { reason, message, needsPerson } = work;
  if (AT_REST.has(reason) && !isStoppedInNeed(view, Quorate)) return both(work);
  if (needsPerson || AT_REST.has(reason))
    return { Reconciling: no(reason, message), Stalled: yes(reason, message) };
  const seconds = Math.floor((view.now - since) / 1000);
  if (seconds < view.spec.progressDeadlineSeconds)
    return { Reconciling: yes(reason, message), Stalled: no(reason, WORK_CONTINUES) };
  const late = said("StillTrying", { since: timestamp(since), message });
  return { Reconciling: isFalse(late), Stalled: isTrue(late) };
}

/** A pause that keeps lost quorum from coming back is no rest: a person has to end it. */
function isStoppedInNeed({ spec, established, observation }: View, Quorate: Verdict): boolean {
  const isMeantToServe = established && spec.replicas > 0 && !observation.cluster.deleting;
  return spec.paused && isMeantToServe && Quorate.status === "False";
}

const DEADLINE = "ProgressDeadlineExceeded" satisfies StatusReason;

function both(given: Omit<Verdict, "status">): { Reconciling: Verdict; Stalled: Verdict } {
  return { Reconciling: isFalse(given), Stalled: isFalse(given) };
}

/**
 * When the work that goes on now began or last moved. A step that succeeded long ago, before the cluster was at
 * rest, says nothing about work that begins now; neither does a wait for an older spec.
 */
export function workingSince(
  view: View,
  before: { readonly reconciling: Condition | undefined; readonly stalled: Condition | undefined },
): number {
  const { cluster, platform } = view.observation;
  const { reconciling, stalled } = before;
  const moved = platform.progressAt;
  if (!reconciling || !stalled) return moved ?? view.now;
  if (reconciling.observedGeneration !== cluster.generation) return view.now;
  const changed = Date.parse(reconciling.lastTransitionTime);
  // Written by a clock that was ahead: it says nothing about when that was.
  if (changed > view.now) return moved ?? view.now;
  if (reconciling.status === "True") return Math.max(moved ?? 0, changed);
  // Exceeded before: it stays so until something moves.
  if (stalled.status === "True" && stalled.reason === DEADLINE) {
    return moved !== undefined && moved > changed
      ? moved
      : changed - view.spec.progressDeadlineSeconds * 1000;
  }
  return view.now;
}

/** What Ready is judged by. */
export interface Judged {
  readonly Reconciling: Verdict;
  readonly Stalled: Verdict;
  readonly Available: Verdict;
  readonly Degraded: Verdict;
  readonly Quorate: Verdict;
}

/** The spec is applied, a quorum serves, and nothing is left to do. Nothing is Ready that cannot be seen. */
export function readyOf(view: View, judged: Judged, work: Work | undefined, healthy: string): Verdict {
  const { Reconciling, Stalled, Available, Degraded, Quorate } = judged;
  const because = (verdict: Verdict): Verdict => no(verdict.reason, verdict.message);
  if (view.observation.cluster.deleting)
    return work ? no("Deleting", work.message) : isFalse(said("IsDeleted", {}));
  if (Quorate.status === "Unknown") return unknown(Quorate.reason, Quorate.message);
  if (view.spec.replicas === 0) return no("Hibernated", work?.message ?? Quorate.message);
  if (view.established && Quorate.status === "False") return because(Quorate);
  if (work?.reason === "Paused") return no("Paused", sentences(work.message, healthy));
  if (work && MAY_PASS.has(work.reason)) return unknown(work.reason, work.message);
  if (Stalled.status === "True") return because(Stalled);
  if (Reconciling.status === "True") return because(Reconciling);
  if (Degraded.status === "True") return because(Degraded);
  if (Degraded.status === "Unknown") return unknown(Degraded.reason, Degraded.message);
  if (Available.status !== "True") return because(Available);
  return isTrue(said("ConvergedAnd", { healthy }));
}

/** The wait that explains most: one for a person, else one that keeps everything back, else the first. */
export function mainHold(holds: readonly Hold[]): Hold | undefined {
  const blocking = holds.filter((hold) => hold.classes.length > 0 || hold.unfinished);
  const forAPerson = blocking.find((hold) => hold.needsPerson);
  return forAPerson ?? blocking.find((hold) => hold.classes === "all") ?? blocking[0];
}

export function sayHold({ message, next }: Pick<Hold, "message" | "next">): string {
  return next === undefined ? message : sentences(message, next);
}
