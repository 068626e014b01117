import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { decide } from "../decide.ts";
import type { Observation } from "../observation.ts";
import { plan } from "../plan/plan.ts";
import { predict } from "../plan/predict.ts";
import { change, edit, exited, healthy, leaderOf, record, run } from "../testing/cluster.ts";
import { says, words } from "../testing/says.ts";
import { of, status, summary, unquorate } from "../testing/status.ts";
import { fence } from "./fence.ts";

const three = healthy();
const leader = leaderOf(three);
const NAMES = ["demo-1", "demo-2", "demo-3"];
const others = NAMES.filter((name) => name !== leader);
const [second = "", third = ""] = others;

function fenced(world: Observation, ...names: string[]): Observation {
  return names.reduce((before, name) => change(before, name, { fenced: true }), world);
}

describe("leadership", () => {
  test("moves from a fenced leader to a healthy voter that is not fenced, once", () => {
    const world = fenced(three, leader, second);
    assert.deepEqual(says(fence, world), [`heal: move leader ${third}`]);
    const after = run(world);
    assert.equal(leaderOf(after), third);
    assert.equal(decide(after).converged, true);
  });

  test("stays with a follower's fence", () => {
    assert.deepEqual(says(fence, fenced(three, second)), []);
  });

  test("stays where every voter is fenced, where nobody else is healthy, and without quorum", () => {
    assert.equal(decide(fenced(three, ...NAMES)).act, undefined);
    assert.equal(decide(exited(fenced(three, leader, second), third)).act, undefined);
    assert.deepEqual(says(fence, unquorate(fenced(three, leader))), []);
    assert.deepEqual(says(fence, fenced(healthy({ replicas: 1 }), "demo-1")), ["VotersFenced"]);
  });

  test("never goes to a member that is being replaced", () => {
    const world = record(fenced(three, leader), second, { retiring: { reason: "by hand" } });
    assert.deepEqual(says(fence, world), [`heal: move leader ${third}`]);
  });

  test("moves although another voter is down: it costs no quorum", () => {
    const { act } = decide(exited(fenced(three, leader), second));
    assert.deepEqual([act?.rule, act?.action.kind], ["fence", "MoveLeader"]);
  });

  test("is left alone while paused", () => {
    assert.equal(decide(fenced(edit(three, { paused: true }), leader)).act, undefined);
  });

  test("goes through a rollout without a loop, also where only the leader is not fenced", () => {
    const world = edit(fenced(three, ...others), { options: { snapshotCount: 20_000 } });
    const end = run(world);
    assert.equal(leaderOf(end), leader, "back with the only one that is not fenced");
    const moves = plan(world).steps.filter(({ action }) => action.kind === "MoveLeader");
    assert.equal(moves.length, 2, "away for its restart, and back");
  });

  test("of a leader that restarts goes to a voter that is not fenced, even to one that restarts later", () => {
    let world = edit(fenced(three, third), { options: { snapshotCount: 20_000 } });
    for (let i = 0; i < 60 && leaderOf(world) === leader; i++) {
      const { act } = decide(world);
      world = act ? predict(world, act.action) : run(world);
    }
    assert.notEqual(leaderOf(world), third);
  });
});

describe("clients", () => {
  test("are told of endpoints of voters that are not fenced", () => {
    const result = status(fenced(three, second));
    assert.equal(result.endpoints?.length, 2);
    assert.ok(result.endpoints?.every((url) => !url.includes(second)));
    assert.deepEqual(
      result.members?.map(({ name, fenced: isFenced, healthy: isHealthy }) => [name, isFenced, isHealthy]),
      NAMES.map((name) => [name, name === second ? true : undefined, true]),
    );
    assert.equal(of(result, "Available").message, "2 of 3 voters serve clients.");
    assert.equal(of(result, "Ready").status, "True", "a fence is no fault");
  });

  test("have no endpoint when every voter is fenced: the status says so, and what to do", () => {
    const result = status(fenced(three, ...NAMES));
    const { Available, Degraded, Ready, Stalled, Quorate } = summary(result);
    assert.deepEqual(
      [Available, Degraded, Ready, Stalled, Quorate],
      ["False VotersFenced", "True VotersFenced", "False VotersFenced", "True VotersFenced", "True Quorum"],
    );
    assert.deepEqual(result.endpoints, []);
    assert.match(result.message ?? "", /Unfence at least one/);
  });

  test("have none while the only voters that are not fenced are down, which nobody has to end by hand", () => {
    const world = exited(fenced(three, ...others), leader);
    assert.match(words(fence, run(world)), /^$/);
    assert.equal(of(status(world), "Available").reason, "VotersFenced");
    const [wait] = decide(world).holds.filter(({ reason }) => reason === "VotersFenced");
    assert.equal(wait?.needsPerson, false);
  });
});

test("who takes the place of a fenced member is not fenced", () => {
  const end = run(change(fenced(three, second), second, { deleting: true }));
  assert.deepEqual(
    end.members.map(({ record: { name }, fenced: isFenced }) => [name, isFenced ?? false]),
    [leader, third, "demo-4"].toSorted().map((name) => [name, false]),
  );
});
