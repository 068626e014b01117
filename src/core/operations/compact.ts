/**
 * compact: discards history up to a revision that is settled at the start, so that it stays the same however often the
 * step is repeated. The compaction is physical: etcd answers when it has been applied. One that was made before counts
 * as done.
 */
import { ending } from "../messages/operation-endings.ts";
import { TASKS } from "../messages/operation-steps.ts";
import { act } from "../steps/outcome.ts";
import type { View } from "../view.ts";
import type { Handler } from "./handler.ts";
import type { TaskOf } from "./task.ts";

export const compact: Handler<TaskOf<"compact">> = {
  prepare(view, { revision, retain = 0 }) {
    const current = currentRevision(view);
    if (revision !== undefined && revision > current)
      return { reject: ending("RevisionInFuture", { revision, current }) };
    const target = revision ?? current - retain;
    const compacted = knownCompaction(view);
    // A new cluster begins at revision 1, which has no history.
    if (target <= (revision === undefined ? Math.max(1, compacted) : 0))
      return { reject: ending("NothingToCompact", { current, retain }) };
    if (target <= compacted)
      return { reject: ending("RevisionCompacted", { revision: target, oldest: compacted }) };
    return {
      start: { revision: target },
      what: TASKS.compact(target),
      class: "maintain",
    };
  },

  advance(view, _task, { name, uid, status }) {
    const revision = status.revision ?? 0;
    if ((view.observation.etcd.compacted?.revision ?? 0) >= revision)
      return { succeed: ending("Compacted", { revision }) };
    return {
      next: act(
        "maintain",
        "OperationCompacts",
        { operation: name, revision },
        { kind: "Compact", revision, operation: uid },
      ),
    };
  },
};

function currentRevision({ members }: View): number {
  const voters = members.filter(({ isVoter, healthy }) => isVoter && healthy);
  return Math.max(0, ...voters.map(({ answer }) => (answer.reachable ? answer.revision : 0)));
}

/** The highest compaction that this controller knows of; there may have been later ones. */
function knownCompaction({ observation: { etcd } }: View): number {
  const hashed = Object.values(etcd.hashes?.byMember ?? {}).map(({ compactRevision }) => compactRevision);
  return Math.max(0, etcd.compacted?.revision ?? 0, ...hashed);
}
