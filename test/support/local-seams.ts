/** What a cluster of `local-cluster.ts` runs on: the real seams of this machine, and what a test puts between. */
import path from "node:path";
import process from "node:process";
import type { EtcdClusterSpec } from "../../src/api/etcd-cluster-spec.ts";
import type { MemberAddress } from "../../src/core/record.ts";
import type { Layout } from "../../src/local/layout.ts";
import type { LocalPlatform } from "../../src/local/platform.ts";
import type { Store } from "../../src/local/store.ts";
import { createPki } from "../../src/pki/issue.ts";
import { systemClock, type Clock } from "../../src/seams/clock.ts";
import { systemDisk } from "../../src/seams/disk.ts";
import type { Pki } from "../../src/seams/pki.ts";
import { systemProcesses, type Processes, type RunningProcess } from "../../src/seams/processes.ts";
import { systemRandom } from "../../src/seams/random.ts";
import { dataSeams } from "./data-seams.ts";
import { blockPorts } from "./free-ports.ts";

export interface LocalOptions {
  /** Called when a member's process has ended and before anybody hears of it. */
  readonly onExit?: (dataDir: string) => void;
  /** How much faster time passes for what measures durations. */
  readonly hurry?: number;
  /** Changes the spec after this platform's own checks, for what they would refuse. */
  readonly unchecked?: (spec: EtcdClusterSpec) => EtcdClusterSpec;
  /** Where a newcomer listens, if not where it is known to be: something stands in between. */
  readonly between?: (address: MemberAddress, basePort: number) => MemberAddress;
  /** Called before a member's process is started. */
  readonly onSpawn?: (member: string) => Promise<void>;
  readonly pki?: Pki;
  /** Added to the environment of the controller and of its processes. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** How far the controller's wall clock is ahead. */
  readonly aheadMs?: () => number;
}

export const seams = {
  disk: systemDisk,
  clock: systemClock,
  random: systemRandom,
  ports: blockPorts,
  pki: createPki(systemClock, systemRandom),
  ...dataSeams,
  env: { PATH: process.env["PATH"] },
  program: {
    command: process.execPath,
    args: [path.join(import.meta.dirname, "..", "..", "src", "cli", "main.ts")],
  },
};

export type Child = RunningProcess & { readonly member: string };

/** Real processes, each put into `children`, so that the test's end is theirs. */
export function rememberedProcesses(
  files: Layout,
  children: Child[],
  { onSpawn, onExit }: LocalOptions,
): Processes {
  const spawn: Processes["spawn"] = async (request) => {
    const member = path.basename(request.log, ".log");
    await onSpawn?.(member);
    const child = await systemProcesses.spawn(request);
    children.push({ ...child, member, signal: (signal) => child.signal(signal) });
    if (onExit === undefined) return child;
    const exit = child.exit.then((end) => {
      onExit(files.volume(member).data);
      return end;
    });
    return { ...child, exit, signal: (signal) => child.signal(signal) };
  };
  return { ...systemProcesses, spawn };
}

export function hurriedClock({ hurry = 1, aheadMs }: LocalOptions): Clock {
  if (hurry === 1 && aheadMs === undefined) return systemClock;
  return {
    ...systemClock,
    monotonic: () => hurry * systemClock.monotonic(),
    now: () => systemClock.now() + (aheadMs?.() ?? 0),
  };
}

/** Changes the addresses that newcomers are offered; their records then carry them for life. */
export function standBetween(platform: LocalPlatform, store: () => Store, { between }: LocalOptions): void {
  if (between === undefined) return;
  const read = platform.read.bind(platform);
  platform.read = async () => {
    const [state, cluster] = await Promise.all([read(), store().cluster()]);
    if (state === undefined || cluster === undefined) return state;
    const offers = state.platform.offers.map((offer) => ({
      ...offer,
      address: between(offer.address, cluster.basePort),
    }));
    return { ...state, platform: { ...state.platform, offers } };
  };
}
