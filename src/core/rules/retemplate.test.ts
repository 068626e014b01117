import assert from "node:assert/strict";
import { test } from "node:test";
import type { EtcdClusterSpecInput } from "../../api/etcd-cluster-spec.ts";
import { decide } from "../decide.ts";
import type { MemberFacts, Observation } from "../observation.ts";
import { predict } from "../plan/predict.ts";
import { settle } from "../plan/settle.ts";
import { startHash, templateFor } from "../template/template.ts";
import { NOW, change, edit, exited, healthy, record, run, unchecked } from "../testing/cluster.ts";
import { ended, ill, runs } from "../testing/ill.ts";
import { says, words } from "../testing/says.ts";
import { retemplate } from "./retemplate.ts";

const bad = { options: { extraArgs: { "cipher-suites": "NO_SUCH_SUITE" } } };

/** demo-3 was rolled to a template that its etcd does not understand. */
function badCanary(restarts: number): Observation {
  let world = edit(healthy(), bad);
  const { act } = decide(world);
  assert.ok(act?.action.kind === "UpdateMember" && act.action.member === "demo-3");
  world = predict(world, act.action);
  world = change(world, "demo-3", ({ record, workload }) => ({
    workload: workload.state === "running" ? { ...workload, startedFrom: startHash(record) } : workload,
  }));
  return exited(world, "demo-3", "bad-configuration", { restarts });
}

test("a canary that cannot run its template is put back by itself, and the target is remembered as failed", () => {
  const first = decide(badCanary(2));
  assert.equal(first.act?.action.kind === "MarkCluster" && first.act.action.purpose, "target-failed");
  let world = predict(badCanary(2), first.act!.action);
  world = exited(world, "demo-3", "bad-configuration", { restarts: 3 });
  const second = decide(world);
  assert.equal(second.act?.action.kind === "UpdateMember" && second.act.action.purpose, "revert");
  world = predict(world, second.act!.action);
  const rest = decide(world);
  assert.equal(rest.act, undefined);
  assert.equal(rest.holds[0]?.reason, "TargetFailed");
  assert.ok(rest.holds[0]?.next);
});

test("one exit is not yet a verdict", () => {
  assert.equal(decide(badCanary(1)).act, undefined);
});

test("taking the bad edit back re-templates the canary at once, while it is down", () => {
  const world = edit(badCanary(2), { options: {} });
  const { act } = decide(world);
  assert.equal(act?.action.kind === "UpdateMember" && act.action.purpose, "revert");
  assert.equal(act?.action.kind === "UpdateMember" && act.action.member, "demo-3");
});

test("a single member with a bad template comes back when the edit is taken back", () => {
  let world = edit(healthy({ replicas: 1 }), bad);
  const { act } = decide(world);
  world = predict(world, act!.action);
  world = exited(world, "demo-1", "bad-configuration", { restarts: 2 });
  world = change(world, "demo-1", ({ record, workload }) => ({
    workload: workload.state === "exited" ? { ...workload, startedFrom: startHash(record) } : workload,
  }));
  const { list: _gone, ...etcd } = world.etcd;
  const reverted = decide({ ...edit(world, { options: {} }), etcd });
  assert.equal(reverted.act?.rule, "retemplate");
});

