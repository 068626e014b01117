/**
 * A slow disk for one process: the kernel throttles its writes (cgroup v1, blkio) where we may say so;
 * elsewhere the process is stopped and continued in bursts, which looks alike from outside. Which of the
 * two it was is reported, since they are not the same.
 */
import { accessSync, constants, mkdtempSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import path from "node:path";

const HIERARCHY = "/sys/fs/cgroup/blkio";
const WRITES_PER_SECOND = 25;
const BURST = { stoppedMs: 120, runningMs: 40 };

export type SlowedBy = "block throttling" | "pauses";

export interface Slowed {
  readonly by: SlowedBy;
  /** As fast as before. */
  readonly end: () => void;
}

/** Slows what the process writes below the directory. */
export function slowDisk(
  pid: number,
  directory: string,
  signal: (name: "SIGSTOP" | "SIGCONT") => boolean,
): Slowed {
  const device = deviceOf(directory);
  const group = device === undefined ? undefined : throttledGroup(device);
  if (group === undefined) return inBursts(signal);
  const end = throttle(group, pid);
  return { by: "block throttling", end };
}

/** `major:minor` of the disk that the directory is on; undefined when it is no block device. */
function deviceOf(directory: string): string | undefined {
  let lines: string[];
  try {
    lines = readFileSync("/proc/self/mountinfo", "utf8").split("\n");
  } catch {
    return undefined;
  }
  const at = path.resolve(directory);
  const mounts = lines.flatMap((line) => {
    const [, , numbers, , point] = line.split(" ");
    const holds = point !== undefined && (point === "/" || at === point || at.startsWith(`${point}/`));
    return holds && numbers !== undefined ? [{ numbers, point }] : [];
  });
  const nearest = mounts.toSorted((a, b) => b.point.length - a.point.length)[0];
  // Major 0 is no device: a tmpfs, say.
  return nearest === undefined || nearest.numbers.startsWith("0:") ? undefined : nearest.numbers;
}

/** A group of its own, so that nobody else is slowed; undefined where the kernel or our rights do not allow it. */
function throttledGroup(device: string): string | undefined {
  let group: string | undefined;
  try {
    accessSync(path.join(HIERARCHY, "blkio.throttle.write_iops_device"), constants.W_OK);
    group = mkdtempSync(path.join(HIERARCHY, "quorate-"));
    writeFileSync(path.join(group, "blkio.throttle.write_iops_device"), `${device} ${WRITES_PER_SECOND}`);
    return group;
  } catch {
    if (group !== undefined) rmdirSync(group);
    return undefined;
  }
}

/** Puts the process into the group, and back to where it was. One that has ended meanwhile is in none. */
function throttle(group: string, pid: number): () => void {
  const before = groupOf(pid);
  const moved = before !== undefined && move(pid, group);
  return () => {
    if (moved) move(pid, before);
    removeWhenEmpty(group);
  };
}

function move(pid: number, group: string): boolean {
  try {
    writeFileSync(path.join(group, "cgroup.procs"), String(pid));
    return true;
  } catch {
    return false;
  }
}

/** Where the process was before, as `4:blkio:/some/group` tells. */
function groupOf(pid: number): string | undefined {
  try {
    const lines = readFileSync(`/proc/${pid}/cgroup`, "utf8").split("\n");
    return path.join(HIERARCHY, lines.find((line) => line.includes(":blkio:"))?.split(":")[2] ?? "");
  } catch {
    return undefined;
  }
}

/** A process that was killed while it waited for the disk leaves its group a little later. */
function removeWhenEmpty(group: string, tries = 100): void {
  try {
    rmdirSync(group);
  } catch (error) {
    if (tries === 0) throw error;
    setTimeout(() => removeWhenEmpty(group, tries - 1), 100);
  }
}

function inBursts(signal: (name: "SIGSTOP" | "SIGCONT") => boolean): Slowed {
  let timer: NodeJS.Timeout | undefined;
  const stop = () => {
    signal("SIGSTOP");
    timer = setTimeout(go, BURST.stoppedMs);
  };
  const go = () => {
    signal("SIGCONT");
    timer = setTimeout(stop, BURST.runningMs);
  };
  stop();
  return {
    by: "pauses",
    end: () => {
      clearTimeout(timer);
      signal("SIGCONT");
    },
  };
}
