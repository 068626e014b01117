/** A template that is new is tried by one member before another that runs gets it. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { decide } from "../decide.ts";
import type { Observation } from "../observation.ts";
import { predict } from "../plan/predict.ts";
import { restartOutdated } from "../rules/restart-outdated.ts";
import { retemplate } from "../rules/retemplate.ts";
import { NOW, change, edit, exited, healthy } from "../testing/cluster.ts";
import { says } from "../testing/says.ts";
import {
  EDITED,
  LONG_AGO,
  SILENT,
  approved,
  unreachableEtcd,
  done,
  restarted,
  unseen,
  withoutList,
} from "../testing/unseen.ts";

test("an edit that hides its canary from us can be taken back, and nothing else is done to it", () => {
  const rolled = edit(healthy(), EDITED);
  const step = decide(rolled).act?.action;
  assert.ok(step?.kind === "UpdateMember" && step.member === "demo-3");
  const hidden = unseen(restarted(predict(rolled, step), "demo-3"), "demo-3", true, { seenByPeers: true });
  assert.deepEqual(says(retemplate, hidden), []);
  const reverted = edit(hidden, { options: {} });
  assert.deepEqual(says(retemplate, reverted), ["revert: revert demo-3"]);
  const back = predict(reverted, decide(reverted).act!.action);
  assert.deepEqual(says(restartOutdated, back), ["revert: stop workload demo-3"]);
});

test("a running member gets a template only when the one that has it was seen well with it", () => {
  // Nobody is Ready: the members may really be down.
  const world = edit(unreachableEtcd(healthy(), false), EDITED);
  assert.deepEqual(says(retemplate, world), ["revert: revert demo-1"]);
  const first = done(retemplate, world);
  assert.deepEqual(says(retemplate, first), ["MemberStarting"]);
  assert.deepEqual(says(restartOutdated, first), ["revert: stop workload demo-1"]);

  const back = restarted(first, "demo-1");
  const silent = change(back, "demo-1", { answer: SILENT, unhealthySince: NOW });
  assert.deepEqual(says(retemplate, silent), ["MemberStarting"]);
  assert.deepEqual(says(retemplate, approved(silent, "restart-demo-2")), ["revert: revert demo-2"]);
  const alive = change(silent, "demo-1", { alive: true });
  assert.deepEqual(says(retemplate, alive), ["revert: revert demo-2"], "without quorum /livez has to do");
});

test("members whose processes have ended get another template together, whatever became of the first", () => {
  let world = withoutList(healthy());
  for (const { record } of world.members) world = exited(world, record.name, "unknown", { since: LONG_AGO });
  world = edit(world, EDITED);
  for (const name of ["demo-1", "demo-2", "demo-3"]) {
    assert.deepEqual(says(retemplate, world), [`revert: revert ${name}`]);
    world = done(retemplate, world);
  }
});

test("one whose own data is lost is no trial of the template", () => {
  const world = edit(unreachableEtcd(healthy(), false), EDITED);
  const first = done(retemplate, world);
  const lost = exited(first, "demo-1", "data-corrupt");
  assert.deepEqual(says(retemplate, lost), ["revert: revert demo-2"]);
});

test("one that has no node to run on is no trial either, unless it may be the template that no node takes", () => {
  const world = (edited: Parameters<typeof edit>[1]) =>
    done(retemplate, edit(unreachableEtcd(healthy(), false), edited));
  const waiting = {
    state: "waiting",
    reason: "Unschedulable",
    unschedulable: true,
    since: LONG_AGO,
  } as const;
  const unplaced = (o: Observation) => change(o, "demo-1", { workload: waiting });
  const second = unplaced(world(EDITED));
  assert.deepEqual(says(retemplate, second), ["revert: revert demo-2"]);
  assert.deepEqual(says(restartOutdated, done(retemplate, second)), ["revert: stop workload demo-2"]);
  assert.deepEqual(says(retemplate, done(retemplate, second)), ["MemberStarting"], "demo-3 waits for demo-2");
  const greedy = world({ pod: { resources: { requests: { memory: "900Gi" } } } });
  assert.deepEqual(says(retemplate, unplaced(greedy)), ["MemberStarting"]);
  const lostNode = { state: "stopping", since: LONG_AGO, lostNode: "node-1" } as const;
  assert.deepEqual(says(retemplate, change(greedy, "demo-1", { workload: lostNode })), [
    "revert: revert demo-2",
  ]);
});
