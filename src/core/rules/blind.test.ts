/** What the rules do about members that the operator alone cannot reach (H16), and about a template that is new. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { available, degraded, quorate } from "../status/conditions.ts";
import { decide } from "../decide.ts";
import type { Rule } from "../rule.ts";
import type { MemberFacts, Observation } from "../observation.ts";
import { predict } from "../plan/predict.ts";
import { statusOf } from "../status/status.ts";
import { startHash } from "../template/template.ts";
import { change, edit, exited, healthy, NOW } from "../testing/cluster.ts";
import { says } from "../testing/says.ts";
import { viewOf } from "../view.ts";
import { quorumLost } from "./quorum-lost.ts";
import { replaceBroken } from "./replace-broken.ts";
import { scaleIn } from "./scale-in.ts";
import { restartOutdated } from "./restart-outdated.ts";
import { retemplate } from "./retemplate.ts";

const LONG_AGO = NOW - 3_600_000;
const EDITED = { options: { logLevel: "Debug" } } as const;
const SILENT = { reachable: false, error: "connection timed out", cause: "network" } as const;

/** It runs, does not answer us, and is ready or not by its own word. */
function unseen(o: Observation, name: string, ready: boolean | undefined, more: Partial<MemberFacts> = {}) {
  return change(o, name, ({ workload }) => ({
    workload:
      workload.state === "running" ? { ...workload, ...(ready !== undefined && { ready }) } : workload,
    answer: SILENT,
    unhealthySince: LONG_AGO,
    ...more,
  }));
}

function withoutList(o: Observation): Observation {
  const { list: _list, clusterVersion: _version, ...etcd } = o.etcd;
  return { ...o, etcd };
}

function blind(
  o = healthy(),
  ready: boolean | undefined = true,
  more: Partial<MemberFacts> = {},
): Observation {
  let world = o;
  for (const { record } of o.members) world = unseen(world, record.name, ready, more);
  return withoutList(world);
}

const approved = (o: Observation, what: string): Observation => ({
  ...o,
  cluster: { ...o.cluster, approved: what },
});
/** The step that the rule takes, done, and nothing else. */
function done(rule: Rule, o: Observation): Observation {
  const [outcome] = rule(viewOf(o));
  assert.ok(outcome && "act" in outcome && outcome.act.action.kind === "UpdateMember");
  const { member, change: changed } = outcome.act.action;
  return change(o, member, ({ record }) => ({ record: { ...record, ...changed } }));
}
const restarted = (o: Observation, name: string) =>
  change(o, name, ({ record }) => ({
    workload: { state: "running", since: NOW, restarts: 0, startedFrom: startHash(record), ready: false },
  }));

test("one that runs and is not Ready is not restarted for an edit while the quorum is hidden, unless a person says so", () => {
  const world = edit(unseen(blind(), "demo-3", false), EDITED);
  assert.deepEqual(says(retemplate, world), []);
  assert.deepEqual(says(retemplate, approved(world, "restart-demo-3")), ["revert: revert demo-3"]);
  const ended = change(exited(world, "demo-3"), "demo-3", { unhealthySince: LONG_AGO });
  assert.deepEqual(says(retemplate, ended), ["revert: revert demo-3"], "what has ended can be mended");
});

test("members that serve everybody but us get no template, are not stopped and not replaced", () => {
  for (const o of [blind(), edit(blind(), EDITED)]) {
    const { act, holds } = decide(o);
    assert.equal(act, undefined);
    assert.deepEqual(
      holds.map(({ reason }) => reason),
      ["EtcdUnreachable"],
    );
  }
});

test("the conditions say that nothing is known, and where to look", () => {
  const view = viewOf(blind());
  for (const verdict of [quorate(view), available(view), degraded(view, [])]) {
    assert.deepEqual([verdict.status, verdict.reason], ["Unknown", "EtcdUnreachable"]);
    assert.match(
      verdict.message,
      /cannot reach etcd on demo-1, demo-2, demo-3 \(connection timed out\), but their etcd containers are ready; nothing is changed until it can be reached\. Check .*NetworkPolicy/,
    );
  }
  assert.equal(statusOf(blind(), decide(blind()), undefined).readyReplicas, 3);
});

