/**
 * An approved restore in place. The snapshot is fetched and checked while the members serve; then all of them are stopped,
 * and a new life of the cluster begins from it, under another token, so that no former member is a sibling (R22). Until
 * then every step can be taken back: an operation that fails or is deleted has changed no data, and the members are
 * started again. The revision is raised above everything that the cluster was seen to have, so that a watcher sees a
 * compaction and never the past (R24).
 */
import { AUTO_BUMP, sourceText } from "../../api/restore-values.ts";
import type { Outcome } from "../action.ts";
import { HOLDS } from "../hold-classes.ts";
import type { FetchedSnapshot, OperationFacts } from "../observation.ts";
import { ended, prepared } from "../operations/endings.ts";
import { planOf, restore, whyNot } from "../operations/restore.ts";
import { isFinished } from "../operations/status.ts";
import type { TaskOf } from "../operations/task.ts";
import { act, hold, update } from "../outcome.ts";
import type { Rule } from "../rule.ts";
import { names, namesOf, type View } from "../view.ts";

/** A snapshot that could not be fetched so often in a row. */
const MOST_FAILURES = 3;

interface Restoring extends OperationFacts {
  readonly task: TaskOf<"restore">;
}

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
  if (running) return [advanced(view, running)];
  const [waiting] = restores;
  // With quorum its turn comes in rule operations; without, nothing else would have its turn either.
  if (!waiting || view.hasQuorum) return [];
  const other = open.find(({ status, task }) => status.phase === "Running" && task.kind !== "recoverQuorum");
  if (other) {
    const message = `quorum was lost while it ran, and operation ${waiting.name} restores a snapshot`;
    return [ended(view, other, "fail", { reason: "QuorumRecovered", message })];
  }
  if (open.some(({ status }) => status.phase === "Running")) return [];
  return [prepared(view, waiting, restore.prepare(view, waiting.task, waiting))];
};

function advanced(view: View, operation: Restoring): Outcome {
  const { name, uid, task, failures } = operation;
  if (failures && failures.count >= MOST_FAILURES)
    return ended(view, operation, "fail", {
      reason: "StepFailed",
      message: `failed ${failures.count} times in a row, and no data was changed: ${failures.error}`,
    });
  const plan = planOf(view, task);
  if (plan !== task.approve)
    return ended(view, operation, "fail", {
      reason: "PlanChanged",
      message: `the cluster, or its spec.version, is not what was approved any more: the plan is ${plan} now, and no data was changed`,
    });
  const wrong = whyNot(view, task);
  if (wrong) {
    const message = `no data was changed: ${wrong.message}`;
    return ended(view, operation, "fail", { ...wrong, message });
  }
  const { fetched, arrivingVersions } = view.observation.platform;
  const { version } = view.spec;
  const progress = arrivingVersions?.[version];
  if (progress !== undefined) return hold(HOLDS.everything, "VersionArriving", { version, progress });
  const { source, checksum } = task;
  if (fetched?.plan !== plan)
    return act(
      "heal",
      "RestoreFetches",
      { operation: name, source: sourceText(source) },
      {
        kind: "FetchSnapshot",
        plan,
        restore: { source, ...(checksum !== undefined && { checksum }) },
        version: view.spec.version,
        operation: uid,
      },
    );
  return stopping(view, name) ?? begins(view, operation, fetched);
}

/** Undefined once nobody runs. */
function stopping(view: View, operation: string): Outcome | undefined {
  const about = { operation };
  const awake = view.members.find(({ record }) => record.run);
  if (awake) return act("heal", "RestoreStops", about, update(awake, "recover", { run: false }));
  const left = view.members.filter(({ workload: { state } }) => state !== "absent" && state !== "exited");
  const next = left.find(({ workload }) => workload.state !== "stopping");
  if (next) return act("heal", "RestoreStops", about, { kind: "StopWorkload", member: next.name });
  return left.length === 0
    ? undefined
    : hold(HOLDS.everything, "RestoreAwaitsStop", { ...about, members: namesOf(left) });
}

function begins(view: View, { name, uid, task, status }: Restoring, fetched: FetchedSnapshot): Outcome {
  const { cluster, etcd } = view.observation;
  const { plan, path, sha256, revision } = fetched;
  const seen = Math.max(status.revision ?? 0, etcd.highestRevision ?? 0);
  const revisionBump = Math.max(0, seen - revision) + AUTO_BUMP;
  return act(
    "heal",
    "RestoreBegins",
    { operation: name, source: sourceText(task.source), members: names(view.staying) },
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
          restore: { source: { file: { path } }, checksum: sha256, revisionBump },
        },
      },
    },
  );
}
