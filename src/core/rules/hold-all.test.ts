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

test("a name that belongs to somebody else is reported and not touched (I9)", () => {
  const world = asked();
  const { act, holds } = decide({
    ...world,
    platform: { ...world.platform, clashes: [{ object: "Service demo", concerns: "cluster" }] },
  });
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

test("a name that is taken stops only what it concerns, and is reported until it is free", () => {
  const clash = (concerns: "members" | "users" | "member", world = healthy()) =>
    decide({ ...world, platform: { ...world.platform, clashes: [{ object: "Service demo", concerns }] } });
  for (const concerns of ["members", "users", "member"] as const) {
    assert.equal(clash(concerns, exited(healthy(), "demo-2", "data-missing")).act?.class, "heal");
    const { act, converged, holds } = clash(concerns);
    assert.deepEqual([act, converged, holds[0]?.reason], [undefined, false, "NameClash"]);
  }
  const grow = edit(healthy(), { replicas: 5 });
  assert.equal(clash("members", grow).act, undefined);
  assert.equal(clash("users", grow).act?.class, "join");
});

test("of an object that the spec can do without, the field is named that does", () => {
  const world = healthy();
  const offBy = "spec.service.clusterName";
  const clashes = [{ object: "Service default/demo", concerns: "users" as const, offBy }];
  const { act, holds } = decide({ ...world, platform: { ...world.platform, clashes } });
  assert.deepEqual([act, holds.map(({ reason }) => reason)], [undefined, ["NameClash"]]);
  assert.match(holds[0]?.next ?? "", /spec[.]service[.]clusterName to false/);
});

test("a mark that cannot be read holds what needs it, and is reported", () => {
  const world = edit(healthy(), { replicas: 5 });
  const mark = { path: "metadata.annotations[highest]", message: "cannot be read (oops)" };
  const unreadable = (holds: readonly "join"[]) =>
    decide({ ...world, cluster: { ...world.cluster, unreadable: [{ ...mark, holds }] } });
  assert.equal(unreadable(["join"]).act, undefined);
  assert.equal(unreadable([]).act?.class, "join");
  const [reported] = unreadable([]).holds;
  assert.equal(reported?.reason, "MarkUnreadable");
  assert.match(reported?.message ?? "", /highest.* cannot be read \(oops\)/);
});
