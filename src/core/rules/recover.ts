/**
 * An approved recovery from quorum loss. All members are stopped first; then a snapshot is made of everything that the
 * survivor's log holds, while its directory is only read; and only with that snapshot at hand a new life of the cluster
 * begins from it, under another token, so that no former member that returns is a sibling (R22, R54). Until then every
 * step can be taken back: whatever differs from what was approved ends it, and the members are started again.
 */
import type { Outcome } from "../action.ts";
import { isAutomatic } from "../assess/automatic-recovery.ts";
import { isEndedOff, isOnNodeOff, nodesToBeOff } from "../assess/nodes-off.ts";
import { recoveryPlan, settledFor, type RecoveryPlan } from "../assess/recovery-plan.ts";
import { wrongVersion } from "../assess/recovery-version.ts";
import { hasLostItsData } from "../assess/lost-data.ts";
import { HOLDS } from "../steps/hold-classes.ts";
import { ending, type Ending } from "../messages/operation-endings.ts";
import { TASKS } from "../messages/operation-steps.ts";
import type { OperationFacts, RescueFacts } from "../observation.ts";
import { ended, started } from "../operations/endings.ts";
import { isFinished } from "../operations/status.ts";
import type { TaskOf } from "../operations/task.ts";
import { contradicted, notAsked, unlikeNodes } from "../operations/vouched-nodes.ts";
import { act, hold, update } from "../steps/outcome.ts";
import type { Rule } from "../rule.ts";
import { byOurClock, names, namesOf, type MemberView, type View } from "../view.ts";

/** A copy that cannot be made, or that etcd does not start from, so often in a row. */
const MOST_FAILURES = 3;

/** Nothing wakes us when what is in the way of the first new member is gone. */
const ASK_AGAIN_MS = 10_000;

interface Recovery extends OperationFacts {
  readonly task: TaskOf<"recoverQuorum">;
}

export const recover: Rule = (view) => {
  const { operations, cluster } = view.observation;
  if (!view.established || view.hasQuorum || view.spec.replicas === 0) return [];
  const open = operations.filter((operation) => !isFinished(operation) && !operation.deleting);
  // From the new life on, the rules that found and grow a cluster do the rest; if quorum is lost again meanwhile, another
  // recovery takes over.
  const recoveries = open.filter(
    (operation): operation is Recovery =>
      operation.task.kind === "recoverQuorum" && operation.uid !== cluster.marks.recovered?.operation,
  );
  const recovery = recoveries.find(({ status }) => status.phase === "Running") ?? recoveries[0];
  if (!recovery) return [];
  const isRunning = recovery.status.phase === "Running";
  const nodesOff = nodesOffBy(recovery);
  const begun = { members: recovery.status.members, nodesOff };
  const plan = recoveryPlan(view, isRunning ? begun : undefined);
  const { recoveryRefused } = view.observation.platform;
  const gaveUp = failure(view, recovery);
  if (gaveUp && isRunning) return [ended(view, recovery, "fail", gaveUp)];
  // Whoever said that it is off was wrong: as long as there is a way back, that is taken.
  const wrong = contradicted(view, recovery.task, recovery);
  if (wrong) return [ended(view, recovery, isRunning ? "fail" : "reject", wrong)];
  const unread =
    plan || recoveryRefused !== undefined
      ? []
      : view.members.filter((member) => isUnreadYet(member, nodesOff));
  if (unread.length > 0) {
    if (!isRunning) return [];
    const isRescuing = rescueOf(view, recovery)?.state === "running";
    return [
      stopped(view, recovery) ??
        (isRescuing ? rescuing(view, recovery) : (late(view, recovery) ?? reading(recovery, unread))),
    ];
  }
  const differs = whyNot(view, recovery, plan);
  if (differs || !plan) return differs ? [ended(view, recovery, isRunning ? "fail" : "reject", differs)] : [];
  // One task at a time: whatever else runs cannot go on without quorum, and its members are about to be replaced.
  const other = open.find((operation) => operation !== recovery && operation.status.phase === "Running");
  if (other) {
    const why = ending("QuorumLostMeanwhile", { operation: recovery.name, does: "recover" });
    return [ended(view, other, "fail", why)];
  }
  if (!isRunning)
    return [
      started(view, recovery, {
        start: { members: settledFor(view) },
        what: TASKS.recover(plan.survivor.name, nodesOff),
        class: "heal",
      }),
    ];
  return [next(view, recovery, plan)];
};

