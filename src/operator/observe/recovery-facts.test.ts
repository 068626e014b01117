import assert from "node:assert/strict";
import { test } from "node:test";
import type { ContainerState, Node, Pod } from "kubernetes-types/core/v1.d.ts";
import type { Observation, WorkloadFacts } from "../../core/observation.ts";
import { change, healthy } from "../../core/testing/cluster.ts";
import { operationOf } from "../../core/testing/operations.ts";
import { writeSummary, type DirectorySummary } from "../../recovery/summary.ts";
import { writeResult } from "../../snapshot/result.ts";
import { ANNOTATIONS, LABELS, RECOVERY_CONTAINERS } from "../names.ts";
import { directoriesOf, isTooEarly, isUseless, readingOf, recoveryRefused } from "./recovery-facts.ts";
import { rescueFacts } from "./rescue-facts.ts";

const NOW = Date.parse("2026-05-04T10:00:00Z");
const PLAN = "51f0a3c2d4e5b697";
const DATA: DirectorySummary = {
  state: "data",
  clusterID: "1",
  memberID: "2",
  term: 3,
  index: 100,
  revision: 80,
  replay: 10,
};

const world = change(healthy(), "demo-1", { workload: { state: "absent" } });
const [first] = world.members;
assert.ok(first);
const { record } = first;

interface PodState {
  readonly states?: Readonly<Record<string, ContainerState>>;
  readonly phase?: string;
  readonly ageMs?: number;
}

function pod(
  task: string,
  about: Record<string, string>,
  { states = {}, phase = "Running", ageMs = 1_000 }: PodState,
): Pod {
  const owner = {
    apiVersion: "v1",
    kind: "EtcdCluster",
    name: "demo",
    uid: world.cluster.uid,
    controller: true,
  };
  return {
    metadata: {
      name: `demo-${task}`,
      namespace: "default",
      creationTimestamp: new Date(NOW - ageMs).toISOString(),
      labels: { [LABELS.task]: task, [LABELS.member]: record.name, [LABELS.attempt]: "2" },
      annotations: about,
      ownerReferences: [owner],
    },
    spec: { containers: [], nodeName: "node-a" },
    status: {
      phase,
      containerStatuses: Object.entries(states).map(([name, state]) => ({
        name,
        state,
        image: "",
        imageID: "",
        ready: false,
        restartCount: 0,
      })),
    },
  };
}

const ended = (message: string, exitCode = 0): ContainerState => ({ terminated: { exitCode, message } });
const inspection = (reads: string, shown: PodState) => pod("inspect", { [ANNOTATIONS.reads]: reads }, shown);
const read = (summary: DirectorySummary) => ({
  states: { [RECOVERY_CONTAINERS.inspect]: ended(writeSummary(summary)) },
  phase: "Succeeded",
});

function directory(observation: Observation, ...pods: Pod[]) {
  return directoriesOf({ ...observation, pods, now: NOW }, true)[record.name];
}

const beside = `${record.volumeUID} beside none`;

test("what a Pod read counts for the volume and the run that it was made for", () => {
  assert.deepEqual(directory(world, inspection(beside, read(DATA))), DATA);
  const other = inspection(`${record.volumeUID} beside an earlier Pod`, read(DATA));
  assert.equal(directory(world, other)?.state, "reading");
  assert.equal(directory(world)?.state, "reading");
  const stopping = change(world, record.name, { workload: { state: "stopping", since: 1 } });
  assert.equal(directory(stopping, inspection(beside, read(DATA)))?.state, "reading");
});

test("of a member that runs, only what could be read whole counts", () => {
  const runs: WorkloadFacts = { state: "running", since: 1, startedFrom: "", restarts: 0 };
  const running = change(world, record.name, { workload: runs });
  const torn = inspection(beside, { ...read({ state: "damaged", why: "torn" }), ageMs: 30_000 });
  assert.equal(directory(running, torn)?.state, "reading");
  const [member] = running.members;
  assert.ok(member && isUseless(torn, member, { pods: [], now: NOW }), "another one looks again");
  assert.equal(directory(world, torn)?.state, "damaged");
  assert.equal(isUseless(torn, first, { pods: [], now: NOW }), false);
});