/** A cluster of two whose second was given a template that never starts, so that the first lacks a quorum. */
function halfOfTwo(
  unhealthyForMs: number,
  wanted: Partial<EtcdClusterSpecInput> = { image: { repository: "nowhere.example/etcd" } },
): Observation {
  let world = edit(healthy({ replicas: 2 }), wanted);
  let canary = "";
  // etcd may have to be prepared first.
  for (let i = 0; i < 10 && canary === ""; i++) {
    const { act } = decide(world);
    if (act?.action.kind === "UpdateMember") canary = act.action.member;
    world = act ? predict(world, act.action) : settle({ ...world, now: world.now + 1_000 });
  }
  const since = world.now - unhealthyForMs;
  for (const { record } of world.members) {
    const given = world.members.find((one) => one.record.name === record.name)?.record ?? record;
    world = change(
      world,
      record.name,
      record.name === canary
        ? {
            workload: {
              state: "waiting",
              since,
              reason: "ImagePullBackOff",
              badImage: true,
              startedFrom: startHash(given),
            },
            answer: { reachable: false, error: "no process runs" },
            unhealthySince: since,
          }
        : ({ answer }) => ({
            answer: answer.reachable ? { ...answer, leaderID: "0", linearizable: false } : answer,
            unhealthySince: since,
          }),
    );
  }
  const list = world.etcd.list && { ...world.etcd.list, linearizable: false };
  return { ...world, etcd: { ...world.etcd, ...(list && { list }) } };
}

test("in a cluster of two the other is not given what the canary cannot start with: the canary goes back", () => {
  const world = halfOfTwo(10 * 60_000);
  const failed = decide(world);
  assert.equal(failed.act?.action.kind === "MarkCluster" && failed.act.action.purpose, "target-failed");
  const { act } = decide(predict(world, failed.act!.action));
  assert.ok(act?.action.kind === "UpdateMember" && act.action.purpose === "revert");
  assert.equal(
    act.action.change.template?.image.repository,
    healthy().members[0]?.record.template.image.repository,
  );
});

test("one that was let in without etcd's check is not given it back before it is well", () => {
  const since = healthy().now - 10 * 60_000;
  const world = change(unchecked(healthy(), "demo-1", since), "demo-1", {
    answer: { reachable: false, error: "it has found no leader" },
    unhealthySince: since,
  });
  assert.notEqual(decide(world).act?.rule, "retemplate");
});

test("in the midst of a change of storage too: it takes back what it can and keeps its own volume", () => {
  let world = halfOfTwo(10 * 60_000);
  const other = world.members.find(({ answer }) => answer.reachable)?.record;
  assert.ok(other);
  const { template } = other;
  const changed = {
    ...other,
    template: { ...template, storage: { ...template.storage, className: "slow" } },
  };
  world = change(world, other.name, ({ workload }) => ({
    record: changed,
    workload: workload.state === "running" ? { ...workload, startedFrom: startHash(changed) } : workload,
  }));
  const failed = decide(world);
  assert.equal(failed.act?.action.kind === "MarkCluster" && failed.act.action.purpose, "target-failed");
  const { act } = decide(predict(world, failed.act!.action));
  assert.ok(act?.action.kind === "UpdateMember" && act.action.purpose === "revert");
  assert.equal(act.action.change.template?.image.repository, template.image.repository);
  assert.deepEqual(act.action.change.template?.storage, template.storage);
});

test("a step down that cannot start is taken back also while nobody can tell what the cluster speaks", () => {
  const down = { version: "3.5.35", image: { repository: "nowhere.example/etcd" } };
  const world = halfOfTwo(10 * 60_000, down);
  const { clusterVersion: _unknown, ...etcd } = world.etcd;
  const unsure = { ...world, etcd };
  const failed = decide(unsure);
  assert.equal(failed.act?.action.kind === "MarkCluster" && failed.act.action.purpose, "target-failed");
  const { act } = decide(predict(unsure, failed.act!.action));
  assert.ok(act?.action.kind === "UpdateMember" && act.action.purpose === "revert");
  assert.equal(act.action.change.template?.version, "3.6.16");
});

