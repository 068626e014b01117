/** The steps of `quorate recover node` that start programs: the data is prepared, and served in the foreground. */
import path from "node:path";
import { IMAGE_REPOSITORY } from "../../../api/etcd-cluster-spec.ts";
import { MAX_LEARNERS } from "../../../core/assess/learner-limit.ts";
import { isFrom } from "../../../core/config/config-keys.ts";
import { HttpProbe } from "../../../etcd/probe.ts";
import { EtcdProcess, type ProcessWorld } from "../../../etcd/process.ts";
import { createPki } from "../../../pki/issue.ts";
import { NotOfThisPlan, prepareNode } from "../../../recovery/node/prepare.ts";
import type { NodePlan } from "../../../recovery/node/plan.ts";
import { servingFlags, staticPod, type Serving } from "../../../recovery/node/serve.ts";
import { systemDisk } from "../../../seams/disk.ts";
import { systemProcesses } from "../../../seams/processes.ts";
import { CommandError, EXIT } from "../../exit.ts";
import type { CliIo } from "../../io.ts";
import { haveEtcd } from "../../local/installing.ts";
import type { NodeFlags } from "./node-flags.ts";

interface Chosen {
  readonly plan: NodePlan;
  readonly workDir: string;
}

interface Started {
  readonly plan: Pick<NodePlan, "hash" | "version" | "name">;
  readonly workDir: string;
  readonly serving: Serving;
}

/** Of etcd, without which the log cannot be replayed. */
function neededFlags({ version }: Pick<NodePlan, "version">): string[] {
  return isFrom(version, "3.6") ? [`--max-learners=${MAX_LEARNERS}`] : [];
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
    const flags = neededFlags(chosen.plan);
    await prepareNode({ ...chosen, flags, peerURL, etcd, world, pki, random, env, signal, tell });
  } catch (error) {
    if (!(error instanceof NotOfThisPlan)) throw error;
    throw new CommandError(
      EXIT.conflict,
      `${error.message}; nothing was done. Pass an empty directory with --to, or none`,
      { cause: error },
    );
  }
}

/** By the kubelet, or here. */
export async function serve(io: CliIo, flags: NodeFlags, started: Started): Promise<number> {
  const { plan, serving } = started;
  if (flags.manifests === undefined) return await serveInForeground(io, started);
  const repository = flags["image-repository"] ?? IMAGE_REPOSITORY;
  const pod = staticPod(serving, { image: `${repository}:v${plan.version}`, plan: plan.hash });
  const file = path.join(path.resolve(io.cwd, flags.manifests), `${plan.name}-recovered.yaml`);
  const { stringify } = await import("../../../seams/yaml.ts");
  if (!(await systemDisk.create(file, stringify(pod, { lineWidth: 0 }))))
    throw new CommandError(
      EXIT.conflict,
      `${file} exists already: remove it if its etcd is not wanted any more`,
    );
  io.stdout.write(`Wrote ${file}. The kubelet starts etcd at ${serving.clientURL}.\n`);
  return EXIT.done;
}

/** Until it ends, or the user ends it. */
async function serveInForeground(io: CliIo, { plan, workDir, serving }: Started): Promise<number> {
  const world: ProcessWorld = { processes: systemProcesses, disk: systemDisk, clock: io.clock };
  const { etcd } = await haveEtcd(plan.version, io);
  const log = path.join(workDir, "etcd.log");
  const process = await EtcdProcess.start(world, {
    binary: etcd,
    args: [...servingFlags(serving), ...neededFlags(plan)],
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