const nodesOffBy = ({ task }: Recovery): readonly string[] => task.nodesOff ?? [];

/** Why nothing comes of it any more, whatever the plan is. */
function failure(view: View, recovery: Recovery): Ending | undefined {
  const { failures } = recovery;
  const failed = (times: number, why: string | undefined) => ending("RecoveryFailedOften", { times, why });
  if (failures && failures.count >= MOST_FAILURES) return failed(failures.count, failures.error);
  const rescue = rescueOf(view, recovery);
  if (rescue?.state === "failed" && rescue.attempt >= MOST_FAILURES)
    return failed(rescue.attempt, rescue.why);
  if (rescue?.state !== "stranded") return undefined;
  return ending("RescueStranded", { node: rescue.lostNode });
}

/** The last attempt for the plan that it approves. */
function rescueOf({ observation }: View, { task }: Recovery): RescueFacts | undefined {
  const { rescue } = observation.platform;
  return rescue?.plan === task.approve ? rescue : undefined;
}

/** Why the approved plan cannot be carried out; undefined where it is the present one. */
function whyNot(view: View, recovery: Recovery, plan: RecoveryPlan | undefined): Ending | undefined {
  const { task, status } = recovery;
  const { recoveryRefused } = view.observation.platform;
  if (recoveryRefused !== undefined) return ending("RecoveryRefused", { why: recoveryRefused });
  if (plan?.hash === task.approve) {
    const why = wrongVersion(view, plan);
    return why === undefined ? unlikeNodes(task, plan.nodesOff) : ending("RecoveryVersionDiffers", { why });
  }
  if (plan) return ending("RecoveryPlanChanged", { approved: task.approve, present: plan.hash });
  // With these nodes silent for longer there may be a plan.
  const early = status.phase === "Running" ? undefined : notAsked(task, nodesToBeOff(view));
  if (early) return early;
  return ending(view.staying.every(hasLostItsData) ? "NoDataLeft" : "QuorumOfData", {});
}

function next(view: View, recovery: Recovery, plan: RecoveryPlan): Outcome {
  const about = { operation: recovery.name, member: plan.survivor.name };
  const stop = stopped(view, recovery, plan.survivor.name);
  if (stop) return stop;
  const { hash: planned, survivor, data } = plan;
  const { rescued, firstMemberRefused } = view.observation.platform;
  if (rescued?.plan !== planned) {
    const rescue = rescueOf(view, recovery);
    const attempts = rescue?.attempt ?? 0;
    if (rescue?.state === "running") return rescuing(view, recovery);
    const { clusterID, memberID, term, index } = data;
    return act("heal", "RecoveryRescues", about, {
      kind: "RescueData",
      member: survivor.name,
      volumeUID: survivor.record.volumeUID ?? "",
      plan: planned,
      version: survivor.record.template.version,
      attempt: attempts + 1,
      expected: { clusterID, memberID, term, index },
      operation: recovery.uid,
    });
  }
  // From here on there is no way back to the former members, so that the first new one has to be possible.
  if (firstMemberRefused !== undefined && isAutomatic(view) && isOverdue(view, recovery))
    return ended(
      view,
      recovery,
      "fail",
      ending("FirstMemberRefused", { minutes: LONGEST_MS / 60_000, why: firstMemberRefused }),
    );
  if (firstMemberRefused !== undefined)
    return hold(
      HOLDS.everything,
      "RecoveryAwaitsPlace",
      { operation: recovery.name, why: firstMemberRefused },
      { until: view.now + ASK_AGAIN_MS },
    );
  const { source, node, sha256, revision } = rescued;
  return act(
    "heal",
    "RecoveryBegins",
    { ...about, members: names(view.staying), revision },
    {
      kind: "MarkCluster",
      purpose: "recover",
      change: {
        life: view.observation.cluster.marks.life + 1,
        highestOrdinal: view.nextOrdinal - 1,
        recovered: {
          plan: planned,
          operation: recovery.uid,
          survivor: survivor.name,
          revision,
          at: view.now,
          restore: { source, checksum: sha256, revision },
          ...(node !== undefined && { node }),
        },
      },
    },
  );
}

