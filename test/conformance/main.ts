/**
 * `npm run sim:conformance -- [--etcd [--version 3.6]] [--calls N] [--seed N]
 * [--patience SECONDS] [--trace]`: random calls to a model and
 * to the real thing, all answers compared: the API server's, or with `--etcd` that of etcd in each version. Ends with a
 * failure when they disagree once.
 */
import process from "node:process";
import { parseArgs } from "node:util";
import { conform } from "../../sim/model-kube/conformance/run.ts";
import { exactVersion } from "../../src/etcd/versions.ts";
import { newestVersions } from "../support/etcd-versions.ts";
import { compareEtcd } from "./etcd.ts";
import { conformanceGround, TOLERATION_SECONDS } from "./kube-ground.ts";

const { values } = parseArgs({
  options: {
    calls: { type: "string", default: "10000" },
    seed: { type: "string", default: "1" },
    etcd: { type: "boolean" },
    version: { type: "string" },
    /** Seconds. */
    patience: { type: "string", default: "60" },
    trace: { type: "boolean" },
  },
});

const say = (line: string) => void process.stdout.write(`${line}\n`);
const MOST_TOLD = 25;
const clip = (line: string) => (line.length > 600 ? `${line.slice(0, 300)} … ${line.slice(-250)}` : line);
const [calls, seed] = [Number(values.calls), Number(values.seed)];

process.exitCode = (await (values.etcd ? etcd() : apiServer())) === 0 ? 0 : 1;

async function etcd(): Promise<number> {
  let disagreements = 0;
  // Ended early, it still ends its processes and tells how far it came.
  const stop = new AbortController();
  for (const name of ["SIGINT", "SIGTERM"] as const) process.once(name, () => stop.abort());
  const asked = values.version === undefined ? undefined : exactVersion(values.version);
  if (values.version !== undefined && asked === undefined)
    throw new Error(`no etcd ${values.version} is known`);
  for (const version of asked === undefined ? newestVersions : [asked]) {
    if (stop.signal.aborted) break;
    const began = performance.now();
    const report = await compareEtcd({
      version,
      calls,
      seed,
      patienceMs: 1_000 * Number(values.patience),
      signal: stop.signal,
      onDifference: say,
      ...(values.trace ? { onStep: say } : {}),
    });
    const seconds = ((performance.now() - began) / 1_000).toFixed(1);
    say(
      `etcd ${version}: ${report.calls} calls (seed ${seed}), ${report.refused} of them refused by both, ${report.lives} starts and stops, ${report.unsettled} rounds ended by an election, ${report.disagreements} disagreements, ${seconds} s`,
    );
    disagreements += report.disagreements;
  }
  return disagreements;
}

async function apiServer(): Promise<number> {
  const ground = await conformanceGround();
  try {
    const began = performance.now();
    let told = 0;
    const report = await conform({
      real: ground.transport,
      seed,
      calls,
      tolerationSeconds: TOLERATION_SECONDS,
      now: () => Date.now(),
      deadline: (ms) => AbortSignal.timeout(ms),
      onDifference: (text) => {
        if (++told <= MOST_TOLD) say(text.split("\n").slice(0, 4).map(clip).join("\n"));
      },
    });
    const seconds = (performance.now() - began) / 1_000;
    say(
      `${report.calls} calls (seed ${values.seed}), ${report.watches} of them watches, ${report.refused} refused by both, ${report.disagreements} disagreements, ${seconds.toFixed(1)} s`,
    );
    return report.disagreements;
  } finally {
    await ground.down();
  }
}
