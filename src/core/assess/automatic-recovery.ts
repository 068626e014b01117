/**
 * Whether a recovery plan may be carried out without a person (`recovery.quorumLoss: Automatic`). A person can find out
 * more than we can: whether a disk is only not mounted, whether somebody else has the data. So it takes proof that the
 * data of the lost members is gone, time for it to come back, a loss within its bound, and no other recovery before.
 */
import { millisecondsOf } from "../../api/duration.ts";
import type { ManualBecause } from "../messages/automatic.ts";
import type { OperationFacts } from "../observation.ts";
import { isFinished } from "../operations/status.ts";
import { minorOf } from "../version/version.ts";
import { byOurClock, namesOf, type MemberView, type View } from "../view.ts";
import { exitOf, meaningOf } from "./exit-causes.ts";
import { ENDS_WITHIN_MS } from "./lost-data.ts";
import { preferredInstead, type Alternative } from "./recovery-alternative.ts";
import { recoveryPlan, type RecoveryPlan } from "./recovery-plan.ts";
import { wrongVersion } from "./recovery-version.ts";
import { fetchedAt } from "./restore-progress.ts";

/** One that follows so soon on another has a cause that a person has to find. */
const APART_MS = 60 * 60_000;

/** What failed so often for one plan would only leave more failed operations behind. */
const MOST_TRIES = 3;

export function isAutomatic({ spec }: View): boolean {
  return spec.recovery?.quorumLoss === "Automatic";
}

/** What is restored instead has so long to be fetched, while nobody serves and the survivor could. */
export const FETCHED_WITHIN_MS = 30 * 60_000;

/** Whether what the operator itself chose instead of the survivor takes too long, and the survivor may be taken. */
export function isLateInstead(view: View, { name, task, status }: OperationFacts): boolean {
  if (task.kind !== "restore" || task.recovery === undefined || !isAutomatic(view)) return false;
  if (!name.startsWith(automaticName(view.observation.cluster.name, { hash: task.recovery }))) return false;
  if (!(view.now - byOurClock(view, Date.parse(status.startedAt ?? "")) > FETCHED_WITHIN_MS)) return false;
  const plan = recoveryPlan(view);
  return plan?.hash === task.recovery && !doubtsOf(plan) && !notSurvivor(view, plan);
}

/** What is approved without a person: the survivor, or what is restored instead; or why nothing is. */
export type AutomaticChoice =
  | { readonly approve: "survivor" }
  | { readonly approve: Alternative }
  | { readonly manual: ManualBecause };

export function automaticChoice(view: View, plan: RecoveryPlan): AutomaticChoice {
  const because = doubtsOf(plan);
  if (because) return { manual: because };
  // Whatever was tried first and failed, the survivor is what is left.
  const instead = automaticTries(view, plan).length === 0 ? preferredInstead(view, plan) : undefined;
  const approve = instead && !notInstead(view, instead) ? instead : ("survivor" as const);
  const against = approve === "survivor" ? notSurvivor(view, plan) : undefined;
  const manual = against ?? notYet(view, plan);
  return manual ? { manual } : { approve };
}

/** Whichever is taken, it has to be proven that the others are lost. */
function doubtsOf(plan: RecoveryPlan): ManualBecause | undefined {
  if (plan.nodesOff.length > 0) return { kind: "nodes", nodes: plan.nodesOff };
  const doubtful = lostIn(plan).filter((member) => !isProvenGone(member));
  if (doubtful.length > 0) return { kind: "doubt", members: namesOf(doubtful) };
  if (plan.votersWithoutRecord === undefined) return { kind: "unlisted" };
  return plan.votersWithoutRecord.length > 0
    ? { kind: "unrecorded-voters", members: plan.votersWithoutRecord }
    : undefined;
}

const lostIn = (plan: RecoveryPlan) => plan.members.filter(({ data }) => !data).map(({ member }) => member);

function notSurvivor(view: View, plan: RecoveryPlan): ManualBecause | undefined {
  const hindrance = view.observation.platform.recoveryRefused ?? wrongVersion(view, plan);
  if (hindrance !== undefined) return { kind: "hindered", why: hindrance };
  return tooMuch(view, plan.lost?.most);
}

