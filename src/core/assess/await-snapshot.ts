/** The wait for the snapshot that comes before another minor version: what it waits for, and how a person ends it. */
import type { Outcome } from "../action.ts";
import { SNAPSHOTS_BEFORE } from "../messages/rollouts.ts";
import { HOLDS } from "../steps/hold-classes.ts";
import { hold } from "../steps/outcome.ts";
import type { MemberTemplate } from "../record.ts";
import type { SnapshotFacts } from "../snapshots/facts.ts";
import { templateHash } from "../template/template.ts";
import type { View } from "../view.ts";
import { approvable } from "./approvals.ts";
import { withoutSnapshot, type AwaitedSnapshot } from "./snapshot-before.ts";

/** Queued behind another one, its certificate being issued, its image being pulled: that passes, as a rule. */
const STARTS_WITHIN_MS = 120_000;

interface Awaited {
  readonly before: AwaitedSnapshot;
  /** What members are given then; undefined while etcd is still to be told of a downgrade. */
  readonly template?: MemberTemplate;
}

export function awaitSnapshot(view: View, to: string, { before, template }: Awaited): Outcome {
  const isOnApproval = view.spec.update.strategy === "OnApproval";
  const rollout = isOnApproval && template ? templateHash(template) : undefined;
  const approval = approvable(view.observation, withoutSnapshot(to, rollout));
  switch (before.is) {
    case "wanted": {
      const { name: snapshot, schedule } = before;
      if (schedule.failure === undefined)
        return hold(HOLDS.rollouts, "SnapshotBeforeAwaited", { to, snapshot });
      const why = SNAPSHOTS_BEFORE.notCreated(schedule.failure);
      return hold(HOLDS.rollouts, "SnapshotBeforeStuck", { to, snapshot, why, approval });
    }
    case "running": {
      const { name: snapshot, status } = before.snapshot;
      const stuckAt = stuckFrom(before.snapshot);
      if (stuckAt === undefined || view.now < stuckAt)
        return hold(HOLDS.rollouts, "SnapshotBeforeAwaited", { to, snapshot }, { until: stuckAt });
      const why = status.message ?? SNAPSHOTS_BEFORE.unknown;
      return hold(HOLDS.rollouts, "SnapshotBeforeStuck", { to, snapshot, why, approval });
    }
    case "failed": {
      const { name: snapshot, status } = before.snapshot;
      const params = { to, snapshot, why: status.message ?? SNAPSHOTS_BEFORE.unknown, approval };
      return hold(HOLDS.rollouts, "SnapshotBeforeFailed", params, { until: before.againAt });
    }
    case "unreadable": {
      const { name: schedule, why } = before.schedule;
      return hold(HOLDS.rollouts, "SnapshotBeforeUnreadable", { to, schedule, why, approval });
    }
  }
}

/** From when on a person is told how to do without it: nothing takes it yet. Undefined where it is being taken. */
function stuckFrom({ status, createdAt, jobs }: SnapshotFacts): number | undefined {
  const isWaiting = jobs.some(({ task, state }) => task === "save" && state.is === "waiting");
  return status.phase === "Running" && !isWaiting ? undefined : createdAt + STARTS_WITHIN_MS;
}
