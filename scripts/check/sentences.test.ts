import assert from "node:assert/strict";
import { test } from "node:test";
import { memoryRepo } from "./repo.ts";
import { sentences } from "./sentences.ts";

async function findings(path: string, text: string): Promise<string> {
  return (await sentences.run(memoryRepo({ [path]: text }))).join("\n");
}

test("a sentence that a rule writes itself is found, whole or in parts", async () => {
  assert.equal(
    await findings("src/core/rules/a.ts", `\nconst why = "its volume is gone";`),
    'src/core/rules/a.ts:2: write "its volume is gone" in a table of src/core/messages',
  );
  assert.match(await findings("src/core/assess/a.ts", "const a = `${name} is down`;"), /write "is down"/);
  assert.match(await findings("src/core/status/a.ts", "say(`${name} of ${all}`);"), /write "of"/);
});

test("the tables, tests, words of machines and errors for developers are free", async () => {
  for (const [path, text] of [
    ["src/core/messages/causes.ts", `const a = "its volume is gone";`],
    ["src/core/rules/a.test.ts", `test("a volume is gone", () => {});`],
    ["src/core/testing/a.ts", `const a = "its volume is gone";`],
    ["src/operator/a.ts", `const a = "its volume is gone";`],
    ["src/core/a.ts", "throw new RangeError(`there is no ${name}`);"],
    ["src/core/a.ts", "shortHash(`${a} at ${b} of ${c}`);"],
    ["src/core/a.ts", `const flags = "pre-vote enable-pprof"; // it is a list`],
  ] as const)
    assert.equal(await findings(path, text), "", path);
});
