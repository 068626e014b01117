import assert from "node:assert/strict";
import { test } from "node:test";
import type { MemberFacts, WorkloadFacts } from "../core/observation.ts";
import { change, healthy } from "../core/testing/cluster.ts";
import { viewOf } from "../core/view.ts";
import { UnhealthySince } from "./unhealthy-since.ts";

const SILENT = { reachable: false, error: "timed out", cause: "network" } as const;
const RUNS = { state: "running", since: 0, startedFrom: "x", restarts: 0 } as const;

type Spell = readonly [seconds: number, facts: Partial<MemberFacts>, paused?: "paused"];

/** For how long demo-2 has been so, in seconds, after it was each of these for so many seconds. */
function counted(...past: readonly Spell[]): number {
  const timers = new UnhealthySince();
  let at = 1_000_000;
  for (const [seconds, facts, paused] of past) {
    const { members, spec } = viewOf(change(healthy(), "demo-2", { answer: SILENT, ...facts }));
    const view = { members, spec: { ...spec, paused: paused !== undefined } };
    for (let second = 0; second <= seconds; second += 1) timers.see(view, at + second * 1_000);
    at += seconds * 1_000;
  }
  return (at - (timers.of("demo-2") ?? at)) / 1_000;
}

const is = (workload: WorkloadFacts): Partial<MemberFacts> => ({ workload });
const down = is({ ...RUNS, ready: false });
const hidden = is({ ...RUNS, ready: true });
const absent = is({ state: "absent" });

const evicted = is({ ...RUNS, state: "exited", cause: "killed", detail: "Evicted", ended: true });

test("a member whose Pods are evicted again and again is down all the time", () => {
  const waiting = is({ state: "waiting", reason: "ContainerCreating", since: 0, startedFrom: "x" });
  const round = [
    [20, evicted],
    [20, absent],
    [20, waiting],
  ] as const;
  assert.equal(counted(...round, ...round, ...round), 180);
});

test("one that could not be made begins anew when it is made", () => {
  const notMade = { reason: "PodRefused", message: "exceeded quota" } as const;
  const refused = is({ state: "absent", notMade });
  assert.equal(counted([600, refused], [5, down]), 5);
  assert.equal(counted([600, refused], [1, absent], [5, down]), 5, "its last moment without one is the make");
  const unread = { ...absent, volume: { state: "pending", reason: "could not be read" } } as const;
  assert.equal(counted([600, unread], [5, down]), 5);
});

test("time in which a pause kept it from being made does not count", () => {
  assert.equal(counted([600, absent, "paused"], [5, down]), 5);
  assert.equal(counted([600, absent, "paused"], [1, absent], [5, down]), 6);
  assert.equal(counted([600, evicted, "paused"], [5, evicted]), 5);
  assert.equal(counted([600, down, "paused"], [5, down]), 605, "a process that runs is down by itself");
});

test("the time in which it served, although its Pod was being deleted, does not count", () => {
  const ending = is({ state: "stopping", since: 0 });
  const [, { answer }] = healthy().members as [unknown, MemberFacts];
  assert.equal(counted([600, { ...ending, answer }], [5, ending]), 5);
  assert.equal(counted([600, ending]), 600);
});

test("the time in which others vouched for it does not count as down", () => {
  assert.equal(counted([600, hidden], [5, down]), 5);
  assert.equal(counted([600, down], [60, hidden], [5, down]), 5, "it served for a while");
  assert.equal(counted([600, down], [60, hidden]), 60);
});

test("one that flaps is counted on, as down and as out of reach", () => {
  assert.equal(counted([600, down], [3, hidden], [5, down]), 605);
  assert.equal(counted([600, hidden], [3, down], [5, hidden]), 605);
  assert.equal(counted([5, down], [5, hidden], [5, down], [5, hidden], [5, down]), 15);
  assert.equal(counted([60, hidden], [5, down], [60, hidden], [5, down]), 5, "down only for moments");
});

test("one that is healthy, or sleeps, has nothing to count", () => {
  const [, second] = healthy().members;
  assert.ok(second);
  assert.equal(counted([600, down], [1, { answer: second.answer, workload: second.workload }]), 0);
  assert.equal(counted([600, down], [1, { ...down, record: { ...second.record, run: false } }]), 0);
});
