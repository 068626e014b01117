/**
 * Runs jobs beside each other: some at once in any case, more while the machine has cores to spare. Tests with real
 * servers mostly wait, so a quiet machine carries many; a busy one would only make them all late.
 */
import { cpus } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { ownNiceMs } from "./own-nice.ts";

export interface Job {
  /** Jobs with one in common do not run at the same time. */
  readonly needs?: string | undefined;
  /** `lane` is a number that no other job has meanwhile. */
  run(lane: number): Promise<void>;
}

export interface Lanes {
  /** As many run at once in any case. */
  readonly least: number;
  /** Never more than these. */
  readonly most: number;
  readonly hasRoom?: () => boolean;
  /** False: no further job is started. */
  readonly goOn?: () => boolean;
  readonly lookEveryMs?: number;
}

/** In their order, as far as they may run. */
export async function runInLanes(jobs: readonly Job[], lanes: Lanes): Promise<void> {
  const { least, most, hasRoom = () => true, goOn = () => true, lookEveryMs = 500 } = lanes;
  const waiting = [...jobs];
  const taken = new Map<number, { readonly job: Job; readonly done: Promise<void> }>();
  const mayStart = () => taken.size < least || (taken.size < most && hasRoom());
  for (;;) {
    const held = new Set([...taken.values()].flatMap(({ job }) => job.needs ?? []));
    const next = goOn() ? waiting.findIndex(({ needs }) => needs === undefined || !held.has(needs)) : -1;
    if (next >= 0 && mayStart()) {
      const [job] = waiting.splice(next, 1);
      const lane = [...Array(most).keys()].find((number) => !taken.has(number)) ?? 0;
      if (job) taken.set(lane, { job, done: job.run(lane).finally(() => taken.delete(lane)) });
    } else if (taken.size === 0) return;
    else {
      const done = [...taken.values()].map((one) => one.done);
      // Only who may start when the machine has room has to look again before anything ends.
      await (next >= 0 && taken.size < most
        ? Promise.race([...done, sleep(lookEveryMs, undefined, { ref: false })])
        : Promise.race(done));
    }
  }
}

interface Times {
  readonly idle: number;
  readonly all: number;
}

/** A job is given this long to show what it costs before the next is let in. */
const SHOWS_AFTER_MS = 3_000;
/** Of the time of all cores together. */
const IDLE_SHARE = 0.15;

/** True once in a while, when the cores were idle enough since it last was. */
export function roomByLoad(read: () => Times = readTimes, now: () => number = () => performance.now()) {
  let from = { ...read(), at: now() };
  return (): boolean => {
    const at = now();
    if (at - from.at < SHOWS_AFTER_MS) return false;
    const times = read();
    const idle = (times.idle - from.idle) / Math.max(1, times.all - from.all);
    from = { ...times, at };
    return idle > IDLE_SHARE;
  };
}

function readTimes(): Times {
  const each = cpus().map(({ times }) => times);
  const sum = (of: (one: (typeof each)[number]) => number) => each.reduce((total, one) => total + of(one), 0);
  return {
    // What runs at a low priority makes way, if it is of our own control group.
    idle: sum(({ idle }) => idle) + ownNiceMs(),
    all: sum(({ user, nice, sys, idle, irq }) => user + nice + sys + idle + irq),
  };
}
