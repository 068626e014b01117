/**
 * `npm run proof [-- --only id[,id]] [--dry]`: the long tiers, those that mostly wait beside those that compute, with their
 * counts as a table, which is also written into docs/proof.md: each row with the commit that was tried. `--dry` only
 * prints it. Exit 1 when a tier found something.
 */
import { execFile } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import process from "node:process";
import { parseArgs, promisify } from "node:util";
import { systemClock } from "../../src/seams/clock.ts";
import { keptTable } from "./kept.ts";
import { root, runTool } from "./run-tool.ts";
import { COLUMNS, tiers, type Tier } from "./tiers.ts";

const PAGE = `${root}/docs/proof.md`;
const BEGIN = "<!-- proof:begin -->";
const END = "<!-- proof:end -->";
const say = (line: string) => void process.stdout.write(`${line}\n`);

interface Row {
  readonly title: string;
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
  return {
    title: tier.title,
    failed,
    cells: [tier.title, ...cells, seconds(ms), await commit(), failed ? "failed" : "passed"],
  };
}

/** What was tried; with a plus where files differed from it. */
async function commit(): Promise<string> {
  const git = promisify(execFile);
  const { stdout: head } = await git("git", ["rev-parse", "--short=7", "HEAD"], { cwd: root });
  const { stdout: changed } = await git("git", ["status", "--porcelain", "src", "sim", "test"], {
    cwd: root,
  });
  return `${head.trim()}${changed === "" ? "" : "+"}`;
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

const HEADER = ["tier", ...COLUMNS, "time", "at", "result"];

function table(rows: readonly Row[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  const time = HEADER.indexOf("time");
  const total = rows.reduce((sum, { cells }) => sum + Number.parseInt(cells[time] ?? "0", 10), 0);
  return [
    line(HEADER),
    line(HEADER.map((_, i) => (i === 0 ? "---" : "---:"))),
    ...rows.map(({ cells }) => line(cells)),
    "",
    `${rows.length} tiers, ${total} s in all (some ran beside others), ${rows.filter(({ failed }) => failed).length} failed.`,
  ].join("\n");
}

/** Which rows are not of what is here now, and how much of it has changed since. */
async function olderRows(rows: readonly Row[]): Promise<string> {
  const git = promisify(execFile);
  const at = HEADER.indexOf("at");
  const byCommit = Map.groupBy(rows, ({ cells }) => (cells[at] ?? "").replace("+", ""));
  const older: string[] = [];
  for (const [commitOf, some] of byCommit) {
    const { stdout } = await git("git", ["diff", "--name-only", commitOf, "--", "src", "sim", "test"], {
      cwd: root,
    }).catch(() => ({ stdout: "unknown" }));
    const files = stdout.split("\n").filter((line) => line !== "");
    const inSource = files.filter((file) => file.startsWith("src/") && !file.endsWith(".test.ts")).length;
    if (files.length > 0)
      older.push(
        `- \`${commitOf}\`, since which ${inSource} files of the product and ${files.length - inSource} of the tests changed: ${some.map(({ title }) => title).join("; ")}`,
      );
  }
  return older.length === 0
    ? "Every row is of the code that is here."
    : `Rows of earlier code, to be run again before they are relied on:\n\n${older.join("\n")}`;
}

/** What the page tells of each tier: a part that is run again replaces its own rows. */
async function rowsOfPage(): Promise<Row[]> {
  const page = await readFile(PAGE, "utf8");
  return page
    .slice(page.indexOf(BEGIN), page.indexOf(END))
    .split("\n")
    .map((text) =>
      text
        .split("|")
        .map((cell) => cell.trim())
        .slice(1, -1),
    )
    .filter((cells) => cells.length === HEADER.length)
    .map((cells) => ({ title: cells[0] ?? "", failed: cells.at(-1) !== "passed", cells }));
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
  const made = chosen.flatMap((tier) => rows.get(tier) ?? []);
  say(`\n${table(made)}`);
  if (!values.dry) {
    const known = await rowsOfPage();
    const all = tiers.flatMap(({ title }) => [...made, ...known].find((row) => row.title === title) ?? []);
    await write(
      `${table(all)}\n\n${await olderRows(all)}\n\nFound by random runs so far, each mended and replayed ever since:\n\n${await keptTable()}`,
    );
  }
  return made.some(({ failed }) => failed) ? 1 : 0;
}

process.exitCode = await main();
