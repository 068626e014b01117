/**
 * `npm run sim:schema`: every field of the spec × {valid, boundary, hostile} values × {apply, revert, edit midway}, made
 * from the schema, on clusters of every medium and without TLS; then every field of the kinds that name a cluster. `--field path` one field, told in full; `--base name`; `--every N` a sample of the trials; `--threads N`;
 * `--trace` everything that was done where something fails. Same code, same result.
 */
import { availableParallelism } from "node:os";
import process from "node:process";
import { parseArgs } from "node:util";
import { Worker } from "node:worker_threads";
import { systemClock } from "../../src/seams/clock.ts";
import { BASES, isExploredOn } from "./bases.ts";
import { DEPENDENTS, exploreDependent } from "./dependents.ts";
import type { FieldReport } from "./explore.ts";
import { fieldsOf } from "./fields.ts";
import { table } from "./report.ts";
import type { Answer, Task } from "./worker.ts";

const say = (line: string) => void process.stdout.write(`${line}\n`);

const { values } = parseArgs({
  options: {
    field: { type: "string" },
    base: { type: "string" },
    every: { type: "string", default: "1" },
    threads: { type: "string" },
    trace: { type: "boolean", default: false },
  },
});

process.exitCode = await main();

function whole(name: string, text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < 1)
    throw new RangeError(`--${name} must be a whole number from 1 on, not ${text}`);
  return value;
}

async function main(): Promise<number> {
  const began = systemClock.monotonic();
  const seconds = () => (systemClock.monotonic() - began) / 1_000;
  const fields = fieldsOf();
  const chosen = [...fields.entries()].filter(([, { path }]) => isChosen(path));
  const isOfCluster = chosen.length > 0;
  const dependents = values.base === undefined ? await exploreDependents() : [];
  if (!isOfCluster && dependents.length > 0)
    return conclude(dependents.length, dependents, [], { seconds: seconds(), threads: 1 });
  if (!isOfCluster)
    throw new RangeError(
      `there is no field ${values.field}; they are like spec.pod.env[].name, or EtcdOperation spec.compact.retain`,
    );
  const every = whole("every", values.every);
  // Those that only hand on what they are given come last: they are many and much alike.
  const ordered = chosen.toSorted(([, a], [, b]) => Number(a.handedOn) - Number(b.handedOn));
  const bases = [...BASES.entries()].filter(([, { name }]) => [name, undefined].includes(values.base));
  if (bases.length === 0)
    throw new RangeError(
      `there is no base ${values.base}; there are ${BASES.map(({ name }) => name).join(", ")}`,
    );
  const tasks: Task[] = bases.flatMap(([base, on]) =>
    ordered
      .filter(([, field]) => isExploredOn(on, field))
      .map(([index]) => ({ index, base, every, offset: index })),
  );
  const threads = Math.min(
    whole("threads", values.threads ?? String(Math.min(2, availableParallelism()))),
    tasks.length,
  );
  const reports = new Map<string, FieldReport>();
  const errors: string[] = [];
  let reported = 0;
  await shared(tasks, threads, (answer) => {
    const where = `${fields[answer.index]?.path} on the ${BASES[answer.base]?.name} base`;
    if ("error" in answer) errors.push(`${where}: ${answer.error}`);
    else reports.set(where, answer.report);
    if ("report" in answer)
      for (const { plan, message } of answer.report.failures) say(`FAILS  ${plan}: ${message}`);
    if (seconds() - reported < 10) return;
    reported = seconds();
    say(
      `${reported.toFixed(0).padStart(5)} s  ${reports.size + errors.length} of ${tasks.length} fields and bases`,
    );
  });
  const done = [...reports.values()].toSorted((a, b) => a.path.localeCompare(b.path));
  return conclude(tasks.length + dependents.length, [...done, ...dependents], errors, {
    seconds: seconds(),
    threads,
  });
}

async function exploreDependents(): Promise<FieldReport[]> {
  const wanted = (path: string) => values.field === undefined || path.endsWith(values.field);
  const reports: FieldReport[] = [];
  for (const dependent of DEPENDENTS)
    if (values.field === undefined || values.field.startsWith(`${dependent.kind} `))
      reports.push(...(await exploreDependent(dependent)).filter(({ path }) => wanted(path)));
  for (const { failures } of reports)
    for (const { plan, message } of failures) say(`FAILS  ${plan}: ${message}`);
  return reports;
}

function isChosen(path: string): boolean {
  return values.field === undefined || path === values.field || path === `spec.${values.field}`;
}

function conclude(
  asked: number,
  reports: readonly FieldReport[],
  errors: readonly string[],
  { seconds, threads }: { seconds: number; threads: number },
): number {
  for (const line of table(reports)) say(line);
  const failures = reports.flatMap((report) => report.failures);
  if (values.field !== undefined || values.trace)
    for (const { trace, failures: bad } of reports)
      if (values.field !== undefined || bad.length > 0) for (const line of trace) say(`    ${line}`);
  for (const error of errors) say(`UNCOVERED  ${error}`);
  const share = Math.floor((100 * reports.length) / asked);
  const sum = (pick: (report: FieldReport) => number) => reports.reduce((total, one) => total + pick(one), 0);
  say(
    `${sum(({ plans }) => plans)} plans, ${asked} fields and bases, ${share} % covered, ${failures.length + errors.length} failures, ${sum(({ passes }) => passes)} passes, ${seconds.toFixed(1)} s on ${threads} threads`,
  );
  return failures.length + errors.length === 0 ? 0 : 1;
}

/** Each thread takes the next field when it is done with one. */
async function shared(
  tasks: readonly Task[],
  threads: number,
  onAnswer: (answer: Answer) => void,
): Promise<void> {
  const waiting = [...tasks];
  await Promise.all(
    Array.from({ length: threads }, () => {
      const worker = new Worker(new URL("./worker.ts", import.meta.url));
      return new Promise<void>((resolve, reject) => {
        const next = () => {
          const task = waiting.shift();
          if (task) worker.postMessage(task);
          else void worker.terminate().then(() => resolve());
        };
        worker.on("message", (answer: Answer) => {
          onAnswer(answer);
          next();
        });
        worker.once("error", reject);
        next();
      });
    }),
  );
}
