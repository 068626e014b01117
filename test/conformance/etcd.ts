/** Runs the comparison of the model etcd with real ones of a version, and tells what came of it. */
import { conformEtcd, type EtcdReport } from "../../sim/model-etcd/conformance/run.ts";
import { RealSide } from "./etcd-side.ts";

export interface EtcdConformance {
  readonly version: string;
  readonly calls: number;
  readonly seed: number;
  readonly callsPerRound?: number;
  readonly lives?: number;
  readonly patienceMs?: number;
  readonly signal?: AbortSignal;
  readonly onDifference: (text: string) => void;
  readonly onStep?: (text: string) => void;
}

export async function compareEtcd(options: EtcdConformance): Promise<EtcdReport> {
  await using real = await RealSide.prepare();
  return await conformEtcd({
    ...options,
    real,
    slots: real.slots,
    now: () => Date.now(),
    wait: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
  });
}
