/**
 * What is remembered of a member's process, so that the next controller finds it again: from what it was
 * started, who it is, whether it is being stopped, how it ended. One file per member under `run/`.
 */
import type { RestoreFault } from "../api/bootstrap.ts";
import { meaningOf } from "../core/assess/exit-causes.ts";
import type { ExitCause } from "../core/observation.ts";
import { doubledMs, type Backoff } from "../seams/backoff.ts";
import type { Disk } from "../seams/disk.ts";
import type { ProcessIdentity } from "../seams/processes.ts";
import type { Layout } from "./layout.ts";

interface End {
  readonly cause: ExitCause;
  readonly detail: string;
}

export interface RunFile {
  /** The hash of what its record said when it was started. */
  readonly startedFrom: string;
  readonly startedAt: number;
  readonly restarts: number;
  /** Ends in a row that came soon after the start: the reason to wait longer before the next one. */
  readonly quickEnds: number;
  /** It served through quorum, whatever ended it then; a controller that dies forgets it, and waits longer. */
  readonly served?: boolean;
  /** Absent between the decision to start it and the moment it has a pid. */
  readonly identity?: ProcessIdentity;
  readonly stoppingSince?: number;
  /** How the run before this one ended. */
  readonly lastEnd?: End;
  readonly exit?: End & { readonly at: number; readonly restore?: RestoreFault };
}

export async function readRunFiles(disk: Disk, layout: Layout): Promise<Map<string, RunFile>> {
  const found = new Map<string, RunFile>();
  for (const file of await disk.list(layout.run)) {
    if (!file.endsWith(".json") || file.startsWith(".")) continue;
    const name = file.slice(0, -".json".length);
    const text = await disk.read(layout.runOf(name));
    const run = text === undefined ? undefined : parse(text);
    if (run) found.set(name, run);
  }
  return found;
}

/** A damaged file costs nothing: the process is then found by its arguments. */
function parse(text: string): RunFile | undefined {
  try {
    const run = JSON.parse(text) as RunFile;
    return typeof run.startedFrom === "string" ? run : undefined;
  } catch {
    return undefined;
  }
}

export async function writeRunFile(disk: Disk, layout: Layout, name: string, run: RunFile): Promise<void> {
  await disk.makeDirectory(layout.run);
  await disk.write(layout.runOf(name), `${JSON.stringify(run)}\n`, { private: true });
}

/** A process that ran this long counts as having worked. */
const STABLE_MS = 30_000;
const BACKOFF: Backoff = { firstMs: 1_000, longestMs: 10_000 };
/** Corrupt data does not heal; the rare misjudgement does. */
const SELDOM_MS = 60_000;

/** Somebody who ends it again and again must not make an outage longer each time: what served waits a second at most. */
const MOST_AFTER_SERVING = 2;

export function quickEndsAfter({ startedAt, quickEnds, served = false }: RunFile, now: number): number {
  if (now - startedAt >= STABLE_MS) return 0;
  return served ? Math.min(quickEnds + 1, MOST_AFTER_SERVING) : quickEnds + 1;
}

/**
 * When an ended process is started again: at once, then after 1 s, and where it does not serve, 2 s, … 10 s. Undefined: never by itself. Where the
 * clock was set back since it ended, that time is not waited for.
 */
export function restartAt({ exit, quickEnds }: RunFile, now: number): number | undefined {
  if (!exit) return undefined;
  const { restart } = meaningOf(exit.cause);
  // Its data is gone or can never serve again; only a step can help (I4, R8).
  if (restart === "never") return undefined;
  if (exit.at > now) return now;
  if (restart === "seldom") return exit.at + SELDOM_MS;
  return exit.at + (quickEnds <= 1 ? 0 : doubledMs(quickEnds - 1, BACKOFF));
}
