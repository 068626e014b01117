import assert from "node:assert/strict";
import { test } from "node:test";
import { decide } from "../decide.ts";
import type { Observation } from "../observation.ts";
import { change, edit, exited, healthy, leaderOf, run } from "../testing/cluster.ts";
import { says } from "../testing/says.ts";
import { EDITED, approved, unreachableEtcd, done, restarted, unseen } from "../testing/unseen.ts";
import { restartOutdated } from "./restart-outdated.ts";
import { retemplate } from "./retemplate.ts";

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

const five = healthy({ replicas: 5 });
const three = healthy();

const started = (o: Observation, name: string, startedFrom: string) =>
  change(o, name, ({ workload }) => ({
    workload: workload.state === "running" ? { ...workload, startedFrom } : workload,
  }));

test("what lacks only resources waits behind what must restart", () => {
  const outdated = started(started(five, "demo-3", "old"), "demo-4", "old");
  assert.deepEqual(says(restartOutdated, outdated), ["revert: stop workload demo-3"]);
  const stopping = change(outdated, "demo-3", {
    workload: { state: "stopping", since: five.now, startedFrom: "old" },
  });
  assert.deepEqual(says(restartOutdated, stopping), ["Stopping"]);
  assert.deepEqual(says(restartOutdated, started(five, "demo-1", "old")), ["revert: move leader demo-2"]);
  const two = healthy({ replicas: 2 });
  assert.deepEqual(says(restartOutdated, started(two, "demo-1", "old")), ["revert: move leader demo-2"]);
  assert.deepEqual(says(restartOutdated, started(healthy({ replicas: 1 }), "demo-1", "old")), [
    "revert: stop workload demo-1",
  ]);
  // Ill already: it costs no vote, so it need not wait.
  assert.deepEqual(says(restartOutdated, started(exited(three, "demo-2"), "demo-3", "old")), [
    "MemberUnhealthy",
  ]);
});

test("a running member is not stopped before the one that restarted ahead of it is back", () => {
  let world = edit(unreachableEtcd(healthy(), false), EDITED);
  world = done(retemplate, world);
  const { template } = world.members[0]!.record;
  world = change(world, "demo-2", ({ record }) => ({ record: { ...record, template } }));
  const gone = change(world, "demo-1", { workload: { state: "absent" } });
  assert.deepEqual(says(restartOutdated, gone), ["MemberStarting"]);
  const back = change(restarted(gone, "demo-1"), "demo-1", { alive: true });
  assert.deepEqual(says(restartOutdated, back), ["revert: stop workload demo-2"]);
});

test("while etcd is unreachable, a member is restarted only by approval, and only while enough others are Ready", () => {
  let world = unreachableEtcd();
  world = change(edit(world, EDITED), "demo-1", ({ record }) => ({
    record: {
      ...record,
      template: { ...record.template, options: { ...record.template.options, logLevel: "Debug" } },
    },
  }));
  assert.deepEqual(says(restartOutdated, world), ["MemberUnreachable"]);
  assert.deepEqual(says(restartOutdated, approved(world, "restart-demo-1")), [
    "revert: stop workload demo-1",
  ]);
  const less = approved(unseen(world, "demo-2", false), "restart-demo-1");
  assert.deepEqual(says(restartOutdated, less), ["MemberUnreachable"]);
});
