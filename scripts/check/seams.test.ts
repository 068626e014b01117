import assert from "node:assert/strict";
import { test } from "node:test";
import { memoryRepo } from "./repo.ts";
import { seams } from "./seams.ts";

async function findings(path: string, text: string): Promise<string[]> {
  return await seams.run(memoryRepo({ [path]: text }));
}

const forbidden = [
  "Date.now();",
  "const now = Date.now;",
  'const now = Date["now"]();',
  "globalThis.Date.now();",
  "new Date();",
  "Date();",
  "performance.now();",
  "process.hrtime.bigint();",
  "setTimeout(go, 5);",
  "globalThis.setTimeout(go, 5);",
  "const later = setInterval;",
  "run(setImmediate);",
  'import { setTimeout as wait } from "node:timers/promises";',
  'import timers from "timers";',
  "Math.random();",
  "crypto.randomUUID();",
  "globalThis.crypto.getRandomValues(bytes);",
  'import { randomBytes } from "node:crypto";',
  'import * as c from "node:crypto"; c.randomBytes(4);',
  "AbortSignal.timeout(5);",
  'crypto.subtle.generateKey("Ed25519", true, []);',
];

test("every way around the clock and the dice is found, with its line", async () => {
  for (const text of forbidden) {
    const found = await findings("src/etcd/a.ts", `// one line\n${text}`);
    assert.equal(found.length, 1, `${text} gave ${JSON.stringify(found)}`);
    assert.match(found[0] ?? "", /^src\/etcd\/a\.ts:2: .* is forbidden here: /);
  }
});

test("the simulator answers to the same rule", async () => {
  assert.equal((await findings("sim/explore.ts", "Date.now();")).length, 1);
});

test("seams, tests, testbed and scripts may touch the real thing", async () => {
  for (const path of [
    "src/seams/clock.ts",
    "src/etcd/a.test.ts",
    "testbed/up.ts",
    "scripts/run.ts",
    "test/etcd/a.test.ts",
  ]) {
    assert.deepEqual(await findings(path, forbidden.join("\n")), [], path);
  }
});

test("keys are generated in src/pki; randomness still comes through the seam there", async () => {
  assert.deepEqual(await findings("src/pki/keys.ts", 'crypto.subtle.generateKey("Ed25519", true, []);'), []);
  assert.equal((await findings("src/pki/keys.ts", "crypto.randomUUID();")).length, 1);
});

test("what only looks like it passes", async () => {
  const text = `
    new Date(0); new Date(seconds * 1000); Date.parse("2026-01-01");
    clock.now(); timer.setTimeout(5); const options = { setTimeout: 5 };
    import { createHash } from "node:crypto"; createHash("sha256");
    queueMicrotask(go); interface Timers { setTimeout: unknown }
    class Session { setTimeout(ms: number): void {} }
    process.env["HOME"]; Math.max(1, 2); AbortSignal.any([a]);
  `;
  assert.deepEqual(await findings("src/etcd/a.ts", text), []);
});

test("core sees only its arguments and never waits", async () => {
  for (const text of [
    "process.env;",
    "console.log(1);",
    "fetch(url);",
    "globalThis.x;",
    "async function f() {}",
  ]) {
    assert.equal((await findings("src/core/a.ts", text)).length, 1, text);
  }
  assert.deepEqual(await findings("src/core/a.ts", "const { a, ...process } = record; use(process);"), []);
});
