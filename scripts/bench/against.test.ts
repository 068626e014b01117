/** A tree against that of a commit: which is slower, by the same benchmark. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, mock, test } from "node:test";
import { runAgainst } from "./against.ts";
import { compared } from "./compared.ts";

const root = mkdtempSync(join(tmpdir(), "quorate-against-"));
after(() => rmSync(root, { recursive: true, force: true }));

const BENCH = "test/bench/computing/sum.bench.ts";
const git = (...args: string[]) =>
  execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@b", ...args], { cwd: root });

function write(path: string, text: string): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), text);
}

/** What is printed, and how it ends. */
function run(commit: string, files = [BENCH]): { readonly code: number; readonly said: string } {
  const said: string[] = [];
  const keep = (line: string) => void said.push(line);
  const spies = [mock.method(console, "log", keep), mock.method(console, "error", keep)];
  const code = runAgainst({ root, commit, files, rounds: 2 });
  for (const spy of spies) spy.mock.restore();
  return { code, said: said.join("\n") };
}

const measured = (own: number) => [{ what: "sum", unit: "µs", own, reference: 10 }];

test("this tree is measured against that of a commit, each with its own sources", () => {
  mkdirSync(join(root, "node_modules"));
  write("src/cost.ts", "export const cost = 5;\n");
  git("init", "--quiet");
  git("add", "src");
  git("commit", "--quiet", "--message", "Cost little");
  write("src/cost.ts", "export const cost = 20;\n");
  write("test/bench/measure.ts", "");
  write(
    BENCH,
    `import { appendFileSync } from "node:fs";
import { cost } from "../../../src/cost.ts";
const file = process.env["QUORATE_BENCH_RECORD"] ?? "";
appendFileSync(file, JSON.stringify({ what: "sum", unit: "µs", own: cost, reference: 10 }) + "\\n");
`,
  );
  const { code, said } = run("HEAD");
  assert.equal(code, 1);
  assert.match(said, /sum: 20\.0 µs here, 5\.0 µs there: 4\.00 times, SLOWER \(the reference: 1\.00 times\)/);
  const before = readdirSync(tmpdir()).filter((name) => name.startsWith("quorate-bench-"));
  assert.equal(run("no-such-commit").code, 2);
  assert.deepEqual(
    readdirSync(tmpdir()).filter((name) => name.startsWith("quorate-bench-")),
    before,
  );
});

test("a tree on which the benchmark cannot run is said to be so", () => {
  write("src/added.ts", "export {};\n");
  write("test/bench/computing/added.bench.ts", `import "../../../src/added.ts";\n`);
  const { code, said } = run("HEAD", ["test/bench/computing/added.bench.ts"]);
  assert.equal(code, 1);
  assert.match(said, /cannot run on the other tree: it ended with 1/);
});

test("medians of all rounds are compared, and one slow round says nothing", () => {
  const rounds = [1, 1, 9].map((own) => ({ here: measured(own), there: measured(1) }));
  assert.deepEqual(compared(rounds), {
    lines: ["sum: 1.0 µs here, 1.0 µs there: 1.00 times, no slower (the reference: 1.00 times)"],
    isSlower: false,
  });
  assert.match(compared([{ here: measured(1), there: measured(2) }]).lines.join(""), /0\.50 times, faster/);
  // A figure that one of them lacks is no success.
  assert.equal(compared([{ here: measured(1), there: [] }]).isSlower, true);
});
