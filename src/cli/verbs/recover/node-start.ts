/** The steps of `quorate recover node` that start programs: the data is prepared, and served in the foreground. */
import path from "node:path";
import { HttpProbe } from "../../../etcd/probe.ts";
import { EtcdProcess, type ProcessWorld } from "../../../etcd/process.ts";
import { createPki } from "../../../pki/issue.ts";
import { NotOfThisPlan, prepareNode } from "../../../recovery/node/prepare.ts";
import type { NodePlan } from "../../../recovery/node/plan.ts";
import { servingFlags, type Serving } from "../../../recovery/node/serve.ts";
import { systemDisk } from "../../../seams/disk.ts";
import { systemProcesses } from "../../../seams/processes.ts";
import { CommandError, EXIT } from "../../exit.ts";
import type { CliIo } from "../../io.ts";
import { haveEtcd } from "../../local/installing.ts";

interface Chosen {
  readonly plan: NodePlan;
  readonly workDir: string;
  /** Of etcd, without which the log cannot be replayed. */
  readonly flags: readonly string[];
}

const START_TIMEOUT_MS = 300_000;

export async function prepare(
  io: CliIo,
  { peerURL, ...chosen }: Chosen & { peerURL: string },
): Promise<void> {
  const { clock, random, env, signal } = io;
  const world: ProcessWorld = { processes: systemProcesses, disk: systemDisk, clock };
  const pki = createPki(clock, random);
  const etcd = await haveEtcd(chosen.plan.version, io);
  const tell = (text: string) => void io.stderr.write(`${text}\n`);
  try {
    await prepareNode({ ...chosen, peerURL, etcd, world, pki, random, env, signal, tell });
  } catch (error) {
    if (!(error instanceof NotOfThisPlan)) throw error;
    throw new CommandError(
      EXIT.conflict,
      `${error.message}; nothing was done. Pass an empty directory with --to, or none`,
      { cause: error },
    );
  }
}

/** Until it ends, or the user ends it. */
export async function serveInForeground(io: CliIo, chosen: Chosen & { serving: Serving }): Promise<number> {
  const { plan, workDir, serving, flags } = chosen;
  const world: ProcessWorld = { processes: systemProcesses, disk: systemDisk, clock: io.clock };
  const { etcd } = await haveEtcd(plan.version, io);
  const log = path.join(workDir, "etcd.log");
  const process = await EtcdProcess.start(world, {
    binary: etcd,
    args: [...servingFlags(serving), ...flags],
    env: { PATH: io.env["PATH"], HOME: workDir },
    cwd: workDir,
    log,
  });
  const probe = new HttpProbe();
  try {
    await process.ready((limit) => probe.ready(new URL("/health", serving.metricsURL).href, limit), {
      timeoutMs: START_TIMEOUT_MS,
      signal: io.signal,
    });
    io.stdout.write(
      `etcd ${plan.version} serves at ${serving.clientURL} from ${serving.dataDir}; Ctrl-C stops it. Log: ${log}\n`,
    );
    const left = new Promise<undefined>((resolve) =>
      io.signal.addEventListener("abort", () => resolve(undefined), { once: true }),
    );
    const exit = await Promise.race([process.exited, left]);
    if (exit) throw new CommandError(EXIT.failed, `etcd ended: ${exit.said}; ${exit.next}`);
    return EXIT.interrupted;
  } finally {
    if (process.exit === undefined) await process.stop();
  }
}
