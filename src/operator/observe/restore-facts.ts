/** What the init containers of a member that starts from a snapshot say: how far it is, or why it cannot be restored. */
import type { ContainerStatus, Pod } from "kubernetes-types/core/v1.d.ts";
import type { RestoreFault } from "../../api/bootstrap.ts";
import type { WorkloadFacts } from "../../core/observation.ts";
import { progressText } from "../../snapshot/progress.ts";
import { readFailure } from "../../snapshot/stage.ts";
import { RESTORE_CONTAINERS } from "../names.ts";
import type { Transfers } from "./job-facts.ts";

const DOES: Readonly<Record<string, string>> = {
  [RESTORE_CONTAINERS.stage]: "fetching and checking the snapshot",
  [RESTORE_CONTAINERS.etcdutl]: "etcdutl restores it",
  [RESTORE_CONTAINERS.place]: "putting the data in its place",
};

type Ended = NonNullable<NonNullable<ContainerStatus["state"]>["terminated"]>;

/** Undefined for a container that is none of these, or whose wait is the same as that of any other. */
export function restoreFacts(
  pod: Pod,
  { name, state, lastState, restartCount: restarts }: ContainerStatus,
  startedFrom: string,
  transfers?: Transfers,
): WorkloadFacts | undefined {
  const reason = DOES[name];
  if (reason === undefined) return undefined;
  const since = (at: string | undefined) => Date.parse(at ?? pod.metadata?.creationTimestamp ?? "") || 0;
  const ended = state?.terminated ?? lastState?.terminated;
  // While it is tried again, what is known is why it failed.
  const isImage = /image/i.test(state?.waiting?.reason ?? "");
  // Started again alone, etcdutl finds what it left and refuses: only another Pod stages the snapshot afresh. The wait for
  // that counts from the Pod, since each restart by the kubelet ends a moment later.
  const isFinal = name === RESTORE_CONTAINERS.etcdutl;
  if (ended && ended.exitCode !== 0 && !isImage)
    return {
      state: "exited",
      since: since(isFinal ? undefined : ended.finishedAt),
      startedFrom,
      restarts,
      cause: "restore-failed",
      ...(isFinal && { ended: true }),
      ...failureOf(name, ended),
    };
  if (state?.running) {
    const transfer = name === RESTORE_CONTAINERS.stage ? transfers?.(pod.metadata?.uid ?? "") : undefined;
    return {
      state: "waiting",
      reason: transfer ? `${reason}: ${progressText(transfer.done, transfer.of)}` : reason,
      restoring: true,
      since: since(state.running.startedAt),
      startedFrom,
    };
  }
  return undefined;
}

function failureOf(
  container: string,
  { exitCode, reason, message = "" }: Ended,
): {
  detail: string;
  restore: RestoreFault;
} {
  const reported = readFailure(message);
  if (reported) return { detail: reported.message, restore: reported.fault };
  if (reason === "OOMKilled")
    return { detail: `${container} exceeded its memory limit (OOMKilled)`, restore: "space" };
  const said = message.trim().split("\n").at(-1)?.trim() || `exit code ${exitCode}`;
  return { detail: `${container} failed: ${said}`, restore: "failed" };
}
