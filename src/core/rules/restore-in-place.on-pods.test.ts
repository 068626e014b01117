/** What a restore in place does differently where members are Pods: fetching takes time, and members stop slowly. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { restorePlan } from "../assess/restore-plan.ts";
import { decide } from "../decide.ts";
import type { FetchFacts, NamedSnapshot, Observation, PlatformFacts } from "../observation.ts";
import { assertInvariants } from "../testing/naive-invariants.ts";
import { change, edit, exited, healthy, record } from "../testing/cluster.ts";
import { asking } from "../testing/operations.ts";

const source = { s3: { bucket: "backups", key: "prod/demo.db" } };
const world = healthy();
const { uid, marks, spec } = world.cluster;
const planFor = (recipe: Parameters<typeof restorePlan>[1]) =>
  restorePlan({ uid, clusterID: marks.established?.clusterID, version: spec.version }, recipe);
const plan = planFor({ source });
const task = { kind: "restore", source, approve: plan } as const;
const place = { pvc: { claimName: "demo-restore", path: "restore/snapshot.db" } };
const FETCHED = { plan, source: place, sha256: "a".repeat(64), revision: 4_000, size: 20_000 };
const NOTED = { at: new Date(world.now).toISOString(), message: "fetched" };
const RUNNING = { status: { phase: "Running" } } as const;
const STOPPING = { status: { phase: "Running" as const, steps: [NOTED] } };

const having = (observation: Observation, platform: Partial<PlatformFacts>): Observation => ({
  ...observation,
  platform: { ...observation.platform, ...platform },
});

function ending(observation: Observation): (string | undefined)[] {
  const { act } = decide(observation);
  if (act) assertInvariants(observation, act.action);
  if (act?.action.kind !== "UpdateOperation") return [act?.action.kind];
  const { phase, reason, message } = act.action.status;
  return [phase, reason, message];
}

const attempt = (more: Partial<FetchFacts>): FetchFacts => ({
  plan,
  attempt: 1,
  state: "running",
  why: "Pod demo-1-fetch is being started",
  ...more,
});

test("while a Pod fetches the snapshot, members serve and are healed, and nothing else is begun", () => {
  const fetching = asking(having(world, { fetch: attempt({}) }), task, RUNNING);
  const { act, holds } = decide(edit(fetching, { replicas: 5 }));
  assert.equal(act, undefined, "no newcomer joins meanwhile");
  assert.ok(holds.some(({ code }) => code === "RestoreAwaitsFetch"));
  const hurt = record(fetching, "demo-1", { run: false });
  assert.equal(decide(hurt).act?.action.kind, "UpdateMember", "whoever was stopped is started");
});

test("an attempt that failed is made again, three times at most, and not where the answer is definite", () => {
  const after = (more: Partial<FetchFacts>) =>
    asking(having(world, { fetch: attempt({ state: "failed", why: "no answer", ...more }) }), task, RUNNING);
  const { act } = decide(after({}));
  assert.ok(act?.action.kind === "FetchSnapshot" && act.action.attempt === 2);
  const [phase, reason, message] = ending(after({ attempt: 3 }));
  assert.deepEqual([phase, reason], ["Failed", "StepFailed"]);
  assert.match(message ?? "", /failed 3 times in a row, and no data was changed: no answer/i);
  assert.deepEqual(ending(after({ definite: true })).slice(0, 2), ["Failed", "StepFailed"]);
});

test("what was fetched is written down before anybody is stopped", () => {
  const [phase, , message] = ending(asking(having(world, { fetched: FETCHED }), task, RUNNING));
  assert.equal(phase, "Running");
  assert.match(message ?? "", /^Fetched and checked s3:.*revision 4000, SHA-256 a+/);
  const next = decide(asking(having(world, { fetched: FETCHED }), task, STOPPING));
  assert.ok(next.act?.action.kind === "UpdateMember" && next.act.action.change.run === false);
});

test("a snapshot above the quota is not restored: no member is stopped for it", () => {
  const large = having(world, { fetched: { ...FETCHED, size: 3 * 2 ** 40 } });
  assert.deepEqual(ending(asking(large, task, RUNNING)).slice(0, 2), ["Failed", "DatabaseTooLarge"]);
});

/** Nobody is meant to run any more. */
function allStopped(): Observation {
  const { list: _nobody, ...etcd } = world.etcd;
  const names = world.members.map(({ record: { name } }) => name);
  const gone = (now: Observation, name: string) =>
    change(exited(record(now, name, { run: false }), name), name, { workload: { state: "absent" } });
  return having({ ...names.reduce(gone, world), etcd }, { fetched: FETCHED });
}

test("only Pods that are gone have stopped: one that has ended would be started again by its kubelet", () => {
  const ended = exited(allStopped(), "demo-2");
  assert.equal(decide(asking(ended, task, STOPPING)).act?.action.kind, "StopWorkload");
  const lost = change(allStopped(), "demo-2", {
    workload: { state: "stopping", since: world.now, lostNode: "node-b" },
  });
  const waiting = decide(asking(lost, task, STOPPING));
  assert.equal(waiting.act, undefined);
  assert.ok(waiting.holds.some(({ code }) => code === "RecoveryAwaitsNode"));
  const later = { ...asking(lost, task, STOPPING), now: world.now + 31 * 60_000 };
  const [phase, reason, message] = ending(later);
  assert.deepEqual([phase, reason], ["Failed", "StepFailed"]);
  assert.match(message ?? "", /demo-2 did not stop within 30 minutes.*no data was changed/i);
});