test("a recovery that runs goes by what was read after everybody had stopped", () => {
  const task = operationOf(
    { kind: "recoverQuorum", approve: PLAN },
    { uid: "op", status: { phase: "Running" } },
  );
  const recovering = { ...world, operations: [task] };
  const old = inspection(beside, read(DATA));
  assert.deepEqual(directory(recovering, old), DATA, "others run still");
  const stopped = recovering.members.reduce<Observation>(
    (o, facts) => change(o, facts.record.name, { workload: { state: "absent" } }),
    recovering,
  );
  assert.equal(directory(stopped, old)?.state, "reading");
  assert.deepEqual(directory(stopped, old, inspection(`${record.volumeUID} for op`, read(DATA))), DATA);
});

const unplaced = {
  type: "PodScheduled",
  status: "False",
  reason: "Unschedulable",
  message: "volume node affinity",
};

test("a volume that no Pod can mount for five minutes is out of reach, with the reason, unless its member may run", () => {
  const waiting = (ageMs: number) => inspection(beside, { phase: "Pending", ageMs });
  assert.equal(directory(world, waiting(60_000))?.state, "reading");
  const mount = directory(world, waiting(301_000));
  assert.ok(mount?.state === "unreachable");
  assert.equal(mount.obstacle, "mount");
  assert.match(mount.why, /waits for its volume on node-a .*kubectl describe pod demo-inspect -n default/);
  const nowhere = waiting(301_000);
  const away = directory(world, { ...nowhere, spec: { containers: [] }, status: { conditions: [unplaced] } });
  assert.ok(away?.state === "unreachable");
  assert.equal(away.obstacle, "unschedulable");
  assert.match(away.why, /volume node affinity/);
});

test("what says nothing about the volume never makes its data count as lost", () => {
  const late = { phase: "Pending", ageMs: 3_600_000 };
  const image = {
    [RECOVERY_CONTAINERS.inspect]: { waiting: { reason: "ImagePullBackOff", message: "no such tag" } },
  };
  const pulls = directory(world, inspection(beside, { ...late, states: image }));
  assert.ok(pulls?.state === "reading");
  assert.equal(pulls.obstacle, "image");
  assert.match(pulls.why ?? "", /ImagePullBackOff \(no such tag\)/);
  const running = { [RECOVERY_CONTAINERS.inspect]: { running: { startedAt: "2026-05-04T09:00:00Z" } } };
  assert.equal(
    directory(world, inspection(beside, { ...late, states: running }))?.state,
    "reading",
    "a large log",
  );
  const sandbox = inspection(beside, late);
  const conditions = [{ type: "PodReadyToStartContainers", status: "True" }];
  const pulling = directory(world, { ...sandbox, status: { ...sandbox.status, conditions } });
  assert.equal(pulling?.state, "reading", "its volume is mounted, and its image is on its way");
  const refused = directoriesOf(
    { ...world, pods: [], now: NOW, notMade: () => "exceeded quota: pods" },
    true,
  )[record.name];
  assert.deepEqual(refused, { state: "reading", why: "exceeded quota: pods", obstacle: "refused" });
});

test("a node that does not answer is named as the reason", () => {
  const pending = inspection(beside, { phase: "Pending", ageMs: 301_000 });
  const silent = directoriesOf({ ...world, pods: [pending], now: NOW, nodes: new Map() }, true)[record.name];
  assert.ok(silent?.state === "unreachable");
  assert.equal(silent.obstacle, "node");
  assert.match(silent.why, /on node-a, which does not answer/);
});

