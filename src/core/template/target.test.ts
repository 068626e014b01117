import assert from "node:assert/strict";
import { test } from "node:test";
import type { EtcdClusterSpecInput } from "../../api/etcd-cluster-spec.ts";
import { decide } from "../decide.ts";
import { describeStep } from "../messages/step-names.ts";
import { plan } from "../plan/plan.ts";
import { predict } from "../plan/predict.ts";
import type { Observation } from "../observation.ts";
import { dataAllows, lastGood, newcomerTemplate, targetOf } from "./target.ts";
import { startHash, templateFor, templateHash } from "./template.ts";
import { change, edit, exited, healthy } from "../testing/cluster.ts";
import { viewOf } from "../view.ts";

const MEMORY: Partial<EtcdClusterSpecInput> = { storage: { medium: "Memory" } };

test("where a restart loses data every rollout is a surge swap: nobody stops before etcd has let it go (H4)", () => {
  for (const [replicas, from, change] of [
    [3, "3.6.14", { version: "3.6.16" }],
    [1, "3.6.16", { version: "3.7.3" }],
    [3, "3.5.35", { version: "3.7.3" }],
    [3, "3.7.3", { version: "3.6.16" }],
    [1, "3.6.16", { options: { snapshotCount: 5000 } }],
    [1, "3.6.16", { storage: { medium: "Persistent" } }],
  ] as const) {
    const { steps, end } = plan(edit(healthy({ ...MEMORY, replicas, version: from }), change));
    const reported = steps.map(describeStep);
    assert.ok(end.converged, reported.join("\n"));
    for (const step of reported.filter((text) => text.startsWith("stop workload "))) {
      const name = step.slice("stop workload ".length);
      const removed = reported.indexOf(`remove from etcd ${name}`);
      assert.ok(removed >= 0 && removed < reported.indexOf(step), reported.join("\n"));
      assert.ok(reported.slice(0, removed).some((text) => text.startsWith("promote ")));
    }
  }
});

test("a newcomer that cannot run the target is put back, having nothing to lose yet (H4)", () => {
  let world = edit(healthy({ ...MEMORY, replicas: 1 }), { version: "3.7.3" });
  for (let i = 0; i < 20; i++) {
    const { act } = decide(world);
    assert.ok(act);
    world = predict(world, act.action);
    if (act.action.kind === "UpdateMember" && act.action.purpose === "permit-start") break;
  }
  world = exited(world, "demo-2", "bad-configuration", { restarts: 2 });
  const { steps, end } = plan(world);
  assert.deepEqual(steps.map(describeStep).slice(0, 4), [
    "mark target-failed",
    "revert demo-2",
    "latch-joined demo-2",
    "promote demo-2",
  ]);
  assert.ok(!end.converged);
  assert.equal(end.holds[0]?.reason, "TargetFailed");
});

const three = healthy();
const version = (o: Observation, name: string, to: string) =>
  change(o, name, ({ record, answer }) => ({
    record: { ...record, template: { ...record.template, version: to } },
    answer: answer.reachable ? { ...answer, version: to } : answer,
  }));
const debug = (o: Observation, name: string) =>
  change(o, name, ({ record }) => {
    const { template } = record;
    const changed = {
      ...record,
      template: { ...template, options: { ...template.options, logLevel: "Debug" as const } },
    };
    return {
      record: changed,
      workload: { state: "running", since: o.now, restarts: 0, startedFrom: startHash(changed) },
    };
  });
const silent = (o: Observation, ...names: string[]) =>
  names.reduce((all, name) => change(all, name, { answer: { reachable: false, error: "silent" } }), o);

test("data may be started with what its cluster speaks, or one minor more, and nothing else (R10, R13)", () => {
  const allowed = (o: Observation) =>
    ["3.4.45", "3.5.35", "3.6.16", "3.7.3"].filter((to) => dataAllows(viewOf(o), to));
  const speaks = (clusterVersion: string | undefined, o = three): Observation => ({
    ...o,
    etcd: { ...o.etcd, clusterVersion },
  });
  assert.deepEqual(allowed(speaks("3.6")), ["3.6.16", "3.7.3"]);
  assert.deepEqual(allowed(speaks("3.5")), ["3.5.35", "3.6.16"]);
  assert.deepEqual(allowed(speaks("3.7")), ["3.7.3"]);
  // While nobody can say, no minor is crossed upwards from the lowest record.
  assert.deepEqual(allowed(speaks(undefined)), ["3.5.35", "3.6.16"]);
  const newer = speaks(undefined, version(three, "demo-2", "3.7.3"));
  assert.deepEqual(allowed(silent(newer, "demo-2")), ["3.5.35", "3.6.16"]);
  // But one that runs is on data of the same cluster: the others' cannot be further away.
  assert.deepEqual(allowed(newer), ["3.5.35", "3.6.16", "3.7.3"]);
  const older = silent(speaks(undefined, version(three, "demo-2", "3.5.35")), "demo-1", "demo-3");
  assert.deepEqual(allowed(older), ["3.4.45", "3.5.35"]);
});