test("the advice follows the kind of the failure", () => {
  const advice = (answer: MemberFacts["answer"]) => {
    const [outcome] = quorumLost(viewOf(blind(healthy(), true, { answer })));
    return outcome && "hold" in outcome ? outcome.hold.next : "";
  };
  assert.match(advice({ ...SILENT, cause: "certificate" }) ?? "", /certificate.*approve=restart-demo-1/);
  assert.match(advice({ ...SILENT, cause: "authentication" }) ?? "", /auth disable/);
  assert.match(advice({ reachable: false, error: "?" }) ?? "", /^Check what keeps the operator/);
  const [first] = healthy().members;
  assert.ok(first?.answer.reachable);
  assert.match(advice({ ...first.answer, linearizable: false, refused: true }) ?? "", /auth disable/);
});

test("a quorum that is not even said to be there is lost, not hidden", () => {
  let world = blind();
  world = exited(exited(world, "demo-1", "unknown"), "demo-2", "unknown");
  assert.deepEqual(says(quorumLost, world), ["Waking"]);
  assert.equal(quorate(viewOf(world)).status, "False");
  assert.deepEqual(says(quorumLost, blind(healthy(), false)), ["Waking"], "not one is ready");
});

test("one member that we do not see is kept while it is ready, unless its peers lost it or a person approves", () => {
  const one = (ready: boolean, seenByPeers?: boolean) =>
    unseen(healthy(), "demo-3", ready, seenByPeers === undefined ? {} : { seenByPeers });
  assert.deepEqual(says(replaceBroken, one(true, true)), ["MemberUnreachable"]);
  assert.deepEqual(says(replaceBroken, one(true)), ["MemberUnreachable"]);
  assert.deepEqual(says(replaceBroken, one(true, false)), ["heal: leave demo-3"]);
  assert.deepEqual(says(replaceBroken, one(false, true)), ["heal: leave demo-3"]);
  assert.deepEqual(says(replaceBroken, approved(one(true, true), "replace-demo-3")), ["heal: leave demo-3"]);
  assert.deepEqual(says(replaceBroken, approved(one(true, true), "replace-demo-2")), ["MemberUnreachable"]);
  assert.equal(degraded(viewOf(one(true, true)), []).status, "Unknown");
  assert.equal(
    quorate(viewOf(one(true))).message,
    "2 of 3 voters are healthy and 1 cannot be reached: none may fail now",
  );
});

test("an approval that was left standing waits until the member has been out of reach for its time", () => {
  const hidden = (seconds: number) =>
    unseen(healthy(), "demo-3", true, { seenByPeers: true, unhealthySince: NOW - seconds * 1_000 });
  const left = (seconds: number) => approved(hidden(seconds), "replace-demo-3");
  const [outcome] = replaceBroken(viewOf(left(1)));
  assert.ok(outcome && "hold" in outcome);
  assert.deepEqual([outcome.hold.reason, outcome.hold.until], ["MemberUnreachable", NOW + 299_000]);
  assert.match(outcome.hold.next ?? "", /is approved and begins once it has been unreachable for 5m\.$/);
  assert.deepEqual(says(replaceBroken, left(300)), ["heal: leave demo-3"]);
  const [unasked] = replaceBroken(viewOf(hidden(1)));
  assert.ok(unasked && "hold" in unasked);
  assert.match(unasked.hold.next ?? "", /takes effect once demo-3 has been unreachable for 5m\.$/);

  const restart = (seconds: number) => approved(edit(hidden(seconds), EDITED), "restart-demo-3");
  assert.deepEqual(says(retemplate, restart(1)), []);
  assert.deepEqual(says(retemplate, restart(120)), ["revert: revert demo-3"]);
});