test("members have their time from when they were stopped, not from when the snapshot was there", () => {
  const now = world.now + 3 * 60 * 60_000;
  const stoppedAt = (since: number) => ({
    ...asking(change(allStopped(), "demo-2", { workload: { state: "stopping", since } }), task, STOPPING),
    now,
  });
  const { act, holds } = decide(stoppedAt(now - 60_000));
  assert.equal(act, undefined, "the operator was away for hours, and has stopped it a minute ago");
  assert.ok(holds.some(({ code }) => code === "RestoreAwaitsStop"));
  assert.deepEqual(ending(stoppedAt(now - 31 * 60_000)).slice(0, 2), ["Failed", "StepFailed"]);
  const before = { ...stoppedAt(world.now - 60 * 60_000), now: world.now + 60_000 };
  assert.equal(decide(before).act, undefined, "whoever was ending before is waited for as long");
});

test("the new life begins from the volume that the snapshot was fetched onto, and nothing names the store any more", () => {
  const { act } = decide(asking(allStopped(), task, STOPPING));
  assert.ok(act?.action.kind === "MarkCluster");
  const { restore } = act.action.change.recovered ?? {};
  assert.deepEqual(restore?.source, place);
  assert.equal(restore?.checksum, FETCHED.sha256);
  const onNode = having(allStopped(), { fetched: { ...FETCHED, node: "node-a" } });
  const begun = decide(asking(onNode, task, STOPPING)).act?.action;
  assert.equal(begun?.kind === "MarkCluster" && begun.change.recovered?.node, "node-a");
});

const { source: _source, ...named } = { ...task, snapshot: "nightly" };
const recipe = { snapshot: "nightly", source, checksum: "c".repeat(64) };
const knowing = (found: NamedSnapshot) => having(world, { namedSnapshots: { nightly: found } });

test("an EtcdSnapshot stands for what it says: one that is gone or was made again is not restored", () => {
  const approve = planFor(recipe);
  assert.notEqual(approve, plan);
  const [, , message] = ending(asking(knowing({ recipe }), named));
  assert.match(message ?? "", new RegExp(`EtcdSnapshot nightly \\(s3:.*approve: ${approve}`));
  const asked = { ...named, approve };
  assert.deepEqual(ending(asking(knowing({ recipe }), asked)).slice(0, 2), ["Running", "Started"]);
  const gone = knowing({ refused: "there is no EtcdSnapshot nightly" });
  assert.deepEqual(ending(asking(gone, asked)).slice(0, 2), ["Rejected", "SnapshotNotFound"]);
  assert.deepEqual(ending(asking(gone, asked, RUNNING)).slice(0, 2), ["Failed", "PlanChanged"]);
  const other = knowing({ recipe: { ...recipe, checksum: "d".repeat(64) } });
  assert.deepEqual(ending(asking(other, asked, RUNNING)).slice(0, 2), ["Failed", "PlanChanged"]);
});

test("an EtcdSnapshot that is pruned or taken again after it was fetched changes nothing: what was approved is there", () => {
  const approve = planFor(recipe);
  const { snapshot: _name, ...rest } = recipe;
  const fetched = { ...FETCHED, plan: approve, recipe: rest };
  const asked = { ...named, approve };
  const pruned = (found: NamedSnapshot, more: Partial<PlatformFacts> = { fetched }) =>
    asking(having(allStopped(), { namedSnapshots: { nightly: found }, ...more }), asked, STOPPING);
  const refused = "the EtcdSnapshot nightly is being deleted";
  for (const found of [{ refused }, { recipe: { ...recipe, checksum: "d".repeat(64) } }])
    assert.equal(decide(pruned(found)).act?.action.kind, "MarkCluster");
  const version = "3.6.15";
  assert.notEqual(version, spec.version);
  const other = edit(pruned({ refused }), { version });
  assert.deepEqual(ending(other).slice(0, 2), ["Failed", "PlanChanged"], "it was approved for another etcd");
  const forged = { ...fetched, recipe: { ...rest, checksum: "d".repeat(64) } };
  assert.deepEqual(ending(pruned({ refused }, { fetched: forged })).slice(0, 2), ["Failed", "PlanChanged"]);
  const unknown = { ...fetched, recipe: undefined };
  assert.deepEqual(ending(pruned({ refused }, { fetched: unknown })).slice(0, 2), ["Failed", "PlanChanged"]);
});

test("where the data is in Pods, and from a file of a machine, it is rejected with the reason", () => {
  const refused = having(world, { inPlaceRefused: "the data of demo-1 is in its Pod" });
  const [phase, reason, message] = ending(asking(refused, task));
  assert.deepEqual([phase, reason], ["Rejected", "RestoreNotSupported"]);
  assert.match(message ?? "", /is in its Pod/);
  const file = ending(asking(world, { ...task, source: { file: { path: "/demo.db" } } }));
  assert.match(file[2] ?? "", /Pods cannot read a file/);
});