test("a single member whose new image cannot be had is told to a person, and comes back when it is taken back", () => {
  let world = edit(healthy({ replicas: 1 }), { image: { repository: "nowhere.example/etcd" } });
  world = predict(world, decide(world).act!.action);
  const since = world.now - 10 * 60_000;
  world = change(world, "demo-1", ({ record }) => ({
    workload: {
      state: "waiting",
      since,
      reason: "ImagePullBackOff",
      badImage: true,
      startedFrom: startHash(record),
    },
    answer: { reachable: false, error: "no process runs" },
    unhealthySince: since,
  }));
  const { list: _gone, ...etcd } = world.etcd;
  world = { ...world, etcd };
  const { act, holds } = decide(world);
  assert.equal(act, undefined);
  assert.ok(holds.some((hold) => hold.reason === "TargetFailed" && hold.next));
  const { image } = healthy().cluster.spec;
  assert.equal(decide(edit(world, { image })).act?.rule, "retemplate");
});

test("waking never takes a version the data does not allow (H5)", () => {
  let world = healthy({ version: "3.5.35" });
  for (const name of ["demo-1", "demo-2", "demo-3"])
    world = exited(world, name, "unknown", { since: world.now - 10 * 60_000 });
  const { list: _gone, ...etcd } = world.etcd;
  const { act } = decide({ ...edit(world, { version: "3.7.3" }), etcd });
  assert.notEqual(act?.action.kind === "UpdateMember" && act.action.change.template?.version, "3.7.3");
});

test("without canary the fault is reported and waits for a person", () => {
  const world = badCanary(2);
  const spec = { ...world.cluster.spec, update: { ...world.cluster.spec.update, canary: false } };
  const { act, holds } = decide({ ...world, cluster: { ...world.cluster, spec } });
  assert.equal(act, undefined);
  assert.ok(holds.some((hold) => hold.reason === "TargetFailed" && hold.next));
});

test("without canary it keeps its data however long that takes: one in its place would fail like it", () => {
  let world = edit(badCanary(2), { ...bad, update: { canary: false } });
  world = change(world, "demo-3", { unhealthySince: world.now - 86_400_000 });
  const { act, holds } = decide(world);
  assert.equal(act, undefined);
  // Nor at the moment when it has just been started again.
  const lastEnd = { cause: "bad-configuration", detail: "unexpected TLS cipher suite" } as const;
  const again = change(world, "demo-3", ({ record }) => ({
    workload: { state: "running", since: world.now, startedFrom: startHash(record), restarts: 9, lastEnd },
  }));
  assert.equal(decide(again).act, undefined);
  const [first, ...others] = holds.filter(({ reason }) => reason === "TargetFailed");
  assert.ok(first?.next && others.every(({ next }) => next === first.next));
  // A person takes the edit back: it goes on with the data that it has.
  const back = decide(edit(world, { options: {}, update: { canary: false } }));
  assert.equal(back.act?.action.kind === "UpdateMember" && back.act.action.purpose, "revert");
});

test("without canary a member is replaced all the same when its trouble does not speak of its template", () => {
  let world = edit(badCanary(2), { ...bad, update: { canary: false } });
  world = exited(world, "demo-3", "unknown", { restarts: 9 });
  world = change(world, "demo-3", { unhealthySince: world.now - 86_400_000 });
  assert.equal(decide(world).act?.rule, "replace-broken");
  // It had a bad start once, then ran, and was lost long after that.
  const lastEnd = { cause: "bad-configuration", detail: "unexpected TLS cipher suite" } as const;
  const since = world.now - 2 * 86_400_000;
  const lost = change(world, "demo-3", ({ record }) => ({
    workload: { state: "running", since, startedFrom: startHash(record), restarts: 1, lastEnd },
  }));
  assert.equal(decide(lost).act?.rule, "replace-broken");
});

test("a new edit after a failed one is tried", () => {
  let world = badCanary(2);
  world = predict(world, decide(world).act!.action);
  world = exited(world, "demo-3", "bad-configuration", { restarts: 3 });
  world = predict(world, decide(world).act!.action);
  const end = run(edit(world, { options: { snapshotCount: 5000 } }));
  assert.ok(end.members.every((facts) => facts.record.template.options.snapshotCount === 5000));
  assert.equal(end.cluster.marks.failedTarget, undefined);
});

