import assert from "node:assert/strict";
import { test } from "node:test";
import { decide } from "../decide.ts";
import type { Observation } from "../observation.ts";
import { change, exited, healthy, leaderOf, run } from "../testing/cluster.ts";

function outdated(observation: Observation, name: string): Observation {
  return change(observation, name, ({ workload }) => ({
    workload: workload.state === "running" ? { ...workload, startedFrom: "something else" } : workload,
  }));
}

test("a follower restarts when the others keep quorum", () => {
  const { act } = decide(outdated(healthy(), "demo-3"));
  assert.equal(act?.action.kind === "StopWorkload" && act.action.member, "demo-3");
});

test("the leader hands over first (R10)", () => {
  const world = healthy();
  const { act } = decide(outdated(world, leaderOf(world)));
  assert.equal(act?.action.kind, "MoveLeader");
});

test("a healthy voter does not restart while another is down (I1)", () => {
  const { act, holds } = decide(exited(outdated(healthy(), "demo-3"), "demo-2"));
  assert.equal(act, undefined);
  assert.ok(holds.some((hold) => hold.message.includes("demo-3 restarts once")));
});

const MORE = { requests: { cpu: "200m", memory: "512Mi" } };

/** The record of demo-3 asks for more than its Pod was started with. */
function grown(world: Observation, resizable: boolean): Observation {
  return change(world, "demo-3", ({ record, workload }) => ({
    record: {
      ...record,
      template: { ...record.template, pod: { ...record.template.pod, resources: MORE } },
    },
    workload: workload.state === "running" ? { ...workload, resizable } : workload,
  }));
}

test("other resources alone restart nobody where the platform can give them to a member that runs", () => {
  const { act, holds } = decide(grown(healthy(), true));
  assert.equal(act, undefined);
  assert.deepEqual([holds[0]?.reason, holds[0]?.classes], ["Resizing", ["roll", "maintain"]]);
  assert.equal(decide(grown(healthy(), false)).act?.action.kind, "StopWorkload");
});

test("where a restart loses data, what cannot come in place comes by a newcomer (H4)", () => {
  const world = grown(healthy({ storage: { medium: "Memory" } }), false);
  const { act } = decide(world);
  assert.ok(act?.action.kind === "UpdateMember" && act.action.purpose === "retire", JSON.stringify(act));
  const { spec } = world.cluster;
  const wanted = {
    ...world,
    cluster: { ...world.cluster, spec: { ...spec, pod: { ...spec.pod, resources: MORE } } },
  };
  const end = run(wanted);
  assert.ok(!end.members.some(({ record }) => record.name === "demo-3"), "it was replaced, and did not stay");
  assert.equal(end.members.length, 3);
});

test("one that is down anyway restarts at once", () => {
  const world = change(outdated(healthy(), "demo-3"), "demo-3", {
    answer: { reachable: false, error: "hangs" },
  });
  assert.equal(decide(world).act?.action.kind, "StopWorkload");
});

test("a workload that has ended for good is taken away, so that it can be made anew", () => {
  const ended = change(exited(healthy(), "demo-3"), "demo-3", ({ workload }) => ({
    workload: workload.state === "exited" ? { ...workload, ended: true } : workload,
  }));
  const { act } = decide(ended);
  assert.equal(act?.action.kind === "StopWorkload" && act.action.member, "demo-3");
  const restarting = decide(exited(healthy(), "demo-3"));
  assert.equal(restarting.act, undefined, "one that is started again by itself is waited for");
});

test("H4: a workload whose data ended with it is not made anew under its old identity", () => {
  const ended = change(exited(healthy(), "demo-3", "data-missing"), "demo-3", ({ workload }) => ({
    workload: workload.state === "exited" ? { ...workload, ended: true } : workload,
  }));
  const { act } = decide(ended);
  assert.equal(act?.action.kind === "UpdateMember" && act.action.purpose, "leave");
});

test("a latch is no reason to restart", () => {
  assert.ok(decide(healthy()).converged);
});
