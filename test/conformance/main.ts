/**
 * `npm run sim:conformance -- [--etcd [--version 3.6] [--lanes N] [--round N] [--patience SECONDS] [--disaster CALLS] [--trace]] [--calls N] [--seed N]`:
 * random calls to a model and to the real thing, all answers compared: the API server's, or with `--etcd` those of etcd
 * in each version, N calls each. Ends with a failure when they disagree once.
 */
import process from "node:process";
import { parseArgs } from "node:util";
import { conform } from "../../sim/models/kube/conformance/run.ts";
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
    /** The round of a seed that a disagreement was reported, with `--lanes 1`. */
    round: { type: "string", default: "1" },
    /** Worlds of each version, side by side. */
    lanes: { type: "string", default: "4" },
    /** Seconds. */
    patience: { type: "string", default: "60" },
    /** After so many calls the whole cluster is lost and comes back from a snapshot or a survivor. */
    disaster: { type: "string", default: "100" },
    trace: { type: "boolean" },
  },
});

const say = (line: string) => void process.stdout.write(`${line}\n`);
const MOST_TOLD = 25;
const PROGRESS_MS = 15_000;
const clip = (line: string) => (line.length > 600 ? `${line.slice(0, 300)} … ${line.slice(-250)}` : line);
const [calls, seed] = [Number(values.calls), Number(values.seed)];

process.exitCode = (await (values.etcd ? etcd() : apiServer())) === 0 ? 0 : 1;

async function etcd(): Promise<number> {
  // Ended early, it still ends its processes and tells how far it came.
  const stop = new AbortController();
  for (const name of ["SIGINT", "SIGTERM"] as const) process.once(name, () => stop.abort());
  const asked = values.version === undefined ? undefined : exactVersion(values.version);
  if (values.version !== undefined && asked === undefined)
    throw new Error(`no etcd ${values.version} is known`);
  const lanes = Number(values.lanes);
  const began = performance.now();
  const seconds = () => `${((performance.now() - began) / 1_000).toFixed(0)} s`;
  // Side by side: all of it is mostly waiting.
  const running = (asked === undefined ? newestVersions : [asked]).map((version) => {
    const comparing = compareEtcd({
      version,
      calls,
      seed,
      lanes,
      round: Number(values.round),
      callsPerDisaster: Number(values.disaster),
      patienceMs: 1_000 * Number(values.patience),
      signal: stop.signal,
      onDifference: say,
      ...(values.trace ? { onStep: (text: string) => say(`${version} ${text}`) } : {}),
    });
    const ended = comparing.report.then((report) => ({ report, after: seconds() }));
    return { version, sofar: comparing.sofar, ended };
  });
  const progress = setInterval(() => {
    const each = running.map(({ version, sofar }) => `${version} at ${sofar().calls}`);
    say(`${seconds()}: etcd ${each.join(", ")}`);
  }, PROGRESS_MS);
  try {
    let disagreements = 0;
    const lines: string[] = [];
    for (const { version, ended } of running) {
      const { report, after } = await ended;
      disagreements += report.disagreements;
      const seeds = lanes > 1 ? `seeds ${seed} to ${seed + lanes - 1}` : `seed ${seed}`;
      lines.push(
        `etcd ${version}: ${report.calls} calls (${seeds}), ${report.refused} of them refused by both, ${report.lives} lives, ${report.disasters} times lost and brought back, ${report.unsettled} rounds ended by a race of etcd's own, ${report.disagreements} disagreements, ${after}`,
      );
    }
    lines.forEach(say);
    return disagreements;
  } finally {
    clearInterval(progress);
  }
}

async function apiServer(): Promise<number> {
  const ground = await conformanceGround();
  try {
    const began = performance.now();
    let reported = 0;
    const report = await conform({
      real: ground.transport,
      seed,
      calls,
      tolerationSeconds: TOLERATION_SECONDS,
      now: () => Date.now(),
      deadline: (ms) => AbortSignal.timeout(ms),
      onDifference: (text) => {
        if (++reported <= MOST_TOLD) say(text.split("\n").slice(0, 4).map(clip).join("\n"));
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
