/**
 * `npm run crash [-- --operation <name>] [--stride <n>] [--first <n>]`: kills the controller with SIGKILL
 * after every single effect of each operation on real etcd, lets the next controller go on, and compares.
 * Takes a long time; `npm test` has a sample of it.
 */
import process from "node:process";
import { parseArgs } from "node:util";
import { enumerate, type OperationCounts } from "./enumerate.ts";
import { circles } from "./operations.ts";

const { values } = parseArgs({
  options: {
    operation: { type: "string", multiple: true },
    stride: { type: "string", default: "1" },
    first: { type: "string", default: "1" },
  },
});
const names = circles.flatMap(({ operations }) => operations.map(({ name }) => name));
const wanted = values.operation ?? names;
const unknown = wanted.find((name) => !names.includes(name));
const [stride, first] = [Number(values.stride), Number(values.first)];
if (
  unknown !== undefined ||
  !Number.isInteger(stride) ||
  stride < 1 ||
  !Number.isInteger(first) ||
  first < 1
) {
  console.error(
    unknown === undefined
      ? "--stride and --first are whole numbers from 1 on"
      : `no operation ${JSON.stringify(unknown)}: one of ${names.join(", ")}`,
  );
  process.exit(2);
}

const stop = new AbortController();
for (const name of ["SIGINT", "SIGTERM"] as const) process.once(name, () => stop.abort());
const counts: OperationCounts[] = [];
for (const circle of circles) {
  if (stop.signal.aborted || !circle.operations.some(({ name }) => wanted.includes(name))) continue;
  counts.push(
    ...(await enumerate(circle, {
      stride,
      first,
      signal: stop.signal,
      onTry: (operation, after, effect, ms, failure) => {
        const seconds = (ms / 1000).toFixed(1).padStart(5);
        console.log(`${operation.padEnd(16)} ${String(after).padStart(4)} ${seconds} s  ${effect}`);
        if (failure !== undefined) console.log(`  DIFFERS: ${failure}`);
      },
    })),
  );
}

console.log(`\n${row("operation", "effects", "killed", "converged alike", "seconds")}`);
for (const { operation, effects, tried, failures, ms } of counts) {
  console.log(
    row(operation, String(effects), String(tried), String(tried - failures.length), (ms / 1000).toFixed(0)),
  );
}
const kills = counts.reduce((sum, { tried }) => sum + tried, 0);
const differing = counts.reduce((sum, { failures }) => sum + failures.length, 0);
console.log(`\n${kills} kills, ${differing} with another end`);
if (differing > 0) process.exitCode = 1;

function row(...[operation = "", ...cells]: string[]): string {
  return [operation.padEnd(16), ...cells.map((cell) => cell.padStart(16))].join("");
}
