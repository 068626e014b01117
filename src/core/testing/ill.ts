/** One member that is not well among healthy ones, in the ways that rules tell apart. */
import type { MemberFacts, Observation } from "../observation.ts";
import { NOW, change, healthy } from "./cluster.ts";

const UNREACHABLE = { reachable: false, error: "connection refused" } as const;

/** demo-2 as it is not well. */
export function ill(
  workload: MemberFacts["workload"],
  more: Partial<MemberFacts> = {},
  o: Observation = healthy(),
): Observation {
  return change(o, "demo-2", { workload, answer: UNREACHABLE, unhealthySince: NOW, ...more });
}

const [, demo2] = healthy().members;
if (demo2?.workload.state !== "running") throw new Error("a healthy member runs");
/** How demo-2 runs while it is well. */
export const runs = demo2.workload;

export const ended = (detail: string, cause: "killed" | "unknown" = "killed") =>
  ({ state: "exited", since: NOW, restarts: 1, cause, detail, startedFrom: runs.startedFrom }) as const;
