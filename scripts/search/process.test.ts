/** What a test process wrote is searched wherever it wrote it, and what is found fails the run. */
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import { runTestProcess } from "../stages/test-process.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));

async function faultsOf(t: TestContext, body: string): Promise<string[]> {
  const folder = mkdtempSync(join(tmpdir(), "quorate-search-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, "planted.test.mjs");
  const head = `import { test } from "node:test";
    import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
    import * as promises from "node:fs/promises";
    import { tmpdir } from "node:os";
    import { passwordOf } from ${JSON.stringify(join(root, "test/support/passwords.ts"))};
    import { tell } from ${JSON.stringify(join(root, "test/support/tell.ts"))};
    const folder = () => mkdtempSync(tmpdir() + "/some-");`;
  // What is found here is no find of the run that this test is part of.
  const temporary = join(folder, "planted-leaks");
  mkdirSync(temporary);
  writeFileSync(file, `${head}\n${body}\n`);
  const { signal } = new AbortController();
  const { faults, searched } = await runTestProcess({
    root,
    files: [file],
    temporary,
    testLimitMs: 30_000,
    processLimitMs: 60_000,
    signal,
    onRecord: () => undefined,
  });
  assert.ok(searched.bytes > 0, "something was searched");
  return faults.map((fault) => fault.replace(/\/\S*(?=some-)/, "").replace(/some-\w+/, "some"));
}

const LEAK = "wrote a key or a password";

test("a file that a test deletes is searched before, by each way of deleting it", async (t) => {
  const faults = await faultsOf(
    t,
    `for (const remove of [(dir) => rmSync(dir, { recursive: true }), (dir) => promises.rm(dir, { recursive: true })])
       test("one", async () => {
         const dir = folder();
         writeFileSync(dir + "/a.log", "first\\nthen " + passwordOf("alice") + "\\n");
         await remove(dir);
       });`,
  );
  const leak = `${LEAK}: some/a.log:2: a password of a test`;
  assert.deepEqual(faults, [leak, leak]);
});

test("so are files that it leaves, what it prints, how it fails, and what it is told of", async (t) => {
  const faults = await faultsOf(
    t,
    `test("one", () => {
       writeFileSync(folder() + "/left.log", passwordOf("bob"));
       console.log("printed " + passwordOf("carol"));
       tell("log of an operator", "fine\\n" + passwordOf("dora"));
     });
     test("two", () => { throw new Error("wrong: " + passwordOf("eve")); });`,
  );
  const leaks = faults
    .filter((fault) => fault.startsWith(LEAK))
    .map((fault) => fault.replace(/\/\S*told/, "told"));
  assert.deepEqual(leaks.map((leak) => leak.replace(/:\d+:.*$/, "")).toSorted(), [
    `${LEAK}: its output`,
    `${LEAK}: its output`,
    `${LEAK}: some/left.log`,
    `${LEAK}: told/log of an operator`,
  ]);
});

test("what is where it belongs is no leak, and the product's own passwords are known from there", async (t) => {
  const faults = await faultsOf(
    t,
    `test("one", () => {
       const dir = folder();
       mkdirSync(dir + "/secrets/demo-root", { recursive: true });
       writeFileSync(dir + "/secrets/demo-root/password", "made-" + "by-the-product-itself");
       writeFileSync(dir + "/secrets/demo-root/given", passwordOf("alice"));
       rmSync(dir, { recursive: true });
       console.log("made-" + "by-the-product-itself");
     });`,
  );
  assert.equal(faults.length, 1);
  assert.match(faults[0] ?? "", /its output:\d+: a password or a key that belongs elsewhere/);
});
