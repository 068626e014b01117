/**
 * Why a container of a member ended, from what the kubelet kept of it: exit code, reason, and the termination
 * message, which is the end of the log (`terminationMessagePolicy: FallbackToLogsOnError`).
 */
import { constants } from "node:os";
import type { ContainerStateTerminated } from "kubernetes-types/core/v1.d.ts";
import { CAUSES } from "../../control/exit-causes.ts";
import type { ExitCause } from "../../core/observation.ts";
import type { MemberRecord } from "../../core/record.ts";
import { explainExit } from "../../etcd/process.ts";
import type { EndSeen } from "./ends-seen.ts";

export interface Ending {
  readonly cause: ExitCause;
  readonly detail: string;
}

/** Reasons of the kubelet's own: the image cannot run what the Pod says. */
const CANNOT_RUN = new Set(["StartError", "ContainerCannotRun"]);

/** What the kubelet tells is of a moment ago. */
const REPORTED_LATE_MS = 3_000;
/** Who ends the same way so often does not do it for being early. */
const EARLY_RESTARTS = 3;

export interface EndingContext {
  readonly record: MemberRecord;
  readonly restarts: number;
  /** By our own clock: that of the node, which wrote `finishedAt`, may be off by anything. */
  readonly seen: EndSeen;
}

export function etcdEnding(terminated: ContainerStateTerminated, context: EndingContext): Ending {
  const { exitCode, reason, message } = terminated;
  if (reason === "OOMKilled") return { cause: "killed", detail: "it exceeded its memory limit (OOMKilled)" };
  if (reason !== undefined && CANNOT_RUN.has(reason))
    return { cause: "bad-configuration", detail: message ?? reason };
  const signal = signalOf(terminated);
  const lines = (message ?? "").split("\n").filter((line) => line !== "");
  const found = explainExit(signal === undefined ? { code: exitCode } : { signal }, lines, exitCode === 0);
  // With data etcd does not ask its peers who they are (R4), and a joined member is reported no peers (H3). One that was
  // restored has neither: it is alone, and starts only after its data was put in its place.
  const { joined, restore } = context.record;
  const isRestored = restore !== undefined && !joined;
  if (found.reason === "cluster-unreachable" && (isRestored || (joined && !mayBeEarlier(context))))
    return { cause: "data-missing", detail: `started on an empty volume: ${found.said}` };
  return { cause: CAUSES[found.reason], detail: found.said || `exit code ${exitCode}` };
}

/**
 * A newcomer whose peers cannot look its name up yet ends like one without data (R46), and by the time that we are
 * told, its next run may have joined: of one of the first ends, just now, it is not known which of the two it is. One
 * that was seen before it had joined is known.
 */
function mayBeEarlier({ restarts, seen }: EndingContext): boolean {
  return seen.beforeJoining || (restarts < EARLY_RESTARTS && seen.agoMs < REPORTED_LATE_MS);
}

/** Init containers are not ours: an admission webhook added them, as service meshes do. */
export function initEnding({ exitCode, message }: ContainerStateTerminated): Ending {
  return {
    cause: "unknown",
    detail: `before etcd was started: ${message?.trim() || `exit code ${exitCode}`}`,
  };
}

/** Runtimes tell a signal as 128 + its number. */
function signalOf({ exitCode, signal }: ContainerStateTerminated): NodeJS.Signals | undefined {
  const number = signal || exitCode - 128;
  const names = Object.keys(constants.signals) as NodeJS.Signals[];
  return names.find((name) => constants.signals[name] === number);
}
