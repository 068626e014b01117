/**
 * An approved restore in place. The snapshot is fetched and checked while the members serve; then all of them are stopped,
 * and a new life of the cluster begins from it, under another token, so that no former member is a sibling (R22). Until
 * then every step can be taken back: an operation that fails or is deleted has changed no data, and the members are
 * started again. The revision is raised above everything that the cluster was seen to have, so that a watcher sees a
 * compaction and never the past (R24).
 */
import type { RestoreRecipe } from "../../api/bootstrap.ts";
import { AUTO_BUMP, revisionFloor } from "../../api/restore-values.ts";
import type { Outcome } from "../action.ts";
import { FETCHED_WITHIN_MS, isLateInstead } from "../assess/automatic-recovery.ts";
import { isWithoutData } from "../assess/lost-data.ts";
import { isEndedOff } from "../assess/nodes-off.ts";
import { recoveryPlan } from "../assess/recovery-plan.ts";
import { fetchedAt } from "../assess/restore-progress.ts";
import { HOLDS } from "../steps/hold-classes.ts";
import { ending, type Ending } from "../messages/operation-endings.ts";
import { DONE } from "../messages/operation-steps.ts";
import { TAINT_OR_DELETE, withoutChange } from "../messages/recovery-endings.ts";
import type { FetchedSnapshot } from "../observation.ts";
import { ended, prepared } from "../operations/endings.ts";
import {
  awaits,
  restore,
  aboveQuota,
  whyNot,
  whyNotInstead,
  wishOf,
  type Restoring,
  type Wish,
} from "../operations/restore.ts";
import { isFinished, writeStatus } from "../operations/status.ts";
import type { TaskOf } from "../operations/task.ts";
import { contradicted } from "../operations/vouched-nodes.ts";
import { act, hold, update } from "../steps/outcome.ts";
import type { Rule } from "../rule.ts";
import { byOurClock, names, namesOf, type MemberView, type View } from "../view.ts";

/** A snapshot that could not be fetched so often in a row. */
const MOST_FAILURES = 3;

export const restoreInPlace: Rule = (view) => {
  const { operations, cluster } = view.observation;
  if (!view.established || view.spec.replicas === 0) return [];
  const open = operations.filter((operation) => !isFinished(operation) && !operation.deleting);
  // From the new life on, the rules that found and grow a cluster do the rest.
  const restores = open.filter(
    (operation): operation is Restoring =>
      operation.task.kind === "restore" && operation.uid !== cluster.marks.recovered?.operation,
  );
  const running = restores.find(({ status }) => status.phase === "Running");
  if (running) return advanced(view, running);
  const [waiting] = restores;
  // With quorum its turn comes in rule operations; without, nothing else would have its turn either.
  if (!waiting || view.hasQuorum) return [];
  const other = open.find(({ status, task }) => status.phase === "Running" && task.kind !== "recoverQuorum");
  if (other) {
    const why = ending("QuorumLostMeanwhile", { operation: waiting.name, does: "restore" });
    return [ended(view, other, "fail", why)];
  }
  if (open.some(({ status }) => status.phase === "Running")) return [];
  // It would be rejected for good because of a plan that is only not known at this moment.
  if (unreadFor(view, waiting).length > 0) return [];
  return [prepared(view, waiting, restore.prepare(view, waiting.task, waiting))];
};

