/** What follows by itself when nothing fails: the world that plans are made in. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ExitCause, MemberFacts, Observation } from "./observation.ts";
import { settle } from "./settle.ts";
import { change, edit, exited, healthy, leaderOf, run } from "./testing/cluster.ts";

const three = healthy();
const stateOf = (o: Observation, name: string) =>
  o.members.find(({ record }) => record.name === name)?.workload.state;
const answers = (o: Observation) => o.members.flatMap(({ answer }) => (answer.reachable ? [answer] : []));
const withRecord = (o: Observation, name: string, more: Partial<MemberFacts["record"]>) =>
  change(o, name, ({ record }) => ({ record: { ...record, ...more } }));
const silent = (o: Observation): Observation => ({
  ...o,
  etcd: { ...o.etcd, list: undefined },
  members: o.members.map((facts) => ({
    ...facts,
    workload: { state: "absent" } as const,
    answer: { reachable: false, error: "not running" } as const,
  })),
});

test("a cluster at rest stays as it is", () => {
  assert.deepEqual(settle(three), three);
});

test("a process that ended is started again, unless its data is lost or the same template would end it again", () => {
  const causes: [ExitCause, boolean][] = [
    ["killed", true],
    ["unknown", true],
    ["data-missing", false],
    ["data-corrupt", false],
    ["removed", false],
    ["bad-configuration", false],
    ["data-differs", false],
  ];
  for (const [cause, comesBack] of causes) {
    const ended = exited(three, "demo-2", cause as Parameters<typeof exited>[2]);
    assert.equal(stateOf(settle(ended), "demo-2"), comesBack ? "running" : "exited", cause);
  }
  const otherTemplate = (o: Observation) =>
    change(o, "demo-2", ({ workload }) => ({
      workload: workload.state === "exited" ? { ...workload, startedFrom: "another" } : workload,
    }));
  const given = (cause: "bad-configuration" | "data-missing") =>
    stateOf(settle(otherTemplate(exited(three, "demo-2", cause))), "demo-2");
  assert.equal(given("bad-configuration"), "running");
  assert.equal(given("data-missing"), "exited");
});

test("only who may run is started: by its record, on its own volume, and not while the cluster is deleted", () => {
  const stopped = change(three, "demo-2", { workload: { state: "absent" } });
  const started = (o: Observation) => stateOf(settle(o), "demo-2") === "running";
  assert.equal(started(stopped), true);
  assert.equal(started(withRecord(stopped, "demo-2", { run: false })), false);
  assert.equal(started(withRecord(stopped, "demo-2", { volumeUID: undefined })), false);
  assert.equal(started(change(stopped, "demo-2", { volume: { state: "ready", uid: "another" } })), false);
  assert.equal(started(change(stopped, "demo-2", { volume: { state: "absent" } })), false);
  assert.equal(started({ ...stopped, cluster: { ...stopped.cluster, deleting: true } }), false);
  const leaving = { reason: "it goes", volume: "Retain" } as const;
  // As long as etcd counts it, its vote may be needed.
  assert.equal(started(withRecord(stopped, "demo-2", { leaving })), true);
  assert.equal(started(withRecord(stopped, "demo-2", { leaving, joined: false })), false);
  assert.equal(started(withRecord(stopped, "demo-2", { leaving, memberID: "gone" })), false);
});

test("one that runs with an older template goes on with it until it is stopped", () => {
  const older = change(three, "demo-2", ({ workload }) => ({
    workload: workload.state === "running" ? { ...workload, startedFrom: "older" } : workload,
  }));
  const [, second] = settle(older).members;
  assert.equal(second?.workload.state === "running" && second.workload.startedFrom, "older");
});

test("without a quorum of voters nobody leads and nobody serves; with one, whoever led leads on", () => {
  const stop = (o: Observation, name: string) =>
    exited(withRecord(o, name, { run: false }), name, "data-missing");
  const led = leaderOf(three);
  const followers = ["demo-1", "demo-2", "demo-3"].filter((name) => name !== led);
  const two = settle(stop(three, followers[0] ?? ""));
  assert.equal(leaderOf(two), led);
  assert.ok(answers(two).every(({ linearizable }) => linearizable));
  const one = settle(stop(two, followers[1] ?? ""));
  assert.deepEqual(
    answers(one).map(({ leaderID, linearizable }) => [leaderID, linearizable]),
    [["0", false]],
  );
  assert.equal(one.etcd.list?.linearizable, false);
});

test("the first members are a cluster once a quorum of them runs, and every one of them has its permit", () => {
  const founders = { ...three, cluster: { ...three.cluster, marks: { life: 1, highestOrdinal: 0 } } };
  const blank = silent(founders);
  const unjoined = {
    ...blank,
    members: blank.members.map((facts) => ({
      ...facts,
      record: { ...facts.record, joined: false, memberID: undefined },
    })),
  };
  assert.equal(settle(unjoined).etcd.list?.members.length, 3);
  assert.equal(settle(unjoined).etcd.list?.clusterID, "cluster-of-demo");
  const without = (...names: string[]) =>
    names.reduce<Observation>(
      (o, name) => change(o, name, { volume: { state: "pending", reason: "none" } }),
      unjoined,
    );
  assert.equal(settle(without("demo-3")).etcd.list?.members.length, 3);
  assert.equal(settle(without("demo-2", "demo-3")).etcd.list, undefined);
  const waits = withRecord(unjoined, "demo-3", { volumeUID: undefined });
  assert.equal(settle(waits).etcd.list, undefined);
});

test("after a sleep those are in the list who had joined, in the role they had", () => {
  const grown = run(edit(three, { learners: 1 }));
  const woken = settle(silent(grown));
  assert.deepEqual(
    woken.etcd.list?.members.map(({ name, isLearner }) => [name, isLearner]),
    [
      ["demo-1", false],
      ["demo-2", false],
      ["demo-3", false],
      ["demo-4", true],
    ],
  );
  assert.equal(woken.etcd.list?.clusterID, three.etcd.list?.clusterID);
  assert.deepEqual(
    answers(woken).map(({ isLearner, linearizable }) => [isLearner, linearizable]),
    [
      [false, true],
      [false, true],
      [false, true],
      [true, false],
    ],
  );
});

test("the cluster version is the lowest minor that runs, and moves only while somebody leads", () => {
  const on = (o: Observation, name: string, version: string) =>
    change(o, name, ({ answer, record }) => ({
      answer: answer.reachable ? { ...answer, version } : answer,
      record: { ...record, template: { ...record.template, version } },
    }));
  const all = (version: string) =>
    ["demo-1", "demo-2", "demo-3"].reduce((o, name) => on(o, name, version), three);
  assert.equal(settle(on(three, "demo-1", "3.7.3")).etcd.clusterVersion, "3.6");
  const raised = settle(all("3.7.3"));
  assert.equal(raised.etcd.clusterVersion, "3.7");
  assert.deepEqual(
    answers(raised).map(({ storageVersion }) => storageVersion),
    ["3.7.0", "3.7.0", "3.7.0"],
  );
  const old = healthy({ version: "3.5.35" });
  assert.ok(answers(old).every(({ storageVersion }) => storageVersion === ""));
});
