/**
 * compact: discards history up to a revision that is settled at the start, so that it stays the same however often the
 * step is repeated. The compaction is physical: etcd answers when it has been applied. One that was made before counts
 * as done.
 */
import { act } from "../steps/outcome.ts";
import type { View } from "../view.ts";
import { rejected, succeeded, type Handler } from "./handler.ts";
import type { TaskOf } from "./task.ts";

export const compact: Handler<TaskOf<"compact">> = {
  prepare(view, { revision, retain = 0 }) {
    const current = currentRevision(view);
    if (revision !== undefined && revision > current)
      return rejected(
        "RevisionInFuture",
        `revision ${revision} does not exist yet; the current revision is ${current}`,
      );
    const target = revision ?? current - retain;
    const compacted = knownCompaction(view);
    // A new cluster begins at revision 1, which has no history.
    if (target <= (revision === undefined ? Math.max(1, compacted) : 0))
      return rejected(
        "NothingToCompact",
        `the current revision is ${current}, and ${retain} revisions are to be retained: nothing is left to compact`,
      );
    if (target <= compacted)
      return rejected(
        "RevisionCompacted",
        `revision ${target} has already been compacted: the oldest revision is ${compacted}`,
      );
    return {
      start: { revision: target },
      what: `compact up to revision ${target}`,
      class: "maintain",
    };
  },

  advance(view, _task, { name, uid, status }) {
    const revision = status.revision ?? 0;
    if ((view.observation.etcd.compacted?.revision ?? 0) >= revision)
      return succeeded(`the history up to revision ${revision} is compacted`);
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
