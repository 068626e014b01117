import assert from "node:assert/strict";
import { test } from "node:test";
import { available } from "../status/conditions.ts";
import { decide } from "../decide.ts";
import type { Observation } from "../observation.ts";
import { change, exited, healthy } from "../testing/cluster.ts";
import { viewOf } from "../view.ts";

function silent(observation: Observation): Observation {
  const { list, ...etcd } = observation.etcd;
  assert.ok(list);
  return { ...observation, etcd };
}

const everyone = ["demo-1", "demo-2", "demo-3"];

test("all down with their data: waiting, not lost", () => {
  const world = silent(everyone.reduce((o, name) => exited(o, name), healthy()));
  const { act, holds } = decide(world);
  assert.equal(act, undefined);
  const last = holds.at(-1);
  assert.equal(last?.reason, "Waking");
  assert.match(last?.message ?? "", /0 of 3 voters healthy, 2 needed/);
});

test("all data gone: said, and never started over (I3)", () => {
  const world = silent(everyone.reduce((o, name) => exited(o, name, "data-missing"), healthy()));
  const { act, holds } = decide(world);
  assert.equal(act, undefined);
  assert.equal(holds.at(-1)?.reason, "DataGone");
  assert.ok(holds.at(-1)?.next);
});

test("a majority without data: lost for good, with what would be needed", () => {
  const world = silent(
    exited(exited(exited(healthy(), "demo-1"), "demo-2", "data-missing"), "demo-3", "data-missing"),
  );
  const { act, holds } = decide(world);
  assert.equal(act, undefined);
  const last = holds.at(-1);
  assert.equal(last?.reason, "QuorumLost");
  assert.match(last?.message ?? "", /demo-2, demo-3 lost their data/);
  assert.match(last?.next ?? "", /surviving member|snapshot/);
});

test("a single member whose data is gone stays down", () => {
  const world = silent(exited(healthy({ replicas: 1 }), "demo-1", "data-missing"));
  const { act, holds } = decide(world);
  assert.equal(act, undefined);
  assert.equal(holds.at(-1)?.reason, "DataGone");
});

test("learners that answer are no voters to wait for: with the only voter, everything is gone", () => {
  const learner = (o: Observation, name: string) =>
    change(o, name, ({ answer }) => ({
      answer: answer.reachable ? { ...answer, isLearner: true, leaderID: "0", linearizable: false } : answer,
    }));
  const world = exited(learner(learner(healthy(), "demo-2"), "demo-3"), "demo-1", "data-missing");
  const { act, holds } = decide(silent(world));
  assert.equal(act, undefined);
  assert.equal(holds.at(-1)?.reason, "DataGone");
  assert.match(holds.at(-1)?.message ?? "", /the only voter lost its data \(demo-1\)/);
});

test("an only member that came back without its data is told as lost data, and nothing is changed (I3)", () => {
  const world = change(healthy({ replicas: 1 }), "demo-1", () => ({
    forgot: { evidence: "it is at revision 1, and 900 was seen before", seenRevision: 900 },
  }));
  const { act, holds } = decide(world);
  assert.equal(act, undefined);
  assert.equal(holds.at(-1)?.reason, "DataGone");
  assert.equal(holds.at(-1)?.classes, "all");
  assert.match(holds.at(-1)?.message ?? "", /revision 1, and 900 was seen/);
  assert.match(holds.at(-1)?.next ?? "", /approve=accept-data-900/);
  assert.equal(available(viewOf(world)).reason, "DataGone");
});
