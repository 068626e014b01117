/**
 * `npm run sim:exhaustive [-- --members 3|5] [--limit N] [--seconds N] [--family text] [--quick]`: every state that the
 * rules can get a cluster into, judged. `--limit` bounds the states that are gone on from, per family, and
 * `--seconds` the time. Families are searched by as many threads as there are cores (`--threads`).
 */
import { once } from "node:events";
import { availableParallelism } from "node:os";
import process from "node:process";
import { parseArgs } from "node:util";
import { Worker } from "node:worker_threads";
import { systemClock } from "../../../src/seams/clock.ts";
import { QUICK, UP_TO_3, UP_TO_5, type Family } from "./families.ts";
import type { Finding, Found, Limits } from "./search.ts";
import type { SearchRequest } from "./worker.ts";

const { values } = parseArgs({
  options: {
    members: { type: "string", default: "3" },
    limit: { type: "string" },
    seconds: { type: "string" },
    family: { type: "string" },
    quick: { type: "boolean", default: false },
    threads: { type: "string", default: String(availableParallelism()) },
  },
});
const say = (line: string) => void process.stdout.write(`${line}\n`);

process.exitCode = await main();

async function main(): Promise<number> {
  const began = systemClock.monotonic();
  const all = values.quick ? QUICK : values.members === "5" ? UP_TO_5 : UP_TO_3;
  const families = all.filter(({ name }) => name.includes(values.family ?? ""));
  if (families.length === 0) {
    say(
      `no family's name has ${JSON.stringify(values.family)} in it: ${all.map(({ name }) => name).join("; ")}`,
    );
    return 2;
  }
  const limits = {
    ...(values.limit !== undefined && { states: Number(values.limit) }),
    ...(values.seconds !== undefined && { ms: Number(values.seconds) * 1000 }),
  };
  say(
    "family                     edits faults    states transitions depth violations dead ends circles    time",
  );
  const found = await searchAll(families, limits, Number(values.threads), row);
  const sum = (pick: (one: Found) => number) => found.reduce((total, one) => total + pick(one), 0);
  const [violations, dead, circles] = [
    sum((one) => one.violations.length),
    sum((one) => one.deadEnds),
    sum((one) => one.livelocks),
  ];
  const open = found.filter(({ complete }) => !complete).length;
  say(
    `${sum((one) => one.states)} states, ${sum((one) => one.transitions)} transitions, ${violations} violations, ` +
      `${dead} dead ends, ${circles} circles, ${open} of ${found.length} searches stopped at their bound, ` +
      `${((systemClock.monotonic() - began) / 1000).toFixed(1)} s`,
  );
  return violations + dead + circles === 0 ? 0 : 1;
}

/** Each thread takes the next family when it has done with one. */
async function searchAll(
  families: readonly Family[],
  limits: Limits,
  threads: number,
  tellOf: (family: Family, found: Found) => void,
): Promise<Found[]> {
  const waiting = [...families];
  const results: Found[] = [];
  await Promise.all(
    Array.from({ length: Math.min(Math.max(1, threads), families.length) }, async () => {
      const worker = new Worker(new URL("./worker.ts", import.meta.url));
      for (let family = waiting.shift(); family !== undefined; family = waiting.shift()) {
        const found = await ask(worker, { family, limits });
        results.push(found);
        tellOf(family, found);
      }
      await worker.terminate();
    }),
  );
  return results;
}

async function ask(worker: Worker, request: SearchRequest): Promise<Found> {
  worker.postMessage(request);
  const [found] = (await once(worker, "message")) as [Found];
  return found;
}

function row({ name, edits, faults }: Family, result: Found): void {
  const cells = [
    name.padEnd(26),
    String(edits).padStart(5),
    String(faults).padStart(6),
    String(result.states).padStart(9),
    String(result.transitions).padStart(11),
    String(result.depth).padStart(5),
    String(result.violations.length).padStart(10),
    (result.complete ? String(result.deadEnds) : "unknown").padStart(9),
    String(result.livelocks).padStart(7),
    `${(result.ms / 1000).toFixed(1)} s`.padStart(9),
  ];
  say(`${cells.join(" ")}${result.complete ? "" : "  (stopped at its bound)"}`);
  for (const finding of [...result.violations, ...result.examples]) tell(finding);
}

function tell({ what, path }: Finding): void {
  say(`\n  ${what}, after ${path.length} steps:`);
  for (const line of path) say(`    ${line}`);
}