function rescuing(view: View, recovery: Recovery): Outcome {
  const { why, lostNode } = rescueOf(view, recovery) ?? {};
  const { name: operation } = recovery;
  return lostNode === undefined
    ? hold(HOLDS.everything, "RecoveryAwaitsRescue", { operation, why })
    : hold(HOLDS.everything, "RecoveryAwaitsRescuer", { operation, node: lostNode });
}

/** What is to be done, or waited for, until nobody runs any more; undefined when that is so. */
function stopped(view: View, recovery: Recovery, survivor?: string): Outcome | undefined {
  const about = { operation: recovery.name, ...(survivor !== undefined && { member: survivor }) };
  const awake = view.members.find(({ record }) => record.run);
  if (awake) return act("heal", "RecoveryStops", about, update(awake, "recover", { run: false }));
  // One that ended for want of its data stays as it is: that is what shows the loss, and it is not started again.
  const running = view.members.filter((member) => !isStopped(view, recovery, member));
  const next = running.find(({ workload }) => workload.state !== "stopping");
  if (next) return act("heal", "RecoveryStops", about, { kind: "StopWorkload", member: next.name });
  if (running.length === 0) return undefined;
  const nodes = lostNodesOf(running);
  const params = { operation: recovery.name, members: namesOf(running) };
  return (
    late(view, recovery) ??
    (nodes.length > 0
      ? hold(HOLDS.everything, "RecoveryAwaitsNode", { ...params, nodes })
      : hold(HOLDS.everything, "RecoveryAwaitsStop", params))
  );
}

/** Nobody waits for ever: after this long the members are started again, and the person is told what is missing. */
const LONGEST_MS = 30 * 60_000;

/** Only before the rescue: how long that takes depends on the size of the data, and it tells itself when it fails. */
function late(view: View, recovery: Recovery): Outcome | undefined {
  const { rescued } = view.observation.platform;
  if (rescueOf(view, recovery) || rescued?.plan === recovery.task.approve) return undefined;
  if (!isOverdue(view, recovery)) return undefined;
  const running = view.members.filter((member) => !isStopped(view, recovery, member));
  const unread = view.members.filter((member) => isUnreadYet(member, nodesOffBy(recovery)));
  const minutes = LONGEST_MS / 60_000;
  const why =
    running.length > 0
      ? ending("MembersNotStopped", { minutes, members: namesOf(running), nodes: lostNodesOf(running) })
      : ending("DataNotRead", { minutes, members: namesOf(unread), why: whyUnread(unread) });
  return ended(view, recovery, "fail", why);
}

function isOverdue(view: View, { status }: Recovery): boolean {
  return view.now - byOurClock(view, Date.parse(status.startedAt ?? "")) > LONGEST_MS;
}

function lostNodesOf(members: readonly MemberView[]): string[] {
  const nodes = members.flatMap(({ workload }) =>
    workload.state === "stopping" && workload.lostNode !== undefined ? [workload.lostNode] : [],
  );
  return [...new Set(nodes)];
}

function whyUnread(members: readonly MemberView[]): string | undefined {
  const [why] = members.flatMap(({ directory }) =>
    directory?.state === "reading" && directory.why !== undefined ? [directory.why] : [],
  );
  return why;
}

function reading({ name: operation }: Recovery, unread: readonly MemberView[]): Outcome {
  const [first] = unread;
  const why = first?.directory?.state === "reading" ? first.directory.why : undefined;
  return hold(HOLDS.everything, "RecoveryReads", { operation, members: namesOf(unread), why });
}

/** Until it has stopped, what it holds may be written half and cannot be told: that is no reason to end a recovery. */
function isUnreadYet(member: MemberView, nodesOff: readonly string[]): boolean {
  const { record, volume, workload, directory } = member;
  if (isOnNodeOff(member, nodesOff)) return false;
  if (directory?.state === "reading") return true;
  // A volume that it had and that could not be asked for just now is neither there nor gone.
  const isUnknown = volume.state === "pending" && record.volumeUID !== undefined;
  return (workload.state === "stopping" || isUnknown) && directory?.state !== "data";
}

/** On one machine what has ended is started by nobody but us; a kubelet would start it again. */
function isStopped({ observation }: View, recovery: Recovery, member: MemberView): boolean {
  if (isEndedOff(member, nodesOffBy(recovery))) return true;
  const { state } = member.workload;
  const staysEnded = observation.platform.machine !== undefined && hasLostItsData(member);
  return state === "absent" || (state === "exited" && staysEnded);
}