/** The member's own Pod. */
function ownPod(node: string | undefined, ageMs: number): Pod {
  const owner = {
    apiVersion: "v1",
    kind: "EtcdMember",
    name: record.name,
    uid: record.uid,
    controller: true,
  };
  const { metadata, status } = pod("own", {}, { ageMs });
  return {
    metadata: { ...metadata, name: record.name, uid: "own", ownerReferences: [owner] },
    spec: { containers: [], ...(node !== undefined && { nodeName: node }) },
    ...(status && { status }),
  };
}

test("beside a Pod that has no node yet, the volume is read only after a while, and never kept from that Pod", () => {
  const reads = `${record.volumeUID} beside own`;
  const objects = (own: Pod, ...others: Pod[]) => ({ ...world, pods: [own, ...others], now: NOW });
  assert.match(isTooEarly(first, objects(ownPod(undefined, 5_000)))?.why ?? "", /being scheduled/);
  assert.equal(isTooEarly(first, objects(ownPod(undefined, 61_000))), undefined);
  const reading = inspection(reads, { phase: "Running" });
  assert.equal(isUseless(reading, first, objects(ownPod(undefined, 61_000))), false);
  assert.equal(isUseless(reading, first, objects(ownPod("node-b", 61_000))), true, "it gives way");
  assert.equal(isUseless(reading, first, objects(ownPod("node-a", 61_000))), false);
  assert.equal(isUseless(inspection(reads, read(DATA)), first, objects(ownPod("node-b", 61_000))), false);
});

test("a volume that one Pod alone may mount is not read beside its member, and that is told", () => {
  const { template } = record;
  const accessModes: "ReadWriteOncePod"[] = ["ReadWriteOncePod"];
  const alone = { ...record, template: { ...template, storage: { ...template.storage, accessModes } } };
  const shown = isTooEarly({ ...first, record: alone }, { pods: [ownPod("node-a", 61_000)], now: NOW });
  assert.equal(shown?.obstacle, "in-use");
  assert.match(shown.why, /demo-1 runs on node-a.*ReadWriteOncePod/);
  assert.equal(isTooEarly({ ...first, record: alone }, { pods: [], now: NOW }), undefined);
});

const task = operationOf(
  { kind: "recoverQuorum", approve: PLAN },
  { uid: "op", status: { phase: "Running" } },
);
const rescue = (shown: PodState, nodes?: ReadonlyMap<string, Node>) =>
  rescueFacts(
    {
      ...world,
      operations: [task],
      pods: [pod("rescue", { [ANNOTATIONS.plan]: `${PLAN} op` }, shown)],
      now: NOW,
      nodes,
    },
    () => "/data/demo-1",
  );

test("a rescue tells its snapshot, goes on, or has failed with the words of what failed", () => {
  const snapshot = {
    object: "snapshot.db",
    size: 1,
    storedSize: 1,
    sha256: "ab",
    revision: 90,
    etcdVersion: "3.6.16",
    clusterID: "1",
    takenFrom: "survivor",
  };
  const done = rescue({ states: { [RECOVERY_CONTAINERS.save]: ended(writeResult({ ok: true, snapshot })) } });
  assert.deepEqual(done.rescued?.source, {
    pvc: { claimName: "data-demo-1", path: `recovery/${PLAN}/snapshot.db` },
  });
  assert.equal(done.rescued.revision, 90);
  const running = { running: { startedAt: "2026-05-04T09:59:59Z" } };
  const works = rescue({
    states: { [RECOVERY_CONTAINERS.etcd]: running, [RECOVERY_CONTAINERS.save]: running },
  });
  assert.deepEqual([works.rescue?.state, works.rescue?.attempt], ["running", 2]);
  const words = writeResult({ ok: false, reason: "JobFailed", message: "too little space" });
  const failed = rescue({ phase: "Failed", states: { [RECOVERY_CONTAINERS.save]: ended(words, 1) } });
  assert.equal(failed.rescue?.state, "failed");
  assert.match(failed.rescue.why ?? "", /too little space/);
  const etcd = rescue({ states: { [RECOVERY_CONTAINERS.etcd]: ended("panic: bad log", 2) } });
  assert.match(etcd.rescue?.why ?? "", /panic: bad log/);
  assert.equal(etcd.rescue?.state, "failed");
  assert.equal(rescue({ phase: "Pending", ageMs: 60_000 }).rescue?.state, "running");
  assert.equal(rescue({ phase: "Pending", ageMs: 601_000 }).rescue?.state, "failed");
});

