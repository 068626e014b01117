/**
 * Runs the comparison of the model etcd with real ones of a version, and tells what came of it. Most of its time goes
 * by waiting (elections, the five seconds of R19), so several worlds of the same version run side by side: lanes.
 */
import type { EtcdReport, Progress } from "../../sim/models/etcd/conformance/options.ts";
import { conformEtcd } from "../../sim/models/etcd/conformance/run.ts";
import { RealSide } from "./etcd-side.ts";

export interface EtcdConformance {
  readonly version: string;
  readonly calls: number;
  /** The first lane's; each further lane has the next one. */
  readonly seed: number;
  readonly lanes?: number;
  /** Begins with this round of calls. */
  readonly round?: number;
  readonly callsPerRound?: number;
  readonly lives?: number;
  readonly callsPerDisaster?: number;
  readonly patienceMs?: number;
  readonly signal?: AbortSignal;
  readonly onDifference: (text: string) => void;
  readonly onStep?: (text: string) => void;
}

/** A comparison that runs: how far it is, and what comes of it. */
export interface Comparing {
  readonly sofar: () => EtcdReport;
  readonly report: Promise<EtcdReport>;
}

const NOTHING: EtcdReport = { calls: 0, lives: 0, disasters: 0, refused: 0, unsettled: 0, disagreements: 0 };

export function compareEtcd(options: EtcdConformance): Comparing {
  const { lanes = 1, seed, calls } = options;
  const each = Array.from({ length: lanes }, (): Progress => ({ report: NOTHING }));
  const sofar = () => each.map(({ report }) => report).reduce(sum);
  const lane = async (progress: Progress, i: number) => {
    await using real = await RealSide.prepare();
    await conformEtcd({
      ...options,
      progress,
      seed: seed + i,
      calls: Math.ceil(calls / lanes),
      real,
      slots: real.slots,
      now: () => Date.now(),
      wait: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
    });
  };
  return { sofar, report: Promise.all(each.map(lane)).then(sofar) };
}

function sum(a: EtcdReport, b: EtcdReport): EtcdReport {
  return {
    calls: a.calls + b.calls,
    lives: a.lives + b.lives,
    disasters: a.disasters + b.disasters,
    refused: a.refused + b.refused,
    unsettled: a.unsettled + b.unsettled,
    disagreements: a.disagreements + b.disagreements,
  };
}
