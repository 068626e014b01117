/**
 * `npm run proof [-- --only id[,id]] [--dry]`: the long tiers, those that mostly wait beside those that compute, with their
 * counts as a table, which is also written into docs/proof.md. `--dry` only prints it. Exit 1 when a tier found something.
 */
import { readFile, writeFile } from "node:fs/promises";
import process from "node:process";
import { parseArgs } from "node:util";
import { systemClock } from "../../src/seams/clock.ts";
import { keptTable } from "./kept.ts";
import { root, runTool } from "./run-tool.ts";
import { COLUMNS, tiers, type Tier } from "./tiers.ts";

const PAGE = `${root}/docs/proof.md`;
const BEGIN = "<!-- proof:begin -->";
const END = "<!-- proof:end -->";
const say = (line: string) => void process.stdout.write(`${line}\n`);

interface Row {
  readonly tier: Tier;
  readonly failed: boolean;
  readonly cells: readonly string[];
}

async function run(tier: Tier): Promise<Row> {
  const began = systemClock.monotonic();
  const tell = (line: string) =>
    say(`${seconds(systemClock.monotonic() - began).padStart(6)}  ${tier.id.padEnd(18)} ${line}`);
  tell(`▶ ${tier.title}: node ${tier.args.join(" ")}`);
  const { code, output, ms } = await runTool({
    args: tier.args,
    limitMs: tier.limitMs,
    onLine: tell,
  });
  const failed = code !== 0;
  tell(failed ? `✖ ${code === undefined ? "did not end in time" : `exit ${code}`}` : "✔");
  const cells = COLUMNS.map((column) => countOf(tier, column, output));
  return { tier, failed, cells: [tier.title, ...cells, seconds(ms), failed ? "failed" : "passed"] };
}

function countOf({ counts }: Tier, column: (typeof COLUMNS)[number], output: string): string {
  const pattern = counts[column];
  if (!pattern) return "";
  const found = [...output.matchAll(pattern)];
  return found.length === 0 && column !== "bugs found"
    ? "?"
    : String(found.reduce((sum, [, digits]) => sum + Number(digits), 0));
}

function seconds(ms: number): string {
  return `${Math.round(ms / 1000)} s`;
}

function table(rows: readonly Row[], ms: number): string {
  const header = ["tier", ...COLUMNS, "time", "result"];
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  return [
    line(header),
    line(header.map((_, i) => (i === 0 ? "---" : "---:"))),
    ...rows.map(({ cells }) => line(cells)),
    "",
    `${rows.length} tiers in ${seconds(ms)}, ${rows.filter(({ failed }) => failed).length} failed.`,
  ].join("\n");
}

async function write(text: string): Promise<void> {
  const page = await readFile(PAGE, "utf8");
  const [begin, end] = [page.indexOf(BEGIN), page.indexOf(END)];
  if (begin < 0 || end < begin)
    throw new RangeError(`docs/proof.md needs ${BEGIN} and ${END}, in this order`);
  await writeFile(PAGE, `${page.slice(0, begin + BEGIN.length)}\n\n${text}\n\n${page.slice(end)}`);
}

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: { only: { type: "string" }, dry: { type: "boolean", default: false } },
  });
  const wanted = values.only?.split(",");
  const unknown = wanted?.find((id) => !tiers.some((tier) => tier.id === id));
  if (unknown !== undefined) {
    say(`no tier ${unknown}: one of ${tiers.map(({ id }) => id).join(", ")}`);
    return 2;
  }
  const began = systemClock.monotonic();
  const chosen = tiers.filter(({ id }) => wanted?.includes(id) ?? true);
  const rows = new Map<Tier, Row>();
  const runAll = async (some: readonly Tier[]) => {
    for (const tier of some) rows.set(tier, await run(tier));
  };
  // Those that wait leave the cores to those that compute; one that measures has the machine for itself.
  await Promise.all([
    runAll(chosen.filter(({ when }) => when === undefined)),
    runAll(chosen.filter(({ when }) => when === "beside")),
  ]);
  await runAll(chosen.filter(({ when }) => when === "alone"));
  const told = chosen.flatMap((tier) => rows.get(tier) ?? []);
  const text = table(told, systemClock.monotonic() - began);
  say(`\n${text}`);
  // A part of the tiers is no proof of the whole: only a full run is kept.
  if (!values.dry && wanted === undefined)
    await write(
      `${text}\n\nFound by random runs so far, each mended and replayed ever since:\n\n${await keptTable()}`,
    );
  return told.some(({ failed }) => failed) ? 1 : 0;
}

process.exitCode = await main();
