/**
 * `npm run sim:observations -- --runs N [--seed S] [--path P]`: the properties of decide() on N random observations, all
 * of them on each. Ends at the first that one does not hold for, made smaller, with the seed and the path that give it
 * again; exit 1.
 */
import process from "node:process";
import { parseArgs } from "node:util";
import fc from "fast-check";
import { arbitraryObservation } from "../../src/core/testing/arbitrary-observation.ts";
import { decideProperties } from "../../src/core/testing/decide-properties.ts";
import { systemClock } from "../../src/seams/clock.ts";

const EVERY_MS = 5_000;

const { values } = parseArgs({
  options: {
    runs: { type: "string", default: "100000" },
    seed: { type: "string", default: "1" },
    path: { type: "string" },
  },
});
const runs = wholeNumber("runs", values.runs);
const seed = wholeNumber("seed", values.seed);

const began = systemClock.monotonic();
const seconds = () => (systemClock.monotonic() - began) / 1_000;
let tried = 0;
let reported = 0;

function progress(): void {
  tried += 1;
  if (seconds() * 1_000 - reported < EVERY_MS) return;
  reported = seconds() * 1_000;
  process.stderr.write(`${seconds().toFixed(0).padStart(5)} s  ${tried} of ${runs} observations\n`);
}

const property = fc.property(arbitraryObservation, (o) => {
  progress();
  for (const { title, check } of decideProperties) {
    try {
      check(o);
    } catch (cause) {
      const why = cause instanceof Error ? cause.message : String(cause);
      throw new Error(`does not hold: ${title}: ${why}`, { cause });
    }
  }
});

const details = fc.check(property, {
  numRuns: runs,
  seed,
  includeErrorInReport: true,
  ...(values.path !== undefined && { path: values.path }),
});
if (details.failed) process.stdout.write(`${fc.defaultReportMessage(details)}\n`);
const found = details.failed ? 1 : 0;
process.stdout.write(
  `${details.numRuns} observations, ${found} violations, ${decideProperties.length} properties, ${seconds().toFixed(1)} s\n`,
);
process.exitCode = found;

function wholeNumber(name: string, text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < 1)
    throw new RangeError(`--${name} must be a whole number from 1 on, not ${text}`);
  return value;
}
