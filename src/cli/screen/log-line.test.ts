import assert from "node:assert/strict";
import { test } from "node:test";
import { isAtLeast, logText, parseEtcdLog, timeOfLog } from "./log-line.ts";
import { styleFor } from "./style.ts";

const LINE =
  '{"level":"warn","ts":"2026-05-01T12:00:01.250000Z","caller":"etcdserver/util.go:170","msg":"apply request took too long","took":"112ms","expected-duration":"100ms","success":true,"key":"a b"}';
const PLAIN = styleFor(false);
const view = { nameWidth: 6, wide: false };

test("etcd's JSON becomes time, member, level, message and fields", () => {
  const line = { member: "demo-1", at: timeOfLog(LINE), text: LINE };
  assert.equal(
    logText(line, view, PLAIN),
    '12:00:01.250  demo-1  WARN   apply request took too long  took=112ms expected-duration=100ms success=true key="a b"',
  );
  assert.match(logText(line, { ...view, wide: true }, PLAIN), /\(etcdserver\/util\.go:170\)$/);
});

test("a line that is no JSON is shown as it is, and never left out", () => {
  const text = "panic: runtime error: index out of range";
  assert.equal(
    logText({ member: "demo-1", at: undefined, text }, view, PLAIN),
    `${" ".repeat(12)}  demo-1  ${text}`,
  );
  assert.equal(isAtLeast(text, "error"), true);
});

test("lines below the level are left out", () => {
  assert.equal(isAtLeast(LINE, "info"), true);
  assert.equal(isAtLeast(LINE, "error"), false);
});

test("what looks like JSON and is none of etcd's is text", () => {
  for (const text of ['{"level":"shout","msg":"x"}', '{"level":"info"}', "{broken", "[]"])
    assert.equal(parseEtcdLog(text), undefined);
});

test("a log cannot move the cursor or change the title of a terminal", () => {
  const text = '{"level":"info","msg":"\\u001b]0;owned\\u0007","key":"\\u001b[2J"}';
  // oxlint-disable-next-line no-control-regex
  assert.doesNotMatch(logText({ member: "demo-1", at: 0, text }, view, PLAIN), /[\x00-\x1f\x7f]/);
});
