/** A cluster that has lost its quorum for good, an approved recovery of it, and how that goes on. */
import assert from "node:assert/strict";
import type { Action } from "../action.ts";
import { recoveryPlan } from "../assess/recovery-plan.ts";
import { decide } from "../decide.ts";
import type { DirectoryMember, MemberDirectory, Observation } from "../observation.ts";
import { describeStep } from "../messages/step-names.ts";
import { predict } from "../plan/predict.ts";
import type { SnapshotFacts } from "../snapshots/facts.ts";
import { viewOf } from "../view.ts";
import { change, edit, exited, healthy, record } from "./cluster.ts";
import { assertInvariants } from "./naive-invariants.ts";
import { snapshotNamed } from "./snapshots.ts";

const clusterID = healthy().cluster.marks.established?.clusterID ?? "";

export function holding(world: Observation, name: string, more: Partial<Data> = {}): Observation {
  const memberID = world.members.find((facts) => facts.record.name === name)?.record.memberID ?? "";
  const found = {
    state: "data",
    clusterID,
    memberID,
    term: 3,
    index: 100,
    revision: 80,
    replay: 10,
    members: listOf(world),
  } as const;
  return change(world, name, { directory: { ...found, ...more } });
}
type Data = Extract<MemberDirectory, { state: "data" }>;

/** All of them vote. */
export function listOf(world: Observation): DirectoryMember[] {
  return world.members.map(({ record: { name, memberID = "", address } }) => ({
    id: memberID,
    name,
    peerURL: address.peerURL,
  }));
}

/** Without anybody to ask; demo-1 has its data, and the other two were wiped. */
export function lostQuorum(): Observation {
  const wiped = ["demo-2", "demo-3"].reduce(
    (world, name) => change(exited(world, name, "data-missing"), name, { directory: { state: "empty" } }),
    holding(exited(healthy(), "demo-1"), "demo-1"),
  );
  const { list: _nobody, ...etcd } = wiped.etcd;
  return goneFor({ ...wiped, etcd: { ...etcd, highestRevision: 95 } }, 5_000);
}

/** Both wiped members, for so long; quorum was there five seconds before. */
export function goneFor(observation: Observation, forMs: number): Observation {
  const goneSince = observation.now - forMs;
  const gone = ["demo-2", "demo-3"].reduce((o, name) => change(o, name, { goneSince }), observation);
  return { ...gone, etcd: { ...gone.etcd, quorumSeenAt: goneSince - 5_000 } };
}

export const onMachine = (observation: Observation): Observation => ({
  ...observation,
  platform: { ...observation.platform, machine: { command: "quorate", dir: "/demo" } },
});

export const world = lostQuorum();
export const planOf = (observation: Observation) => recoveryPlan(viewOf(observation));
export const hash = planOf(world)?.hash ?? "";
export const task = { kind: "recoverQuorum", approve: hash } as const;

/** The data of both has been gone for longer than repair.memberLostAfter, and the survivor has all that was seen. */
export function automatic(spec: object = {}): Observation {
  const down = goneFor(edit(world, { recovery: { quorumLoss: "Automatic", ...spec } }), 6 * 60_000);
  return { ...down, etcd: { ...down.etcd, highestRevision: 80 } };
}

/** With everything that was seen in a verified snapshot, while the survivor may lack some of it. */
export function preferring(change: Partial<SnapshotFacts["status"]> = {}, spec: object = {}): Observation {
  const observation = holding(automatic({ prefer: "Snapshot", maxLostRevisions: 5, ...spec }), "demo-1", {
    replay: 0,
  });
  const clusterID = observation.cluster.marks.established?.clusterID;
  const status = { revision: 78, clusterID, sha256: "a".repeat(64), etcdVersion: "3.6.14", ...change };
  const taken = snapshotNamed("nightly-1", {
    source: { s3: { bucket: "backups", key: "one.db" } },
    status: { phase: "Succeeded", verifiedAt: "2026-05-04T10:00:00Z", ...status },
  });
  return { ...observation, snapshots: { snapshots: [taken] } };
}

export function next(observation: Observation): string {
  const { act } = decide(observation);
  if (act) assertInvariants(observation, act.action);
  return act ? describeStep(act) : "nothing";
}

/** How it ends, when the first step is its end. */
export function ending(observation: Observation): (string | undefined)[] {
  const { act } = decide(observation);
  if (act?.action.kind !== "UpdateOperation") return [next(observation)];
  return [act.action.status.phase, act.action.status.reason];
}

/** Follows the decisions by the platform's own effects until one of this kind is next. */
export function until(observation: Observation, is: (action: Action) => boolean): Observation {
  let now = observation;
  for (let i = 0; i < 40; i++) {
    const { act } = decide(now);
    assert.ok(act, `nothing is done: ${JSON.stringify(decide(now).holds.map(({ code }) => code))}`);
    assertInvariants(now, act.action);
    if (is(act.action)) return now;
    now = after(now, act.action);
  }
  throw new Error("no such step");
}

export function after(observation: Observation, action: Action): Observation {
  if (action.kind === "StopWorkload")
    return change(observation, action.member, { workload: { state: "absent" } });
  if (action.kind === "UpdateMember")
    return record(observation, action.member, { ...action.change, resourceVersion: "2" });
  const { kind } = action;
  if (["CreateOperation", "UpdateOperation", "RescueData", "MarkCluster"].includes(kind))
    return { ...observation, ...pick(predict(observation, action)) };
  throw new Error(`unexpected ${action.kind}`);
}

const pick = ({ operations, cluster, platform }: Observation) => ({ operations, cluster, platform });

export const unread = (observation: Observation, name: string) =>
  change(observation, name, { directory: { state: "reading" } });

/** As with Pods: whoever is stopped is gone, and what it holds is read again. */
export function stoppedPods(observation: Observation): Observation {
  return observation.members.reduce(
    (o, { record: { name } }) => unread(change(o, name, { workload: { state: "absent" } }), name),
    until(observation, ({ kind }) => kind === "StopWorkload"),
  );
}
