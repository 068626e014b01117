import assert from "node:assert/strict";
import { test } from "node:test";
import { auditWith } from "./audit.ts";
import { memoryRepo } from "./repo.ts";

const repo = memoryRepo({
  "package-lock.json": JSON.stringify({
    packages: { "node_modules/a": { version: "1.0.0" }, "node_modules/b": { version: "1.0.0", dev: true } },
  }),
});
const via = [{ title: "Reads too much", url: "https://example.com/1" }];
const report = (severity: string, node: string) =>
  JSON.stringify({ vulnerabilities: { [node.slice(-1)]: { severity, range: "<2", via, nodes: [node] } } });

async function outcome(text: string, inCi: boolean) {
  const notes: string[] = [];
  const findings = await auditWith(async () => text, inCi).run(repo, (note) => notes.push(note));
  return { findings, notes };
}

test("a serious vulnerability of a shipped package fails in CI, and is a note elsewhere", async () => {
  const text = report("high", "node_modules/a");
  const says = "a <2 (shipped): high, Reads too much https://example.com/1: run npm audit";
  assert.deepEqual(await outcome(text, true), { findings: [says], notes: [] });
  assert.deepEqual(await outcome(text, false), { findings: [], notes: [says] });
});

test("what is not shipped, or not serious, is a note", async () => {
  for (const text of [report("critical", "node_modules/b"), report("moderate", "node_modules/a")]) {
    const { findings, notes } = await outcome(text, true);
    assert.deepEqual([findings.length, notes.length], [0, 1]);
  }
});

test("a registry that gives no report is a note with its reason, also in CI", async () => {
  for (const [text, says] of [
    ['{"message":"405 Method Not Allowed"}', "vulnerabilities are not known: 405 Method Not Allowed"],
    ["", "vulnerabilities are not known: npm gave no report"],
    ["spawn npm ENOENT", "vulnerabilities are not known: spawn npm ENOENT"],
  ] as const)
    assert.deepEqual(await outcome(text, true), { findings: [], notes: [says] });
});
