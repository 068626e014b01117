/**
 * Where the time goes while Pods start: when the last of them was there, placed, had its address, ran, was ready; and
 * how long each took to be placed and to run, which is the scheduler's, the disk's and the kubelet's part.
 */
import type { Pod } from "kubernetes-types/core/v1.d.ts";
import { isReady, type Installed } from "./installed.ts";
import { median } from "./measure.ts";

const STAGES = ["made", "placed", "with an address", "running", "ready"] as const;

/** One moment for each of the stages. */
export type Stages = readonly number[];

/** Resolves with the stages when `size` Pods are ready, in milliseconds from the call. */
export async function stagesOf(installed: Installed, cluster: string, size: number): Promise<Stages> {
  const began = performance.now();
  const reached: number[] = [];
  await installed.until(`${size} ready Pods of ${cluster}`, () => {
    const pods = installed.pods(cluster);
    const passed = Math.min(...pods.map(stageOf), pods.length < size ? 0 : STAGES.length);
    while (reached.length < passed) reached.push(performance.now() - began);
    return reached.length === STAGES.length;
  });
  return reached;
}

/** Milliseconds from each Pod's creation to its container, of those that are made while `work` runs. */
export async function startsDuring(
  installed: Installed,
  cluster: string,
  work: () => Promise<unknown>,
): Promise<number[]> {
  const known = new Set(installed.pods(cluster).map(({ metadata }) => metadata?.uid));
  const [made, ran] = [new Map<string, number>(), new Map<string, number>()];
  const stop = installed.follow(() => {
    for (const pod of installed.pods(cluster)) {
      const { uid = "" } = pod.metadata ?? {};
      if (known.has(uid)) continue;
      if (!made.has(uid)) made.set(uid, performance.now());
      if (!ran.has(uid) && stageOf(pod) >= STAGES.indexOf("running") + 1) ran.set(uid, performance.now());
    }
  });
  try {
    await work();
  } finally {
    stop();
  }
  return [...ran].map(([uid, at]) => at - (made.get(uid) ?? at));
}

/** How many of the stages a Pod has reached. */
function stageOf(pod: Pod): number {
  const { spec, status } = pod;
  if (isReady(pod)) return 5;
  if (status?.containerStatuses?.some(({ state }) => state?.running)) return 4;
  if (status?.podIP) return 3;
  return spec?.nodeName ? 2 : 1;
}

export function tellStages(who: string, runs: readonly Stages[]): void {
  const texts = STAGES.map((stage, i) => `${stage} ${median(runs.map((run) => run[i] ?? 0)).toFixed(0)}`);
  console.log(`    ${who}, the last Pod, median ms: ${texts.join(", ")}`);
}