test("known to work is what most healthy others run; without any, what those run that answer, for one that does not", () => {
  const level = (o: Observation, name: string) => {
    const view = viewOf(o);
    const member = view.members.find((one) => one.name === name);
    assert.ok(member);
    return lastGood(view, member)?.options.logLevel;
  };
  const five = healthy({ replicas: 5 });
  assert.equal(level(debug(five, "demo-1"), "demo-5"), "Info");
  const most = debug(debug(debug(five, "demo-1"), "demo-2"), "demo-3");
  assert.equal(level(most, "demo-5"), "Debug");
  assert.equal(level(debug(debug(three, "demo-1"), "demo-2"), "demo-1"), "Debug", "its own is not counted");
  assert.equal(level(debug(healthy({ replicas: 1 }), "demo-1"), "demo-1"), undefined);
  const old = change(debug(healthy({ replicas: 2 }), "demo-1"), "demo-1", ({ workload }) => ({
    workload: workload.state === "running" ? { ...workload, startedFrom: "older" } : workload,
  }));
  assert.equal(level(old, "demo-2"), undefined, "who does not run what its record says proves nothing");
  const leaderless = (o: Observation): Observation => ({
    ...o,
    members: o.members.map((facts) => ({
      ...facts,
      answer: facts.answer.reachable ? { ...facts.answer, leaderID: "0", linearizable: false } : facts.answer,
    })),
  });
  const lost = leaderless(silent(debug(debug(three, "demo-1"), "demo-2"), "demo-2", "demo-3"));
  assert.equal(level(lost, "demo-3"), "Debug", "demo-1 answers");
  assert.equal(level(lost, "demo-1"), undefined, "it answers itself, and nobody else does");
  const both = leaderless(silent(debug(three, "demo-1"), "demo-1", "demo-2"));
  assert.equal(level(both, "demo-2"), "Info", "demo-3 answers, and demo-1 does not");
});

test("a newcomer runs what its siblings run, the lowest minor of them, with the storage that is wanted by now", () => {
  const wanted = (o: Observation) => newcomerTemplate(viewOf(o));
  assert.equal(wanted(three)?.version, "3.6.16");
  const upgrade = edit(three, { version: "3.7.3", storage: { size: "20Gi" } });
  assert.deepEqual([wanted(upgrade)?.version, wanted(upgrade)?.storage.size], ["3.6.16", "20Gi"]);
  assert.equal(wanted(version(upgrade, "demo-1", "3.7.3"))?.version, "3.6.16");
  const options = edit(three, { options: { logLevel: "Debug" } });
  assert.equal(wanted(options)?.options.logLevel, "Debug", "the spec of now, where no version is crossed");
  const { spec } = options.cluster;
  const failedTarget = {
    hash: templateHash(templateFor(spec, spec.version)),
    member: "demo-3",
    reason: "no",
  };
  const marked = {
    ...options,
    cluster: { ...options.cluster, marks: { ...options.cluster.marks, failedTarget } },
  };
  assert.equal(wanted(marked)?.options.logLevel, "Info", "what failed is not tried with newcomers");
  const alone = silent(upgrade, "demo-1", "demo-2", "demo-3");
  assert.equal(wanted(alone)?.version, "3.7.3", "nobody runs: it is what the spec asks for");
  const one = silent(version(version(upgrade, "demo-1", "3.7.3"), "demo-2", "3.7.3"), "demo-3");
  assert.equal(wanted(one)?.version, "3.7.3", "who is ill is no example");
});

test("in memory, where newcomers are the rollout, they run the target", () => {
  const memory = edit(healthy({ ...MEMORY, replicas: 1 }), { version: "3.7.3" });
  const wanted = (o: Observation) => newcomerTemplate(viewOf(o))?.version;
  assert.equal(wanted(memory), "3.6.16");
  const retired = (o: Observation) =>
    change(o, "demo-1", ({ record }) => ({ record: { ...record, retiring: { reason: "it is old" } } }));
  assert.equal(wanted(retired(memory)), "3.7.3");
  assert.equal(wanted(retired(edit(healthy({ replicas: 1 }), { version: "3.7.3" }))), "3.6.16");
});

test("that two learners once joined together closes the way back to 3.5, and nothing else does (H1)", () => {
  const down = edit(healthy(), { version: "3.5.35" });
  const kind = (batchJoined: boolean | undefined) => {
    const marks = { ...down.cluster.marks, ...(batchJoined !== undefined && { batchJoined }) };
    return targetOf(viewOf({ ...down, cluster: { ...down.cluster, marks } })).step.kind;
  };
  assert.deepEqual([kind(undefined), kind(true)], ["enable-downgrade", "refused"]);
});

test("a minor that is passed through snapshots at least as often as the spec asks for", () => {
  const count = (snapshotCount?: number) => {
    const options = snapshotCount === undefined ? {} : { snapshotCount };
    const o = edit(healthy({ version: "3.5.35", options }), { version: "3.7.3" });
    return targetOf(viewOf(o)).template?.options.snapshotCount;
  };
  assert.deepEqual([count(), count(100), count(50_000)], [500, 100, 500]);
});

test("it is found once for all rules that ask for it, also after a plan looked at what is not so yet", () => {
  const observation = edit(healthy({ replicas: 3 }), { version: "3.7.3" });
  const target = targetOf(viewOf(observation));
  plan(observation);
  assert.equal(targetOf(viewOf(observation)), target);
});
