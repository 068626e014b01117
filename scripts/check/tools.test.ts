import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { plantedRepo } from "./testing.ts";
import { deadCode, format, lint, typesWith } from "./tools.ts";

const clean = `/** A file without a fault. */
export async function answer(): Promise<number> {
  return 42;
}
`;
const cleanTest = `import { test } from "node:test";
import { answer } from "./answer.ts";
test("it answers", async () => {
  await answer();
});
`;
const tree = { "src/core/answer.ts": clean, "src/core/answer.test.ts": cleanTest };

test("types: a planted type error is found, a clean tree passes", async (t) => {
  const types = typesWith();
  assert.deepEqual(await types.run(plantedRepo(t, tree)), []);
  const fault = 'export const count: number = "three";\n';
  const found = await types.run(plantedRepo(t, { ...tree, "src/core/fault.ts": fault }));
  assert.match(found.join("\n"), /src\/core\/fault\.ts\(1,14\): error TS2322/);
});

test("types: what an earlier run found right is judged again when what it uses has changed", async (t) => {
  const types = typesWith("kept/types.tsbuildinfo");
  const repo = plantedRepo(t, {
    "src/core/one.ts": "export const one: number = 1;\n",
    "src/core/two.ts": 'import { one } from "./one.ts";\nexport const two: number = one + 1;\n',
  });
  assert.deepEqual(await types.run(repo), []);
  assert.deepEqual(await types.run(repo), []);
  const one = join(repo.root, "src/core/one.ts");
  writeFileSync(one, 'export const one: string = "1";\n');
  for (const _again of [1, 2])
    assert.match((await types.run(repo)).join("\n"), /src\/core\/two\.ts\(2,14\): error/);
  writeFileSync(one, "export const one: number = 3;\n");
  assert.deepEqual(await types.run(repo), []);
});

test("lint: a floating promise is found; test() of node:test is not one", async (t) => {
  assert.deepEqual(await lint.run(plantedRepo(t, tree)), []);
  const fault = `import { answer } from "./answer.ts";\nexport function go(): void {\n  answer();\n}\n`;
  const found = await lint.run(plantedRepo(t, { ...tree, "src/core/fault.ts": fault }));
  assert.match(found.join("\n"), /src\/core\/fault\.ts:3:.*no-floating-promises/);
});

test("lint: two files that import each other are found", async (t) => {
  const found = await lint.run(
    plantedRepo(t, {
      "src/core/one.ts": `import { two } from "./two.ts";\nexport const one = (): number => two() + 1;\n`,
      "src/core/two.ts": `import { one } from "./one.ts";\nexport const two = (): number => one() + 1;\n`,
    }),
  );
  assert.match(found.join("\n"), /no-cycle/);
});

test("format: a file folded otherwise is named with the command that repairs it", async (t) => {
  assert.deepEqual(await format.run(plantedRepo(t, tree)), []);
  const found = await format.run(plantedRepo(t, { "src/core/fault.ts": "export const a = 'x'\n" }));
  assert.deepEqual(found, ["src/core/fault.ts: not formatted: run npx oxfmt src/core/fault.ts"]);
});

test("dead code: an export that nothing uses, and a file that nothing imports, are found", async (t) => {
  const dead = `/** Two exports. */\nexport const used = 1;\nexport const unused = 2;\n`;
  const user = `import { used } from "./two.ts";\nused.toFixed();\n`;
  const planted = { "src/core/two.ts": dead, "src/core/two.test.ts": user, "src/core/alone.ts": dead };
  const found = (await deadCode.run(plantedRepo(t, planted))).filter((one) => one.startsWith("src/"));
  assert.deepEqual(found.toSorted(), [
    "src/core/alone.ts: nothing imports this file, and no test does",
    "src/core/two.ts:3: unused is exported and used nowhere: use it, drop it, or keep it to its file",
  ]);
});