test("a member that is too slow for us and Ready is kept; without a leader, or not Ready, it is down", () => {
  const slow = (ready: boolean | undefined, leaderID?: string) =>
    change(unseen(healthy(), "demo-3", ready), "demo-3", ({ record }) => {
      const { answer } = healthy().members.find((facts) => facts.record.name === record.name)!;
      assert.ok(answer.reachable);
      return { answer: { ...answer, linearizable: false, ...(leaderID && { leaderID }) } };
    });
  const [outcome] = replaceBroken(viewOf(slow(true)));
  assert.ok(outcome && "hold" in outcome);
  assert.equal(outcome.hold.reason, "MemberUnreachable");
  assert.match(
    outcome.hold.message,
    /too slow to answer a linearizable read\), but its etcd container is ready/,
  );
  for (const down of [slow(false), slow(undefined), slow(true, "0")])
    assert.deepEqual(says(replaceBroken, down), ["heal: leave demo-3"]);
});

test("where there is no readiness, the peers' word or a refusal vouches for a member", () => {
  const reach = (more: Partial<MemberFacts>) =>
    viewOf(unseen(healthy(), "demo-3", undefined, more)).members[2]?.outOfReach;
  assert.equal(reach({}), false);
  assert.equal(reach({ seenByPeers: true }), true);
  assert.equal(reach({ answer: { ...SILENT, cause: "authentication" } }), true);
});

test("a learner is never Ready: its peers vouch for one that has joined, and nobody for one that has not", () => {
  const o = unseen(healthy({ learners: 1 }), "demo-4", false, { seenByPeers: true });
  assert.equal(viewOf(o).members[3]?.outOfReach, true);
  const newcomer = change(o, "demo-4", ({ record }) => ({ record: { ...record, joined: false } }));
  assert.equal(viewOf(newcomer).members[3]?.outOfReach, false);
});

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
  const world = edit(blind(healthy(), false), EDITED);
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
  const world = edit(blind(healthy(), false), EDITED);
  const first = done(retemplate, world);
  const lost = exited(first, "demo-1", "data-corrupt");
  assert.deepEqual(says(retemplate, lost), ["revert: revert demo-2"]);
});

test("one that has no node to run on is no trial either, unless it may be the template that no node takes", () => {
  const world = (edited: Parameters<typeof edit>[1]) =>
    done(retemplate, edit(blind(healthy(), false), edited));
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

test("a running member is not stopped before the one that restarted ahead of it is back", () => {
  let world = edit(blind(healthy(), false), EDITED);
  world = done(retemplate, world);
  const { template } = world.members[0]!.record;
  world = change(world, "demo-2", ({ record }) => ({ record: { ...record, template } }));
  const gone = change(world, "demo-1", { workload: { state: "absent" } });
  assert.deepEqual(says(restartOutdated, gone), ["MemberStarting"]);
  const back = change(restarted(gone, "demo-1"), "demo-1", { alive: true });
  assert.deepEqual(says(restartOutdated, back), ["revert: stop workload demo-2"]);
});

test("blind, a member is restarted only by approval, and only while enough others are Ready", () => {
  let world = blind();
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

test("scale-in takes no member for being out of our reach alone", () => {
  const o = edit(unseen(healthy({ replicas: 5 }), "demo-2", true, { seenByPeers: true }), { replicas: 4 });
  assert.deepEqual(says(scaleIn, o), ["shrink: leave demo-5"]);
  assert.deepEqual(says(scaleIn, unseen(o, "demo-2", false)), ["shrink: leave demo-2"]);
});

test("a founder that comes later than the others is starting: neither degraded nor about to be replaced", () => {
  const late = change(healthy(), "demo-3", ({ record }) => ({
    record: { ...record, joined: false },
    workload: { state: "waiting", reason: "ContainerCreating", since: NOW },
    answer: { reachable: false, error: "no process runs" },
    unhealthySince: NOW,
  }));
  const { status, reason, message } = degraded(viewOf(late), []);
  assert.deepEqual([status, reason], ["False", "MemberStarting"]);
  assert.equal(message, "2 of 3 members are healthy; demo-3 is starting (ContainerCreating)");
  const hold = decide(late).holds.find(({ rule }) => rule === "replace-broken");
  assert.equal(hold?.message, "waiting for demo-3 to start for the first time (ContainerCreating)");
});