test("an edit of the version during a total outage moves no member to another minor, however long it lasts (H5)", () => {
  let world = healthy({ version: "3.5.33" });
  const { list: _gone, clusterVersion: _unknown, ...etcd } = world.etcd;
  world = { ...edit(world, { version: "3.7.3" }), etcd };
  for (const name of ["demo-1", "demo-2", "demo-3"])
    world = exited(world, name, "unknown", { since: world.now - 10 * 60_000 });
  for (let pass = 0; pass < 20; pass++) {
    const { act } = decide(world);
    if (!act) break;
    if (act.action.kind === "UpdateMember") {
      assert.match(act.action.change.template?.version ?? "3.5", /^3\.5/);
    }
    world = predict(world, act.action);
  }
});

test("a single member that cannot run its template says so, and what to do", () => {
  let world = edit(healthy({ replicas: 1 }), bad);
  world = predict(world, decide(world).act!.action);
  world = exited(world, "demo-1", "bad-configuration", { restarts: 2 });
  world = change(world, "demo-1", ({ record, workload }) => ({
    workload: workload.state === "exited" ? { ...workload, startedFrom: startHash(record) } : workload,
  }));
  const { list: _gone, ...etcd } = world.etcd;
  const reported = decide({ ...world, etcd }).holds.find((hold) => hold.reason === "TargetFailed");
  assert.match(reported?.next ?? "", /revert the last change/);
});

test("a single member is mended by a correction that also asks for another volume", () => {
  let world = edit(healthy({ replicas: 1 }), bad);
  world = predict(world, decide(world).act!.action);
  world = exited(world, "demo-1", "bad-configuration", { restarts: 2 });
  world = change(world, "demo-1", ({ record, workload }) => ({
    workload: workload.state === "exited" ? { ...workload, startedFrom: startHash(record) } : workload,
  }));
  const { list: _gone, ...etcd } = world.etcd;
  const corrected = { ...edit(world, { options: {}, storage: { className: "fast" } }), etcd };
  const { act } = decide(corrected);
  assert.ok(act?.action.kind === "UpdateMember" && act.action.purpose === "revert");
  assert.deepEqual(act.action.change.template?.options.extraArgs, {});
  assert.equal(act.action.change.template?.storage.className, undefined);
});

test("a member whose workload cannot be made is given what the spec asks for by now", () => {
  let world = edit(healthy(), { pod: { priorityClassName: "high" } });
  world = predict(world, decide(world).act!.action);
  world = change(world, "demo-3", {
    workload: { state: "absent" },
    answer: { reachable: false, error: "no process runs" },
    unhealthySince: world.now,
  });
  const later = { ...world, now: world.now + 3 * 60_000 };
  assert.equal(decide(world).act, undefined);
  const { act } = decide(edit(later, { pod: {} }));
  assert.ok(act?.action.kind === "UpdateMember" && act.action.purpose === "revert");
  const failed = decide(later).act?.action;
  assert.equal(failed?.kind === "MarkCluster" && failed.purpose, "target-failed");
  const noVolume = change(later, "demo-3", { volume: { state: "pending", reason: "not bound" } });
  assert.notEqual(decide(edit(noVolume, { pod: {} })).act?.rule, "retemplate");
});

test("a newcomer that waits for a volume which the spec does not ask for any more makes room for another", () => {
  let world = edit(healthy(), { storage: { className: "nowhere" } });
  for (let step = 0; step < 5 && world.members.length < 4; step++)
    world = predict(world, decide(world).act!.action);
  world = change(world, "demo-4", { volume: { state: "pending", reason: "no such class", uid: "c-4" } });
  for (let step = 0; step < 3; step++) {
    const { act } = decide(world);
    if (act) world = predict(world, act.action);
  }
  world = change(world, "demo-4", { volume: { state: "pending", reason: "no such class", uid: "c-4" } });
  assert.equal(decide(world).act, undefined);
  assert.equal(decide(world).holds[0]?.reason, "VolumePending");
  const { act } = decide(edit(world, { storage: { className: "fast" } }));
  assert.equal(act?.action.kind === "UpdateMember" && act.action.purpose, "leave");
  assert.equal(act?.action.kind === "UpdateMember" && act.action.member, "demo-4");
});

