import assert from "node:assert/strict";
import { test } from "node:test";
import { nextOpening } from "./window.ts";

const at = (text: string) => Date.parse(text);
const HOUR = 3_600_000;

test("inside the window is now", () => {
  const now = at("2026-11-15T02:45:00Z");
  assert.equal(nextOpening({ start: "02:30", duration: "1h" }, now, HOUR), now);
});

test("after the window is tomorrow", () => {
  assert.equal(
    nextOpening({ start: "02:30", duration: "1h" }, at("2026-11-15T03:30:00Z"), HOUR),
    at("2026-11-16T02:30:00Z"),
  );
});

test("a window that began yesterday reaches over midnight", () => {
  const now = at("2026-11-16T00:30:00Z");
  assert.equal(nextOpening({ start: "23:30", duration: "2h", days: ["Sunday"] }, now, 2 * HOUR), now);
});

test("named days are days of the week in UTC", () => {
  const opening = nextOpening(
    { start: "02:00", duration: "1h", days: ["Saturday"] },
    at("2026-11-15T12:00:00Z"),
    HOUR,
  );
  assert.equal(opening, at("2026-11-21T02:00:00Z"));
});

test("a window opens at its very start, and has closed at its end", () => {
  const opens = at("2026-11-15T02:30:00Z");
  const window = { start: "02:30", duration: "1h" };
  assert.equal(nextOpening(window, opens, HOUR), opens);
  assert.equal(nextOpening(window, opens - 1, HOUR), opens);
  assert.equal(nextOpening(window, opens + HOUR - 1, HOUR), opens + HOUR - 1);
  assert.equal(nextOpening(window, opens + HOUR, HOUR), opens + 24 * HOUR);
});

test("a window of one day a week that has just closed opens a week later", () => {
  const sunday = { start: "02:30", duration: "1h", days: ["Sunday" as const] };
  assert.equal(nextOpening(sunday, at("2026-11-15T03:30:00Z"), HOUR), at("2026-11-22T02:30:00Z"));
});

test("without any day it never opens, and is asked about again in a week", () => {
  const now = at("2026-11-15T03:30:00Z");
  assert.equal(nextOpening({ start: "02:30", duration: "1h", days: [] }, now, HOUR), now + 7 * 24 * HOUR);
});