/** A snapshot that nobody has restored yet is not what a cluster is replaced by without a person; a point is built first. */
function notInstead(view: View, { is, lost, verifiedAt, etcdVersion }: Alternative): boolean {
  if (view.observation.platform.recoveryRefused !== undefined || tooMuch(view, lost)) return true;
  if (is === "PointInTime") return false;
  return verifiedAt === undefined || minorOf(etcdVersion ?? "") !== minorOf(view.spec.version);
}

function tooMuch({ spec }: View, lost: number | undefined): ManualBecause | undefined {
  const most = spec.recovery?.maxLostRevisions ?? 0;
  if (lost === undefined) return { kind: "unknown-loss" };
  return lost > most ? { kind: "loss", lost, most } : undefined;
}

function notYet(view: View, plan: RecoveryPlan): ManualBecause | undefined {
  const times = automaticTries(view, plan).length;
  if (times >= MOST_TRIES) return { kind: "tried", times };
  const last = lastRecovery(view, plan);
  if (last !== undefined && view.now - last < APART_MS) return { kind: "recent", until: last + APART_MS };
  const until = Math.max(...lostIn(plan).map((member) => givenUpAt(view, member)));
  return view.now < until ? { kind: "early", until } : undefined;
}

/**
 * Its own volume was looked into, by us or by etcd, and is empty. That an object of Kubernetes is gone proves nothing: on
 * a node whose Node was deleted etcd may serve on, and of a deleted claim the PersistentVolume may be retained.
 */
export function isProvenGone(member: MemberView): boolean {
  const { record, volume, directory, workload, answer, forgot } = member;
  if (forgot !== undefined || answer.reachable) return false;
  if (volume.state !== "ready" || volume.uid !== record.volumeUID) return false;
  if (workload.state === "running" || workload.state === "stopping") return false;
  if (directory?.state === "empty") return true;
  // What was read since counts for more than how its process ended.
  const isRead = directory !== undefined && directory.state !== "reading";
  return !isRead && exitOf(member)?.data === "gone";
}

/** A kubelet has started it once more, and it has not ended yet: nothing new is known of its data. */
export function isTriedAgain({ now }: Pick<View, "now">, { workload, answer }: MemberView): boolean {
  if (workload.state !== "running" || answer.reachable || !workload.lastEnd) return false;
  return now - workload.since < ENDS_WITHIN_MS && meaningOf(workload.lastEnd.cause).data === "gone";
}

/** Until then what looks empty may be mounted again. It counts from the proof, however long the member was down before. */
function givenUpAt({ now, spec }: View, { goneSince = now }: MemberView): number {
  return goneSince + millisecondsOf(spec.repair.memberLostAfter);
}

/** The numbers of those that were made for this plan, of whatever outcome. */
export function automaticTries({ observation }: View, plan: RecoveryPlan): number[] {
  const prefix = automaticName(observation.cluster.name, plan);
  return observation.operations.flatMap(({ name }) => {
    const number = name.startsWith(prefix) ? name.slice(prefix.length) : "";
    return /^[1-9][0-9]{0,8}$/.test(number) ? [Number(number)] : [];
  });
}

/** What the name of its operations begins with; a number follows. */
export function automaticName(cluster: string, { hash }: Pick<RecoveryPlan, "hash">): string {
  return `${cluster}-auto-${hash}-`;
}

/** Of whatever outcome: also one that failed is not tried again and again. */
function lastRecovery(view: View, plan: RecoveryPlan): number | undefined {
  const { observation } = view;
  const times = observation.operations.flatMap((operation) => {
    const { task, status } = operation;
    if (isWithoutEffect(operation, plan)) return [];
    const at = Date.parse(status.completedAt ?? status.startedAt ?? "");
    const recovers =
      task.kind === "recoverQuorum" || (task.kind === "restore" && task.recovery !== undefined);
    return recovers && !Number.isNaN(at) ? [byOurClock(view, at)] : [];
  });
  const { at } = observation.cluster.marks.recovered ?? {};
  const known = [...times, ...(at === undefined ? [] : [at])];
  return known.length === 0 ? undefined : Math.max(...known);
}

/** What was to be restored instead of this plan ended before any member was stopped: the survivor has its turn at once. */
function isWithoutEffect(operation: OperationFacts, { hash }: RecoveryPlan): boolean {
  const { task } = operation;
  if (task.kind !== "restore" || task.recovery !== hash) return false;
  return isFinished(operation) && fetchedAt(operation) === undefined;
}