function advanced(view: View, operation: Restoring): readonly Outcome[] {
  const { name, task, failures } = operation;
  const fails = (end: Ending, why?: string) => [ended(view, operation, "fail", withoutChange(end, why))];
  const { fetched, fetch, arrivingVersions } = view.observation.platform;
  if (failures && failures.count >= MOST_FAILURES)
    return fails(ending("RestoreFailedOften", { times: failures.count }), failures.error);
  const wish = wishOf(view, operation, fetchedRecipe(view, task));
  if ("reason" in wish) return fails(ending("SourceUnknown", { why: wish.message }));
  const unvouched = contradicted(view, task, operation);
  if (unvouched) return [ended(view, operation, "fail", unvouched)];
  const { plan, description, recipe, point } = wish;
  if (plan !== task.approve) return fails(ending("RestorePlanChanged", { plan }));
  const wrong = whyNot(view, wish) ?? (fetched?.plan === plan ? aboveQuota(view, fetched) : undefined);
  if (wrong) return fails(wrong);
  const { version } = view.spec;
  const progress = arrivingVersions?.[version];
  if (progress !== undefined) return [hold(HOLDS.everything, "VersionArriving", { version, progress })];
  if (fetched?.plan !== plan) {
    if (!view.hasQuorum && isLateInstead(view, operation))
      return fails(
        ending("NotFetchedInTime", { source: description, minutes: FETCHED_WITHIN_MS / 60_000 }),
        whyUnfetched(wish, fetch?.why),
      );
    if (point?.is === "failed") return fails(ending("PointNotBuilt", { source: description }), point.why);
    if (!recipe) return view.hasQuorum ? [] : [awaits(view, operation)];
    const attempt = fetch?.plan === plan ? fetch : undefined;
    if (attempt?.state === "running") return view.hasQuorum ? [] : [awaits(view, operation)];
    const attempts = attempt?.attempt ?? 0;
    if (attempt && (attempt.definite || attempts >= MOST_FAILURES))
      return fails(ending("RestoreFailedOften", { times: attempts }), attempt.why);
    return [fetching(view, operation, { ...wish, recipe, attempt: attempts + 1 })];
  }
  const { sha256, revision } = fetched;
  if (!isStopping(view, operation)) {
    const unread = unreadFor(view, operation);
    if (unread.length > 0) return [reads(operation, unread)];
    const unlike = whyNotInstead(view, task);
    if (unlike) return fails(unlike);
  }
  // Written before anybody is stopped: the time that they may take counts from no earlier.
  if (fetchedAt(operation) === undefined) {
    const message = DONE.fetched(description, revision, sha256);
    const change = { phase: "Running", reason: "Started", message, step: { message } } as const;
    const write = writeStatus(operation, change, "step", view.serverNow);
    return [act("record", "OperationNoted", { operation: name, done: message }, write)];
  }
  return [stopping(view, operation) ?? begins(view, operation, fetched, description)];
}

/** Up to the last member that is told to stop, and after that if they have quorum all the same, it can be called off. */
function isStopping(view: View, operation: Restoring): boolean {
  if (fetchedAt(operation) === undefined || view.hasQuorum) return false;
  return view.members.every(({ record }) => !record.run);
}

/** Whose directories are being read, while it is not known for that reason whether the plan is what was approved. */
function unreadFor(view: View, { task }: Restoring): readonly MemberView[] {
  if (task.recovery === undefined || view.hasQuorum || recoveryPlan(view)) return [];
  const isLost = isWithoutData(view);
  return view.members.filter((member) => isBeingRead(member) && !isLost(member));
}

const isBeingRead = ({ directory }: MemberView) => directory === undefined || directory.state === "reading";

/** They are healed meanwhile: that may be what is missing. */
function reads({ name: operation }: Restoring, unread: readonly MemberView[]): Outcome {
  const [why] = unread.flatMap(({ directory }) =>
    directory?.state === "reading" && directory.why !== undefined ? [directory.why] : [],
  );
  return hold(HOLDS.allButHealing, "RecoveryReads", { operation, members: namesOf(unread), why });
}

/** Of an EtcdSnapshot, once it is on the volume: retention may prune it while members stop, and that changes nothing. */
function fetchedRecipe(view: View, { snapshot, approve }: TaskOf<"restore">): RestoreRecipe | undefined {
  const { fetched } = view.observation.platform;
  if (snapshot === undefined || fetched?.plan !== approve || !fetched?.recipe) return undefined;
  return { ...fetched.recipe, snapshot };
}

