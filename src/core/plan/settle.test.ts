/** What follows by itself when nothing fails: the world that plans are made in. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ExitCause, MemberFacts, Observation } from "../observation.ts";
import { settle } from "./settle.ts";
import { startHash } from "../template/template.ts";
import { change, edit, exited, healthy, leaderOf, run } from "../testing/cluster.ts";

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
  const early = { leaving, joined: false } as const;
  assert.equal(started(withRecord(stopped, "demo-2", { ...early, boot: "Join" })), false);
  assert.equal(started(withRecord(stopped, "demo-2", { ...early, boot: "New" })), true, "a founder votes");
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

test("a start is a first one, from what the record says and from now on", () => {
  const later = { ...change(three, "demo-2", { workload: { state: "absent" } }), now: three.now + 7 };
  const record = three.members[1]?.record;
  assert.ok(record);
  assert.deepEqual(settle(later).members[1]?.workload, {
    state: "running",
    since: three.now + 7,
    startedFrom: startHash(record),
    restarts: 0,
  });
});

test("after a sleep, a quorum of those who vote is enough; of whom etcd was never told is not in the list", () => {
  const grown = run(edit(three, { learners: 1 }));
  const absent = { volume: { state: "absent" } } as const;
  const some = (...names: string[]) =>
    settle(names.reduce<Observation>((o, name) => change(o, name, absent), silent(grown)));
  assert.equal(some("demo-2", "demo-4").etcd.list?.members.length, 4);
  assert.equal(some("demo-2", "demo-3").etcd.list, undefined);
  const joiner = withRecord(silent(grown), "demo-4", { joined: false, memberID: undefined });
  const { list } = settle(joiner).etcd;
  assert.deepEqual(
    list?.members.map(({ name, ours }) => [name, ours]),
    [
      ["demo-1", true],
      ["demo-2", true],
      ["demo-3", true],
    ],
  );
  assert.equal(list?.linearizable, true);
});

test("who is not listed any more falls silent; who is listed and does not run is as it was", () => {
  const unlisted: Observation = {
    ...three,
    etcd: {
      ...three.etcd,
      list: three.etcd.list && {
        ...three.etcd.list,
        members: three.etcd.list.members.filter(({ name }) => name !== "demo-3"),
      },
    },
  };
  assert.deepEqual(settle(unlisted).members[2]?.answer, { reachable: false, error: "removed" });
  const stopping = change(three, "demo-3", { workload: { state: "stopping", since: three.now } });
  assert.equal(settle(stopping).members[2]?.answer.reachable, true);
});

test("each tells its own sizes, and a learner never counts where votes do", () => {
  const large = change(three, "demo-2", ({ answer }) => ({
    answer: answer.reachable ? { ...answer, dbSize: 777 } : answer,
  }));
  assert.deepEqual(
    answers(settle(large)).map(({ dbSize }) => dbSize === 777),
    [false, true, false],
  );
  const grown = run(edit(three, { learners: 1 }));
  const gone = (o: Observation, name: string) => exited(o, name, "data-missing");
  const one = settle(gone(gone(grown, "demo-2"), "demo-3"));
  assert.equal(one.etcd.list?.linearizable, false);
  assert.ok(answers(one).every(({ leaderID, linearizable }) => leaderID === "0" && !linearizable));
});

test("versions are those of the processes: neither a record that was changed nor an outage moves the cluster's", () => {
  const rolled = (o: Observation, how: (version: string) => Partial<MemberFacts["record"]["template"]>) => ({
    ...o,
    members: o.members.map((facts) => ({
      ...facts,
      record: { ...facts.record, template: { ...facts.record.template, ...how("3.7.3") } },
    })),
  });
  const stopping = rolled(three, (version) => ({ version }));
  const asleep = {
    ...stopping,
    members: stopping.members.map((facts) => ({
      ...facts,
      workload: { state: "stopping", since: three.now } as const,
    })),
  };
  assert.equal(settle(asleep).etcd.clusterVersion, "3.6");
  const newer = healthy({ version: "3.7.3" });
  const spoken = { ...newer, etcd: { ...newer.etcd, clusterVersion: "3.6" } };
  assert.equal(settle(spoken).etcd.clusterVersion, "3.7");
  const lost = exited(exited(spoken, "demo-2", "data-missing"), "demo-3", "data-missing");
  assert.equal(settle(lost).etcd.clusterVersion, "3.6");
  assert.ok(answers(three).every(({ storageVersion }) => storageVersion === "3.6.0"));
});
