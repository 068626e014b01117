import assert from "node:assert/strict";
import { test } from "node:test";
import type { Node } from "kubernetes-types/core/v1.d.ts";
import { NodeClocks } from "./node-clocks.ts";

const node = (beatAt: number): Node => ({
  metadata: { name: "n1" },
  status: {
    conditions: [
      {
        type: "Ready",
        status: "True",
        lastHeartbeatTime: `${new Date(beatAt).toISOString().slice(0, 19)}Z`,
      },
    ],
  },
});

/** A node whose clock is off, and an API server that tells of its heartbeats after a while. */
function world(aheadMs: number) {
  const time = { now: Date.UTC(2030, 0, 1) };
  const clocks = new NodeClocks(() => time.now);
  let last: Node | undefined;
  const beat = (reportedAfterMs = 100) => {
    time.now += 300_000;
    const after = node(time.now + aheadMs);
    time.now += reportedAfterMs;
    clocks.hear({ key: "n1", before: last, after });
    last = after;
    return clocks.aheadMs("n1");
  };
  return { clocks, beat, time };
}

test("two heartbeats that agree tell how far a node's clock is off", () => {
  for (const aheadMs of [90_000, -90_000]) {
    const { clocks, beat } = world(aheadMs);
    assert.equal(beat(), undefined, "the first state may be of any age");
    assert.equal(beat(), undefined);
    const found = beat();
    assert.ok(found !== undefined && Math.abs(found - aheadMs) < 1_500, String(found));
    const direction = aheadMs > 0 ? "ahead of" : "behind";
    assert.match(
      clocks.warning("n1") ?? "",
      new RegExp(`node n1 is more than 30 s ${direction} the API server`),
    );
    assert.deepEqual(
      [...clocks.off()].map(([name]) => name),
      ["n1"],
    );
  }
});

test("nor does it take back what is known", () => {
  const { clocks, beat } = world(90_000);
  for (const reportedAfterMs of [100, 100, 100, 60_000]) beat(reportedAfterMs);
  assert.match(clocks.warning("n1") ?? "", /more than 30 s ahead/);
});

test("a heartbeat that is reported late is no clock that is behind", () => {
  const { clocks, beat } = world(0);
  for (const reportedAfterMs of [0, 100, 100, 240_000, 100, 100]) beat(reportedAfterMs);
  assert.equal(clocks.warning("n1"), undefined);
  assert.deepEqual([...clocks.off()], []);
});

test("a change that is no heartbeat says nothing, and a node that is gone is forgotten", () => {
  const { clocks, beat, time } = world(90_000);
  beat();
  const same = node(time.now);
  clocks.hear({ key: "n1", before: same, after: same });
  assert.equal(clocks.aheadMs("n1"), undefined);
  beat();
  beat();
  assert.notEqual(clocks.aheadMs("n1"), undefined);
  clocks.hear({ key: "n1", before: same, after: undefined });
  assert.equal(clocks.aheadMs("n1"), undefined);
  assert.equal(clocks.warning("n1"), undefined);
});

test("without heartbeats the members on a node tell, and a kubelet is believed before them", () => {
  const { clocks, beat, time } = world(90_000);
  clocks.note("n1", -40_000);
  assert.equal(clocks.aheadMs("n1"), -40_000);
  assert.match(clocks.warning("n1") ?? "", /more than 30 s behind/);
  beat();
  beat();
  assert.ok((beat() ?? 0) > 80_000);
  clocks.note("n1", -40_000);
  assert.ok((clocks.aheadMs("n1") ?? 0) > 80_000);
  clocks.note("n2", 50_000);
  time.now += 3_700_000;
  clocks.note("n3", 0);
  assert.equal(clocks.aheadMs("n2"), undefined, "nothing runs there any more");
});
