/**
 * The log that an older minor left behind. 3.4 and 3.5 keep requests of the v2 store in it, for their members
 * and health checks; the second minor after them ends when it replays one, also long after everybody was
 * upgraded (R12, H5). So before that minor is crossed, every member has to have a raft snapshot past them.
 * A member makes one every `snapshot-count` entries; where they do not come by themselves, entries that
 * change nothing are added.
 */
import { act, hold } from "../steps/outcome.ts";
import type { Outcome } from "../action.ts";
import { HOLDS } from "../steps/hold-classes.ts";
import { releaseOf } from "../version/releases.ts";
import { isVolatile } from "../template/template.ts";
import { minorNumber, minorOf } from "../version/version.ts";
import type { MemberView, View } from "../view.ts";

/** What a leader keeps in memory for those who are behind, and would feed a newcomer of the next minor with (H4). */
const CATCH_UP = 5_000;
/** A snapshot is made after a batch of entries, not in the midst of one. */
const MARGIN = 200;

/** Written before the first member leaves the old minor, so that it is not forgotten on the next one. */
export function rememberOldLog(view: View, outdated: readonly MemberView[], to: string): Outcome | undefined {
  const minors = outdated.map(({ record }) => minorOf(record.template.version));
  const [lowest] = minors.toSorted((a, b) => minorNumber(a) - minorNumber(b));
  if (lowest === undefined || !releaseOf(lowest)?.v2Requests) return undefined;
  if (minorNumber(lowest) >= minorNumber(to)) return undefined;
  const { oldLog } = view.observation.cluster.marks;
  if (oldLog?.minor === lowest && oldLog.until === undefined) return undefined;
  return act(
    "record",
    "OldLogRecorded",
    { minor: lowest },
    { kind: "MarkCluster", purpose: "remember-old-log", change: { oldLog: { minor: lowest } } },
  );
}

/** Everybody has left the old minor: from here on the log is clean. */
export function closeOldLog(view: View): Outcome | undefined {
  const { oldLog } = view.observation.cluster.marks;
  const { clusterVersion } = view.observation.etcd;
  if (!oldLog || oldLog.until !== undefined || clusterVersion === undefined) return undefined;
  const left = [clusterVersion, ...view.members.map(({ record }) => record.template.version)];
  if (left.some((version) => minorNumber(version) <= minorNumber(oldLog.minor))) return undefined;
  const until = Math.max(0, ...view.members.map(({ answer }) => (answer.reachable ? answer.raftIndex : 0)));
  return act(
    "record",
    "OldLogEnds",
    { minor: oldLog.minor },
    { kind: "MarkCluster", purpose: "close-old-log", change: { oldLog: { ...oldLog, until } } },
  );
}

/** On the way to a minor that cannot read it. All members are healthy. */
export function leaveOldLog(view: View): Outcome {
  const { oldLog } = view.observation.cluster.marks;
  const close = closeOldLog(view);
  if (close) return close;
  const until = oldLog?.until;
  const minor = oldLog?.minor ?? "";
  if (until === undefined)
    return hold(HOLDS.disruptions, "OldMinorStillRuns", { minor }, { until: view.now + 1000 });
  const lacking = Math.max(...view.staying.map((member) => until + distance(member) - applied(member)));
  if (lacking > 0) {
    return act("roll", "OldLogAdvanced", { minor }, { kind: "AdvanceLog", entries: lacking });
  }
  return act(
    "record",
    "OldLogForgotten",
    { minor },
    { kind: "MarkCluster", purpose: "forget-old-log", change: { oldLog: undefined } },
  );
}

function applied({ answer }: MemberView): number {
  return answer.reachable ? answer.raftAppliedIndex : 0;
}

/** So many entries after an index, a member has it in a snapshot and nobody is fed with it any more. */
function distance({ record }: MemberView): number {
  const { version, options } = record.template;
  const snapshotCount =
    options.snapshotCount ?? (minorNumber(version) >= minorNumber("3.6") ? 10_000 : 100_000);
  const given = ["snapshot-catchup-entries", "experimental-snapshot-catchup-entries"].map((flag) =>
    Number(options.extraArgs[flag] ?? 0),
  );
  const kept = isVolatile(record.template) ? Math.max(CATCH_UP, ...given) : 0;
  return Math.max(snapshotCount, kept) + MARGIN;
}
