import assert from "node:assert/strict";
import { test } from "node:test";
import { atLeast, logLine, LOG_LEVELS } from "./log.ts";

test("a line has a time, a level, a message, and the fields that are known", () => {
  const fields = { namespace: "prod", cluster: "demo", member: "demo-2", reason: undefined };
  const line = logLine(0, "warn", "demo-2 is down", { ...fields, error: new Error("refused") });
  assert.deepEqual(JSON.parse(line), {
    time: "1970-01-01T00:00:00.000Z",
    level: "warn",
    message: "demo-2 is down",
    namespace: "prod",
    cluster: "demo",
    member: "demo-2",
    error: "refused",
  });
});

test("an error has its stack where it matters, and a name that somebody else gave cannot break the line", () => {
  const { stack } = JSON.parse(logLine(0, "error", "x", { error: new TypeError("y") })) as { stack: string };
  assert.match(stack, /TypeError: y/);
  assert.equal(logLine(0, "info", 'a\n"b"', { error: "c\nd" }).split("\n").length, 1);
});

test("levels below the least are dropped", () => {
  for (const [index, least] of LOG_LEVELS.entries()) {
    const reported: string[] = [];
    const log = atLeast(least, (level) => void reported.push(level));
    for (const level of LOG_LEVELS) log(level, "x");
    assert.deepEqual(reported, LOG_LEVELS.slice(index));
  }
});