function whyUnfetched({ point }: Wish, why: string | undefined): string | undefined {
  return point?.is === "wanted" || point?.is === "building" ? point.why : why;
}

function fetching(
  { spec }: View,
  { name, uid }: Restoring,
  { recipe, plan, description, attempt }: Wish & { recipe: RestoreRecipe; attempt: number },
): Outcome {
  const { source, checksum, encryption } = recipe;
  return act(
    "heal",
    "RestoreFetches",
    { operation: name, source: description },
    {
      kind: "FetchSnapshot",
      plan,
      restore: { source, ...(checksum !== undefined && { checksum }), ...(encryption && { encryption }) },
      version: spec.version,
      attempt,
      operation: uid,
    },
  );
}

/** Members do not take longer to end, unless a node is lost: then the cluster serves again with its data. */
const LONGEST_STOP_MS = 30 * 60_000;

/** Undefined once nobody runs: no former member may serve beside the new ones. */
function stopping(view: View, operation: Restoring): Outcome | undefined {
  const about = { operation: operation.name };
  const awake = view.members.find(({ record }) => record.run);
  if (awake) return act("heal", "RestoreStops", about, update(awake, "recover", { run: false }));
  // A kubelet would start one again that has ended; on one machine nobody but us does.
  const isMachine = view.observation.platform.machine !== undefined;
  const left = view.members.filter(
    (member) =>
      member.workload.state !== "absent" &&
      !(isMachine && member.workload.state === "exited") &&
      !isEndedOff(member, operation.task.nodesOff ?? []),
  );
  const next = left.find(({ workload }) => workload.state !== "stopping");
  if (next) return act("heal", "RestoreStops", about, { kind: "StopWorkload", member: next.name });
  if (left.length === 0) return undefined;
  if (view.now - lastStop(view, left, operation) > LONGEST_STOP_MS) {
    const end = ending("StopTakesTooLong", { members: namesOf(left), minutes: LONGEST_STOP_MS / 60_000 });
    return ended(view, operation, "fail", withoutChange(end, TAINT_OR_DELETE));
  }
  const members = namesOf(left);
  const nodes = left.flatMap(({ workload }) =>
    workload.state === "stopping" && workload.lostNode !== undefined ? [workload.lostNode] : [],
  );
  return nodes.length > 0
    ? hold(HOLDS.everything, "RecoveryAwaitsNode", { ...about, members, nodes: [...new Set(nodes)] })
    : hold(HOLDS.everything, "RestoreAwaitsStop", { ...about, members });
}

/** The operator may be away for hours between the note and the stops; and who was ending before has its time from the note. */
function lastStop(view: View, left: readonly MemberView[], operation: Restoring): number {
  const stops = left.flatMap(({ workload }) => (workload.state === "stopping" ? [workload.since] : []));
  return Math.max(byOurClock(view, fetchedAt(operation) ?? 0), ...stops);
}

function begins(
  view: View,
  { name, uid, status, task }: Restoring,
  { plan, source, node, sha256, revision }: FetchedSnapshot,
  description: string,
): Outcome {
  const { cluster, etcd } = view.observation;
  const seen = Math.max(status.revision ?? 0, etcd.highestRevision ?? 0);
  const raiseTo = Math.max(seen + AUTO_BUMP, revisionFloor(view.now));
  const revisionBump = Math.max(AUTO_BUMP, raiseTo - revision);
  return act(
    "heal",
    "RestoreBegins",
    { operation: name, source: description, members: names(view.staying) },
    {
      kind: "MarkCluster",
      purpose: "recover",
      change: {
        life: cluster.marks.life + 1,
        highestOrdinal: view.nextOrdinal - 1,
        recovered: {
          plan,
          operation: uid,
          revision,
          // Like any recovery it counts for the time that lies between two of them.
          ...(task.recovery !== undefined && { at: view.now }),
          restore: { source, checksum: sha256, revisionBump },
          ...(node !== undefined && { node }),
        },
      },
    },
  );
}
