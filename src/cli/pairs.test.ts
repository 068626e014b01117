/**
 * Every verb once with a failure that says what to do, here, and once with success, in the test that is named. A verb
 * without such a pair fails this test. What is to be called through real kubectl, or on this machine, is checked by those
 * tests themselves (test/support/calls.ts).
 */
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { after, before, test } from "node:test";
import { dispatch } from "./dispatch.ts";
import { collectingIo } from "./testing.ts";
import { everyVerb } from "./testing/every-verb.ts";
import { PAIRS } from "./testing/pairs.ts";
import { verbs } from "./verbs.ts";

const ROOT = path.join(import.meta.dirname, "..", "..");
let folder: string;

before(() => {
  folder = mkdtempSync(path.join(os.tmpdir(), "quorate-pairs-"));
});

after(() => rmSync(folder, { recursive: true, force: true }));

async function leaves(): Promise<string[]> {
  const names: string[] = [];
  for await (const { name, verb } of everyVerb(verbs))
    if (!verb.verbs && name !== "__complete") names.push(name); // Asked by shells, which show no error.
  return names;
}

test("every verb has a failure that says what to do, and a test of its success", async () => {
  const without = (await leaves()).filter((name) => PAIRS[name] === undefined);
  assert.deepEqual(without, []);
});

for (const name of await leaves()) {
  const pair = PAIRS[name];
  if (pair === undefined) continue; // Reported above.
  const { wrong: words, code, says, right } = pair;
  test(`${name}: a failure says what to do`, async () => {
    const env = { KUBECONFIG: path.join(folder, "none"), HOME: folder };
    const io = collectingIo({ env, cwd: folder, command: "quorate" });
    const argv = `${name} ${words}`.trim().split(" ");
    assert.equal(await dispatch(argv, verbs, "0.0.0", io), code, io.err());
    assert.match(io.err(), says);
    assert.equal(io.out(), "");
  });

  const file = "kubectl" in right ? right.kubectl : "program" in right ? right.program : right.file;
  test(`${name}: its success is in ${file}`, () => {
    const text = readFileSync(path.join(ROOT, file), "utf8");
    const word = name.split(" ").at(-1) ?? "";
    // It compares its calls with what it has to prove.
    const needle = "file" in right ? right.needle : "assertProven(";
    const isCalled =
      needle === undefined ? new RegExp(`["'\` ]${word}["'\` ]`).test(text) : text.includes(needle);
    assert.ok(isCalled, `${file} does not call ${name}`);
  });
}
