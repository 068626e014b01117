/**
 * How long processes of low priority have computed that really make way for ours: a nice value counts only among
 * processes of one control group; between two groups (or two sessions with autogroups) the weights of the groups do.
 */
import { readFileSync } from "node:fs";

/** Undefined where there is no such file, or we may not read it. */
type Read = (path: string) => string | undefined;

/** Milliseconds since start-up of the machine or group; 0 where Linux does not say whose they were. */
export function ownNiceMs(read: Read = readIfThere): number {
  if (read("/proc/sys/kernel/sched_autogroup_enabled")?.trim() === "1") return 0;
  const groups = (read("/proc/self/cgroup") ?? "").split("\n").map((line) => line.split(":"));
  const pathOf = (of: (controllers: string) => boolean) =>
    groups.find(([, controllers]) => controllers !== undefined && of(controllers))?.[2];
  const path = pathOf((controllers) => controllers === "");
  const divided = pathOf((controllers) => controllers.split(",").includes("cpu"));
  // Where cgroup v1 divides the cores, the counters of v2 must be those of the same group.
  if (path === undefined || (divided !== undefined && divided !== path)) return 0;
  for (const mount of ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"]) {
    const counted = /^nice_usec (\d+)$/m.exec(read(`${mount}${path.replace(/\/$/, "")}/cpu.stat`) ?? "");
    if (counted) return Number(counted[1]) / 1_000;
  }
  return 0;
}

function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}
