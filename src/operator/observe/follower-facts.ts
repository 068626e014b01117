/** The Pods that record changes for schedules → the facts that core decides on. Pure. */
import type { Pod } from "kubernetes-types/core/v1.d.ts";
import type { FollowerFacts, FollowerState, FollowReport } from "../../core/snapshots/follower-facts.ts";
import { isControlledBy } from "../../kube/resources.ts";
import { parseResult } from "../../snapshot/result.ts";
import { ANNOTATIONS, FOLLOW_TASK, LABELS } from "../names.ts";
import { containersOf } from "./helper-pod.ts";

/** What the follower of this UID told last. */
export type Reports = (uid: string) => FollowReport | undefined;

export function isFollower({ metadata }: Pod): boolean {
  return metadata?.labels?.[LABELS.task] === FOLLOW_TASK;
}

export function isOfSchedule(pod: Pod, schedule: string): boolean {
  return isFollower(pod) && isControlledBy(pod, schedule);
}

export function followersFrom(
  pods: readonly Pod[],
  schedule: string,
  now: number,
  reports: Reports,
): FollowerFacts[] {
  return pods
    .filter((pod) => isOfSchedule(pod, schedule))
    .map((pod) => {
      const { name = "", uid = "", labels = {}, annotations = {}, deletionTimestamp } = pod.metadata ?? {};
      const stopping = Date.parse(deletionTimestamp ?? "");
      return {
        name,
        uid,
        recipe: annotations[ANNOTATIONS.recipe] ?? "",
        attempt: Number(labels[LABELS.attempt]) || 1,
        // That time is when its grace period ends.
        ...(!Number.isNaN(stopping) && { stoppingMs: Math.max(0, now - stopping) }),
        state: stateOf(pod, now, reports(uid)),
      };
    });
}

function stateOf(pod: Pod, now: number, report: FollowReport | undefined): FollowerState {
  const { phase, reason, message, conditions = [] } = pod.status ?? {};
  const name = pod.metadata?.name ?? "";
  if (phase === "Failed" || phase === "Succeeded") {
    const why = [reason, message].filter(Boolean).join(": ");
    const { startedAt = "", finishedAt = "" } = containersOf(pod)[0]?.state?.terminated ?? {};
    const [start, end] = [Date.parse(startedAt), Date.parse(finishedAt)];
    return {
      is: "ended",
      why: `Pod ${name} ended${why === "" ? "" : `: ${why}`}`,
      // One that was evicted before it had started has neither: then it counts from when it was made.
      forMs: Math.max(0, now - (end || Date.parse(pod.metadata?.creationTimestamp ?? "") || 0)),
      ...(end >= start && { ranMs: end - start }),
    };
  }
  const [container] = containersOf(pod);
  if (container?.state?.running) {
    const since = Date.parse(container.state.running.startedAt ?? "");
    return {
      is: "running",
      ...(report && { report }),
      ...(!Number.isNaN(since) && { forMs: Math.max(0, now - since) }),
    };
  }
  const last = container?.state?.terminated ?? container?.lastState?.terminated;
  if (last) {
    const said = parseResult(last.message);
    const words = said && !said.ok ? said.message : `exit code ${last.exitCode}`;
    return { is: "waiting", why: `Pod ${name} ended and is started again: ${words}` };
  }
  const waiting = container?.state?.waiting;
  if (waiting?.reason !== undefined && !USUAL.has(waiting.reason))
    return {
      is: "waiting",
      why: `Pod ${name}: ${waiting.reason}${waiting.message === undefined ? "" : ` (${waiting.message})`}`,
    };
  const unplaced = conditions.find(({ type, status }) => type === "PodScheduled" && status === "False");
  return unplaced
    ? { is: "waiting", why: `Pod ${name} cannot be scheduled: ${unplaced.message ?? unplaced.reason}` }
    : { is: "waiting" };
}

/** What every container waits for at first. */
const USUAL: ReadonlySet<string> = new Set(["ContainerCreating", "PodInitializing"]);
