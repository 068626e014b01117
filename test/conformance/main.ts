/**
 * `npm run sim:conformance -- [--calls N] [--seed N]`: random calls to the model API server and to a real one, all
 * answers compared. Ends with a failure when they disagree once.
 */
import process from "node:process";
import { parseArgs } from "node:util";
import { conform } from "../../sim/model-kube/conformance/run.ts";
import { conformanceGround, TOLERATION_SECONDS } from "./kube-ground.ts";

const { values } = parseArgs({
  options: { calls: { type: "string", default: "10000" }, seed: { type: "string", default: "1" } },
});

const say = (line: string) => void process.stdout.write(`${line}\n`);
const MOST_TOLD = 25;
const clip = (line: string) => (line.length > 600 ? `${line.slice(0, 300)} … ${line.slice(-250)}` : line);

const ground = await conformanceGround();
try {
  const began = performance.now();
  let told = 0;
  const report = await conform({
    real: ground.transport,
    seed: Number(values.seed),
    calls: Number(values.calls),
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
  process.exitCode = report.disagreements === 0 ? 0 : 1;
} finally {
  await ground.down();
}