test("without a canary, a template that failed one member is not given to another that is down for another reason", () => {
  const edited = edit(healthy({ update: { canary: false } }), bad);
  const template = templateFor(edited.cluster.spec, edited.cluster.spec.version);
  const given = change(edited, "demo-3", ({ record }) => ({ record: { ...record, template } }));
  const world = exited(given, "demo-3", "bad-configuration", { restarts: 5 });
  const { list, ...etcd } = world.etcd;
  const lost = { ...world, etcd: { ...etcd, list: list && { ...list, linearizable: false } } };
  const down = change(lost, "demo-2", ({ record }) => ({
    workload: { state: "waiting", reason: "Unschedulable", since: lost.now, startedFrom: startHash(record) },
    answer: { reachable: false, error: "no process runs" },
    unhealthySince: lost.now - 600_000,
  }));
  assert.deepEqual(says(retemplate, down), ["MemberStarting"]);
  const mended = edit(down, { options: { logLevel: "Debug" } });
  assert.deepEqual(says(retemplate, mended), ["revert: revert demo-2"]);
});

const three = healthy();
test("a template is blamed at its second exit; anything else after the time that the spec gives it", () => {
  const rolled = edit(three, { options: { logLevel: "Debug" } });
  const bad = (restarts: number) => exited(rolled, "demo-3", "bad-configuration", { restarts });
  assert.deepEqual(says(retemplate, bad(1)), []);
  assert.deepEqual(says(retemplate, bad(2)), ["revert: revert demo-3"]);
  const after = 120_000;
  assert.equal(rolled.cluster.spec.repair.unhealthyAfter, "2m");
  const ill = (ms: number) => exited(rolled, "demo-3", "killed", { since: NOW - ms });
  assert.deepEqual(says(retemplate, ill(after - 1)), []);
  assert.deepEqual(says(retemplate, ill(after)), ["revert: revert demo-3"]);
  const stopping = change(ill(after), "demo-3", { workload: { state: "stopping", since: NOW } });
  assert.deepEqual(says(retemplate, stopping), [], "whoever stops is made anew by itself");
  assert.deepEqual(says(retemplate, record(ill(after), "demo-3", { retiring: { reason: "old" } })), []);
  assert.deepEqual(says(retemplate, record(ill(after), "demo-3", { run: false })), []);
});

test("a change that a member cannot run is reported with what it said last", () => {
  const long = NOW - 600_000;
  const rolled = edit(three, { options: { logLevel: "Debug" }, update: { canary: false } });
  const template = templateFor(rolled.cluster.spec, rolled.cluster.spec.version);
  const failing = (workload: MemberFacts["workload"], more: Partial<MemberFacts> = {}) =>
    change(ill(workload, { unhealthySince: long, ...more }, rolled), "demo-2", ({ record }) => ({
      record: { ...record, template: { ...record.template, ...template } },
    }));
  const started = (o: Observation) => {
    const member = o.members[1];
    assert.ok(member);
    return change(o, "demo-2", ({ workload }) => ({
      workload: "startedFrom" in workload ? { ...workload, startedFrom: startHash(member.record) } : workload,
    }));
  };
  const reported: readonly [Observation, string][] = [
    [failing(ended("unknown flag")), "unknown flag"],
    [failing(ended("")), "killed"],
    [failing({ state: "waiting", reason: "image not found", since: NOW }), "image not found"],
    [failing({ state: "absent" }), "it is not running"],
    [failing(runs), "connection refused"],
  ];
  for (const [o, why] of reported)
    assert.equal(
      words(retemplate, started(o)),
      `demo-2 does not become healthy with its new template (${why})`,
    );
});
