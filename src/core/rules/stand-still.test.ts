import assert from "node:assert/strict";
import { test } from "node:test";
import { decide } from "../decide.ts";
import { asked, edit, exited, healthy } from "../testing/cluster.ts";

test("paused changes nothing, not even a broken member", () => {
  const { act, holds } = decide(exited(edit(healthy(), { paused: true }), "demo-2", "data-missing"));
  assert.equal(act, undefined);
  assert.equal(holds[0]?.reason, "Paused");
});

test("a controller that may not be the only one changes nothing", () => {
  const world = asked();
  const { act, holds } = decide({ ...world, platform: { ...world.platform, fenced: true } });
  assert.equal(act, undefined);
  assert.equal(holds[0]?.reason, "Fenced");
});

test("a name that belongs to somebody else is told and not touched (I9)", () => {
  const world = asked();
  const { act, holds } = decide({ ...world, platform: { ...world.platform, clashes: ["Service demo"] } });
  assert.equal(act, undefined);
  assert.match(holds[0]?.message ?? "", /Service demo/);
});

test("a paused cluster can be deleted", () => {
  const world = edit(healthy(), { paused: true });
  assert.equal(decide({ ...world, cluster: { ...world.cluster, deleting: true } }).act?.rule, "deletion");
});

test("with a spec that is not understood the members are healed, and nothing else is done", () => {
  const world = healthy();
  const cluster = { ...world.cluster, invalid: "spec.replicas: too many" };
  const { act, holds, converged } = decide({ ...world, cluster });
  assert.deepEqual([act, converged, holds[0]?.reason], [undefined, false, "InvalidSpec"]);
  assert.equal(decide(exited({ ...world, cluster }, "demo-2", "data-missing")).act?.rule, "replace-broken");
  const smaller = { ...edit(world, { replicas: 1 }).cluster, invalid: cluster.invalid };
  assert.equal(decide({ ...world, cluster: smaller }).act, undefined);
  assert.equal(decide({ ...world, cluster: { ...cluster, deleting: true } }).act?.rule, "deletion");
});
