import assert from "node:assert/strict";
import { test } from "node:test";
import { systemClock } from "../seams/clock.ts";
import { Gate } from "./gate.ts";

const gateOf = (concurrent: number, waiting: number) => new Gate(systemClock, { concurrent, waiting });
const never = new AbortController().signal;

test("no more calls than the limit are under way, and the others enter in their order", async () => {
  const gate = gateOf(2, 10);
  const first = await gate.enter(never);
  const second = await gate.enter(never);
  const entered: string[] = [];
  const third = gate.enter(never).then((place) => (entered.push("third"), place));
  const fourth = gate.enter(never).then((place) => (entered.push("fourth"), place));
  await Promise.resolve();
  assert.deepEqual(entered, []);
  first[Symbol.dispose]();
  first[Symbol.dispose](); // Giving back twice gives one place.
  (await third)[Symbol.dispose]();
  (await fourth)[Symbol.dispose]();
  assert.deepEqual(entered, ["third", "fourth"]);
  assert.equal(gate.idle, false);
  second[Symbol.dispose]();
  assert.equal(gate.idle, true);
});

test("who gives up waiting leaves the queue, and nothing was sent", async () => {
  const gate = gateOf(1, 10);
  const place = await gate.enter(never);
  const impatient = new AbortController();
  const waiting = gate.enter(impatient.signal);
  impatient.abort();
  await assert.rejects(waiting, { name: "Http2Failure", fault: "cancelled", progress: "not-sent" });
  place[Symbol.dispose]();
  assert.equal(gate.idle, true);
});

test("a full queue refuses at once", async () => {
  const gate = gateOf(1, 1);
  using _place = await gate.enter(never);
  const waiting = gate.enter(never);
  await assert.rejects(gate.enter(never), { fault: "overloaded", progress: "not-sent" });
  _place[Symbol.dispose]();
  (await waiting)[Symbol.dispose]();
});
