/**
 * `npm run linearizability [-- --minutes <n>] [--seed <n>] [--calm] [--pictures <directory>]`: whole lives of
 * clusters on this machine under faults, with recorded clients, each judged at its end and each from the next seed,
 * until the minutes are over. A life that ends in an error is reported with its seed, and the next one begins. `npm test`
 * has a sample of it.
 */
import process from "node:process";
import { parseArgs } from "node:util";
import { etcdOf } from "../support/etcd-cluster.ts";
import { liveThrough, versions, type LifeReport } from "./phases.ts";
import { describeReport } from "./run.ts";

const WANTED_PER_SECOND = 200;

const { values } = parseArgs({
  options: {
    minutes: { type: "string", default: "5" },
    seed: { type: "string", default: "1" },
    calm: { type: "boolean", default: false },
    pictures: { type: "string" },
  },
});
const [minutes, seed] = [Number(values.minutes), Number(values.seed)];
if (!(minutes > 0) || !Number.isInteger(seed) || seed < 0) {
  console.error("--minutes is a number above 0, --seed a whole number from 0 on");
  process.exit(2);
}

const stop = new AbortController();
for (const name of ["SIGINT", "SIGTERM"] as const) process.once(name, () => stop.abort());
await Promise.all(versions.map(etcdOf));
const until = performance.now() + minutes * 60_000;
/** Histories are large: of each life only what is summed up is kept. */
const reports: Omit<LifeReport, "history">[] = [];
const failed: number[] = [];
for (let life = seed; !stop.signal.aborted && (life === seed || performance.now() < until); life++) {
  console.log(`\nseed ${life}`);
  const report = await livesThrough(life);
  if (!report) continue;
  const { history: _, ...rest } = report;
  reports.push(rest);
  console.log(row("phase", "seconds", "operations", "per second", "answered"));
  for (const { name, seconds, operations, answered } of report.phases)
    console.log(
      row(name, seconds.toFixed(1), String(operations), (operations / seconds).toFixed(0), String(answered)),
    );
  const faults = [...report.faults].map(([kind, count]) => `${count} × ${kind}`);
  console.log(
    `faults: ${faults.join(", ") || "none"}; slow disks by ${report.slowedBy.join(", ") || "nothing"}`,
  );
  console.log(describeReport(report));
}

const sum = (of: (report: (typeof reports)[number]) => number) =>
  reports.reduce((all, report) => all + of(report), 0);
const perSecond = sum(({ operations }) => operations) / (sum(({ durationMs }) => durationMs) / 1_000);
const violations = sum((report) => report.violations.length);
const undecided = reports.filter(({ verdict }) => verdict.kind === "undecided").length;
console.log(
  `\n${reports.length} ${reports.length === 1 ? "life" : "lives"}, seeds ${seed} to ${seed + reports.length + failed.length - 1}: ${sum(({ operations }) => operations)} operations, ${perSecond.toFixed(0)} per second, ${sum(({ verdict }) => verdict.events)} events; ${violations} violations, ${undecided} undecided`,
);
if (perSecond < WANTED_PER_SECOND)
  console.log(`that is slower than the ${WANTED_PER_SECOND} per second wanted`);
const disputed = reports.filter(({ secondOpinion }) =>
  [...secondOpinion.keys.values()].includes("none"),
).length;
if (disputed > 0) console.log(`the search alone finds no order in ${disputed} of them`);
const found = reports.filter((report) => report.violations.length > 0).map((report) => report.seed);
if (found.length > 0) console.log(`violations with seeds ${found.join(", ")}`);
if (failed.length > 0) console.log(`ended in an error: seeds ${failed.join(", ")}`);
const isSlow = !(perSecond >= WANTED_PER_SECOND);
if (violations > 0 || undecided > 0 || disputed > 0 || failed.length > 0 || isSlow) process.exitCode = 1;

async function livesThrough(life: number): Promise<LifeReport | undefined> {
  try {
    return await liveThrough({
      seed: life,
      storm: !values.calm,
      signal: stop.signal,
      onPhase: (name) => console.log(`  ${name} …`),
      ...(values.pictures !== undefined && { pictures: values.pictures }),
    });
  } catch (error) {
    failed.push(life);
    console.log(`  ended in an error: ${error instanceof Error ? error.stack : String(error)}`);
    return undefined;
  }
}

function row(...[name = "", ...cells]: string[]): string {
  return [`  ${name.padEnd(22)}`, ...cells.map((cell) => cell.padStart(12))].join("");
}
