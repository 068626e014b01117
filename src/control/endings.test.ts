import assert from "node:assert/strict";
import { test } from "node:test";
import type { MemberFacts, Observation } from "../core/observation.ts";
import { change, healthy } from "../core/testing/cluster.ts";
import { viewOf } from "../core/view.ts";
import { Endings, RECOVERED_MS } from "./endings.ts";

const SILENT: Partial<MemberFacts> = { answer: { reachable: false, error: "timed out" } };
const ENDED = {
  state: "exited",
  since: 0,
  startedFrom: "x",
  restarts: 0,
  cause: "killed",
  detail: "Evicted",
} as const;

const well = healthy();
const evicted = change(well, "demo-2", { ...SILENT, workload: { ...ENDED, ended: true } });
const absent = change(well, "demo-2", { ...SILENT, workload: { state: "absent" } });

/** How often demo-2 has ended, after it was each of these for so many milliseconds, looked at twice. */
function counted(...past: readonly (readonly [ms: number, world: Observation])[]): number {
  const endings = new Endings();
  let at = 5_000;
  for (const [ms, world] of past) {
    const { members } = viewOf(world);
    endings.see(members, at);
    endings.see(members, (at += ms));
  }
  return endings.of("demo-2");
}

test("each Pod that ends for good counts once, however long it stays", () => {
  const round = [[60_000, evicted] as const, [100, absent] as const, [60_000, well] as const];
  assert.equal(counted(...round), 1);
  assert.equal(counted(...round, ...round, ...round), 3);
  assert.equal(counted([1_000, evicted], [0, absent], [0, evicted]), 2, "rejected before it ran");
});

test("a container that ends and is started again by its kubelet does not count", () => {
  assert.equal(counted([1_000, change(well, "demo-2", { ...SILENT, workload: ENDED })]), 0);
});

test("who stayed healthy begins anew; who was healthy for a while, and ended again, does not", () => {
  const almost = [RECOVERED_MS - 1, well] as const;
  assert.equal(counted([0, evicted], almost, [0, absent], almost), 1);
  assert.equal(counted([0, evicted], [RECOVERED_MS, well]), 0);
  assert.equal(counted([0, evicted], [RECOVERED_MS, well], [0, evicted]), 1);
});

test("another template is another chance, and so is another member", () => {
  const edited = change(evicted, "demo-2", ({ record }) => ({
    record: { ...record, template: { ...record.template, version: "3.6.17" } },
  }));
  assert.equal(counted([0, evicted], [0, absent], [0, edited]), 1);
  assert.equal(counted([0, evicted], [0, { ...well, members: [] }], [0, evicted]), 1);
});
