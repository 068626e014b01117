import assert from "node:assert/strict";
import { test } from "node:test";
import { answering, healthy } from "../core/testing/cluster.ts";
import { viewOf } from "../core/view.ts";
import { LogRate } from "./log-rate.ts";

const seen = (raftIndex: number, raftTerm = 2) =>
  viewOf(answering(healthy(), "demo-1", { raftIndex, raftTerm, leaderID: "id-of-demo-1" }));

test("the log's growth is known after a second, and measured over at least one", () => {
  const rate = new LogRate();
  assert.equal(rate.measured(seen(1_000), 0), undefined);
  assert.equal(rate.measured(seen(11_000), 500), undefined);
  assert.equal(rate.measured(seen(41_000), 2_000), 20_000);
  assert.equal(rate.measured(seen(42_000), 2_100), 20_000);
  assert.equal(rate.measured(seen(42_000), 4_000), 500);
});

test("with another term it is measured anew", () => {
  const rate = new LogRate();
  rate.measured(seen(0), 0);
  assert.equal(rate.measured(seen(5_000), 1_000), 5_000);
  assert.equal(rate.measured(seen(5_001, 3), 2_000), undefined);
  assert.equal(rate.measured(seen(5_101, 3), 3_000), 100);
});