test("a rescue on a node that does not answer is neither given up at once nor waited for without end", () => {
  const states = { [RECOVERY_CONTAINERS.etcd]: { running: { startedAt: "2026-05-04T09:00:00Z" } } };
  const node = (
    minutes: number,
    taints: { key: string; effect: string }[] = [],
  ): ReadonlyMap<string, Node> => {
    const lastTransitionTime = new Date(NOW - minutes * 60_000).toISOString();
    const conditions = [{ type: "Ready", status: "Unknown", lastTransitionTime }];
    return new Map([["node-a", { spec: { taints }, status: { conditions } }]]);
  };
  const state = (nodes: ReadonlyMap<string, Node>) => {
    const { rescue: shown } = rescue({ states, ageMs: 3_600_000 }, nodes);
    return [shown?.state, shown?.lostNode];
  };
  assert.deepEqual(state(node(1)), ["running", "node-a"]);
  assert.deepEqual(state(node(11)), ["stranded", "node-a"]);
  const off = [{ key: "node.kubernetes.io/out-of-service", effect: "NoExecute" }];
  assert.deepEqual(state(node(1, off)), ["failed", "node-a"]);
  assert.deepEqual(state(new Map()), ["failed", "node-a"], "its Node was deleted");
  const answers = new Map([["node-a", { status: { conditions: [{ type: "Ready", status: "True" }] } }]]);
  assert.deepEqual(state(answers), ["running", undefined]);
});

test("data in the memory of Pods is never stopped for a recovery, and without our image nothing can be read", () => {
  assert.equal(recoveryRefused(world.members, "image"), undefined);
  assert.match(recoveryRefused(world.members, undefined) ?? "", /QUORATE_IMAGE/);
  const { template } = record;
  const memory = {
    ...record,
    template: { ...template, storage: { ...template.storage, medium: "Memory" as const } },
  };
  assert.match(recoveryRefused([{ ...first, record: memory }], "image") ?? "", /EtcdSnapshot/);
});

test("of a member whose node was said to be off nothing is awaited: the others are read once they have stopped", () => {
  const node = { name: "node-b", kubelet: "silent", since: NOW - 600_000 } as const;
  const hangs: WorkloadFacts = { state: "stopping", since: NOW - 60_000, overdue: true };
  const stopped = ["demo-2", "demo-3"].reduce(
    (o, name) =>
      change(o, name, name === "demo-2" ? { workload: hangs, node } : { workload: { state: "absent" } }),
    world,
  );
  const recovering = (nodesOff?: string[]): Observation => ({
    ...stopped,
    operations: [
      operationOf(
        { kind: "recoverQuorum", approve: PLAN, ...(nodesOff && { nodesOff }) },
        { uid: "op", status: { phase: "Running" } },
      ),
    ],
  });
  const [reads, awaits] = [recovering(["node-b"]), recovering()].map((o) => ({ ...o, pods: [], now: NOW }));
  assert.ok(reads && awaits);
  const [one, two] = stopped.members;
  assert.ok(one && two);
  assert.equal(readingOf(one, reads), `${one.record.volumeUID} for op`);
  assert.equal(readingOf(one, awaits), `${one.record.volumeUID} beside none`, "demo-2 may run");
  assert.deepEqual(directoriesOf(reads, true)[two.record.name], {
    state: "unreachable",
    why: "node-b was said to be off in the approval",
  });
  assert.equal(directoriesOf(awaits, true)[two.record.name]?.state, "reading");
});
