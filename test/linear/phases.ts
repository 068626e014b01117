/** The long run: a whole life of a cluster, phase after phase, with faults all the while. */
import { SeededRandom } from "../../sim/engine/random.ts";
import { AgedPki, hibernate, outage, renewLeaves, replace, roll, scale, upgrade } from "./lifecycle.ts";
import { LinearRun, type RunReport } from "./run.ts";

export interface PhaseReport {
  readonly name: string;
  readonly seconds: number;
  readonly operations: number;
  readonly answered: number;
}

export interface LifeReport extends RunReport {
  readonly seed: number;
  readonly phases: readonly PhaseReport[];
  readonly faults: ReadonlyMap<string, number>;
  readonly slowedBy: readonly string[];
}

export interface LifeOptions {
  readonly seed: number;
  readonly pictures?: string;
  readonly storm?: boolean;
  /** No further phase begins; what was recorded until then is judged. */
  readonly signal?: AbortSignal;
  readonly onPhase?: (name: string) => void;
}

const [FIRST, SECOND, THIRD] = ["3.5.35", "3.6.16", "3.7.3"] as const;

export const versions: readonly string[] = [FIRST, SECOND, THIRD];

export async function liveThrough(options: LifeOptions): Promise<LifeReport> {
  const { seed, signal } = options;
  const aged = new AgedPki();
  const spec = {
    version: FIRST,
    replicas: 3,
    tls: { mode: "Managed" },
    // Less of the log to leave behind before 3.7 (H5).
    options: { snapshotCount: 1_000 },
  } as const;
  await using run = await LinearRun.start(spec, {
    seed,
    pki: aged.pki,
    ...(options.pictures !== undefined && { pictures: options.pictures }),
  });
  const phases: [string, () => Promise<unknown>][] = [
    ["scale 3 to 5", () => scale(run, 5)],
    ["scale 5 to 3", () => scale(run, 3)],
    ["replace a follower", () => replace(run, "follower")],
    ["replace the leader", () => replace(run, "leader")],
    ["renew the leaves", () => renewLeaves(run, aged)],
    ["total outage", () => outage(run)],
    ["upgrade 3.5 to 3.6", () => upgrade(run, SECOND)],
    ["upgrade 3.6 to 3.7", () => upgrade(run, THIRD)],
    ["new options", () => roll(run)],
    ["downgrade 3.7 to 3.6", () => upgrade(run, SECOND)],
    ["hibernate and wake", () => hibernate(run)],
  ];
  const stop = new AbortController();
  const storm = options.storm === false ? undefined : run.faults.storm(new SeededRandom(seed), stop.signal);
  storm?.catch(() => stop.abort()); // Told of below, when it is waited for.
  const times: { name: string; from: number; until: number }[] = [];
  try {
    for (const [name, work] of phases) {
      if (signal?.aborted) break;
      options.onPhase?.(name);
      run.note(name);
      const from = performance.now();
      await work();
      times.push({ name, from, until: performance.now() });
    }
  } finally {
    stop.abort();
    await storm;
  }
  const report = await run.finish(`a cluster's life, seed ${seed}`);
  return {
    ...report,
    seed,
    phases: times.map(({ name, from, until }) => {
      const during = report.history.operations.filter(({ call }) => call >= from && call < until);
      const answered = during.filter(({ outcome }) => outcome.kind === "answered").length;
      return { name, seconds: (until - from) / 1_000, operations: during.length, answered };
    }),
    faults: run.faults.made,
    slowedBy: [...run.faults.slowedBy],
  };
}
