/**
 * decide() on Pods: the same loop that runs processes on one machine makes a cluster of real Pods on a real API
 * server; then each trouble is made to happen, and what is observed of it is what the rules have to know.
 * With QUORATE_RECORD=1 the objects are kept as fixtures of src/operator.
 */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { PersistentVolumeClaim, Pod } from "kubernetes-types/core/v1.d.ts";
import { customResourceDefinition } from "../../src/api/crd.ts";
import { API_VERSION } from "../../src/api/metadata.ts";
import { resources } from "../../src/api/resources.ts";
import { Loop } from "../../src/control/loop.ts";
import type { MemberFacts, Observation } from "../../src/core/observation.ts";
import { claimName } from "../../src/operator/names.ts";
import type { ClusterObjects } from "../../src/operator/observe/observe-objects.ts";
import { record, type Kinds } from "../../src/operator/testing/fixtures.ts";
import { systemClock } from "../../src/seams/clock.ts";
import { isCode } from "../../testbed/client.ts";
import { eventually } from "../../testbed/eventually.ts";
import { faults, type Faults } from "../../testbed/faults.ts";
import { upForTests, type TestTestbed } from "../../testbed/for-tests.ts";
import { PATHS } from "../support/kube-paths.ts";
import { memberPod, PodPlatform, type PodChange } from "../support/pod-platform.ts";

const RECORDING = process.env["QUORATE_RECORD"] === "1";
const NAMESPACE = "default";
const SMALL = { storage: { size: "1Gi" }, options: { quotaBackendBytes: "64Mi" } };

let bed: TestTestbed;
let fault: Faults;
const platforms: PodPlatform[] = [];

before(async () => {
  bed = await upForTests({ kubelet: "process", backoffMs: { first: 200, max: 2000 } });
  fault = faults(bed.name);
  for (const resource of resources) {
    await bed.client.create(
      "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
      customResourceDefinition(resource),
    );
  }
  await eventually("the resources are served", () => bed.client.get(PATHS.members));
});

after(async () => {
  for (const platform of platforms) await platform.close();
  await bed?.down();
});

async function cluster(name: string, spec: object): Promise<{ platform: PodPlatform; loop: Loop }> {
  const metadata = { name, namespace: NAMESPACE };
  const manifest = { version: "3.6.16", tls: { mode: "Disabled" }, ...spec };
  await bed.client.create(PATHS.clusters, {
    apiVersion: API_VERSION,
    kind: "EtcdCluster",
    metadata,
    spec: manifest,
  });
  const platform = new PodPlatform(bed.client, systemClock, name);
  platforms.push(platform);
  return { platform, loop: new Loop({ platform, clock: systemClock }) };
}

/** Passes until `done`; a pass tells by itself when the next one is due. */
async function runUntil(what: string, loop: Loop, done: () => boolean | Promise<boolean>): Promise<void> {
  let due = 0;
  await eventually(
    what,
    async () => {
      if (Date.now() < due) return false;
      const wait = await loop.pass();
      due = Date.now() + (wait === "gone" ? 0 : wait);
      return await done();
    },
    { withinMs: 120_000, everyMs: 10 },
  ).catch((error: unknown) => {
    const decision = JSON.stringify(loop.latest?.decision);
    throw new Error(`${(error as Error).message}; last decision: ${decision}`, { cause: error });
  });
}

const converged = (loop: Loop) => loop.latest?.decision.converged === true;

test("a member whose volume was emptied is replaced by another Pod, and the cluster converges", async () => {
  const { platform, loop } = await cluster("healed", { replicas: 3, ...SMALL });
  await runUntil("converged", loop, () => converged(loop));
  await fault.loseVolume(NAMESPACE, "healed-2", "data");
  await runUntil("replaced", loop, () => {
    const names = loop.latest?.observation.members.map(({ record: one }) => one.name) ?? [];
    return converged(loop) && names.includes("healed-4");
  });
  const names = ({ metadata }: { metadata?: { name?: string } }) => metadata?.name;
  const { members, pods, claims } = await platform.objects();
  assert.deepEqual(members.map(names), ["healed-1", "healed-3", "healed-4"]);
  assert.deepEqual(pods.map(names), ["healed-1", "healed-3", "healed-4"]);
  assert.deepEqual(claims.map(names), ["healed-1", "healed-3", "healed-4"].map(claimName));
  for (const pod of pods) await bed.client.delete(`${PATHS.pods}/${pod.metadata?.name}`);
});

describe("a cluster of three Pods", () => {
  let platform: PodPlatform;
  let loop: Loop;

  const observe = async (): Promise<Observation> => {
    const seen = await loop.observer.observe();
    assert.ok(seen);
    return seen;
  };

  /** Waits until a member is seen as `expected`, and keeps the objects that tell it. */
  async function sees(
    fixture: string,
    name: string,
    isSo: (facts: MemberFacts) => boolean,
    parts: Partial<Record<Kinds, string>>,
  ): Promise<MemberFacts> {
    const facts = await eventually(
      `${name} is seen: ${fixture}`,
      async () => {
        const member = (await observe()).members.find((one) => one.record.name === name);
        if (member && isSo(member)) return member;
        throw new Error(JSON.stringify({ volume: member?.volume, workload: member?.workload }));
      },
      { withinMs: 90_000 },
    );
    // What was observed, not what is there by now: a container may have been restarted since.
    if (RECORDING) keep(fixture, platform.seen, parts);
    return facts;
  }

  const podOf = (name: string) => bed.client.get<Pod>(`${PATHS.pods}/${name}`);

  async function removePod(name: string): Promise<void> {
    await bed.client.delete(`${PATHS.pods}/${name}`);
    await eventually(`Pod ${name} is gone`, () => isGone(`${PATHS.pods}/${name}`));
  }

  /** Puts another Pod in the place of a member's. */
  async function exchangePod(name: string, change: PodChange): Promise<void> {
    await removePod(name);
    const seen = await observe();
    const member = seen.members.find((one) => one.record.name === name);
    assert.ok(member);
    await bed.client.create(PATHS.pods, memberPod(member.record, "demo", seen.cluster.uid, change));
  }

  before(async () => {
    ({ platform, loop } = await cluster("demo", { replicas: 3, ...SMALL }));
  });

  test("H2: its claims wait for their Pods, and no Pod is made before its record permits it", async () => {
    const isWaiting = ({ volume, workload, record: one }: MemberFacts) =>
      volume.state === "ready" && workload.state === "absent" && one.volumeUID === undefined;
    await runUntil("three claims", loop, async () => {
      const { members } = await observe();
      return members.length === 3 && members.every(isWaiting);
    });
    const objects = await platform.objects();
    assert.deepEqual(new Set(objects.claims.map(({ status }) => status?.phase)), new Set(["Pending"]));
    assert.deepEqual(objects.pods, []);
    if (RECORDING) record("first-boot", { now: Date.now(), objects: withoutClasses(objects) });
  });

  test("it converges: every member is latched and healthy", async () => {
    await runUntil("converged", loop, () => converged(loop));
    const { members, etcd } = await observe();
    assert.equal(etcd.list?.members.length, 3);
    for (const { record: one, volume, workload, answer } of members) {
      assert.ok(one.joined && one.memberID !== undefined && answer.reachable);
      assert.deepEqual(volume, { state: "ready", uid: one.volumeUID });
      assert.equal(workload.state, "running");
    }
    if (RECORDING) {
      const objects = await platform.objects();
      record("healthy", { now: Date.now(), objects: withoutClasses(objects) });
    }
  });

  test("a record deleted by hand waits for its finalizer", async () => {
    await bed.client.delete(`${PATHS.members}/demo-1`);
    await sees("record-deleted", "demo-1", (facts) => facts.deleting, { members: "demo-1" });
  });

  test("an image that does not exist", async () => {
    await exchangePod("demo-2", { tag: "v3.6.999" });
    const { workload } = await sees(
      "image-missing",
      "demo-2",
      (facts) => facts.workload.state === "waiting" && facts.workload.reason.startsWith("ImagePullBackOff"),
      { pods: "demo-2" },
    );
    assert.equal(workload.state, "waiting");
  });

  test("no node that a Pod fits on", async () => {
    await exchangePod("demo-2", { spec: { nodeSelector: { disk: "fast" } } });
    await sees(
      "unschedulable",
      "demo-2",
      ({ workload }) =>
        workload.state === "waiting" && workload.reason.startsWith("Unschedulable: 0/3 nodes"),
      { pods: "demo-2" },
    );
  });

  test("an option that etcd does not know: the container ends again and again", async () => {
    await exchangePod("demo-2", {});
    await sees("running", "demo-2", ({ answer }) => answer.reachable, {});
    const config = `${PATHS.configMaps}/demo-2`;
    const before = await bed.client.get<{ data: Record<string, string> }>(config);
    const broken = { ...JSON.parse(before.data["etcd.json"] ?? ""), "election-timeout": "soon" };
    await bed.client.patch(config, { data: { "etcd.json": JSON.stringify(broken) } });
    await exchangePod("demo-2", {});
    const facts = await sees(
      "crash-loop",
      "demo-2",
      ({ workload }) => workload.state === "exited" && workload.restarts >= 2,
      { pods: "demo-2" },
    );
    assert.ok(facts.workload.state === "exited");
    assert.equal(facts.workload.cause, "bad-configuration", facts.workload.detail);
    await bed.client.patch(config, { data: before.data });
    await exchangePod("demo-2", {});
    await sees("running", "demo-2", ({ answer }) => answer.reachable, {});
  });

  test("H3: an emptied volume is not started over, and is reported as lost data", async () => {
    await fault.loseVolume(NAMESPACE, "demo-2", "data");
    const { workload } = await sees(
      "volume-emptied",
      "demo-2",
      // The kill that comes with the fault is seen for a moment, and of the first end it is not known yet.
      ({ workload: now }) => now.state === "exited" && !["killed", "unknown"].includes(now.cause),
      { pods: "demo-2" },
    );
    assert.ok(workload.state === "exited");
    assert.equal(workload.cause, "data-missing", workload.detail);
  });

  test("a PersistentVolume that is gone leaves its claim lost", async () => {
    await removePod("demo-2");
    const claim = await bed.client.get<PersistentVolumeClaim>(`${PATHS.claims}/${claimName("demo-2")}`);
    const volume = `/api/v1/persistentvolumes/${claim.spec?.volumeName}`;
    await bed.client.delete(volume);
    await bed.client.patch(volume, { metadata: { finalizers: null } }).catch(() => undefined);
    await sees("claim-lost", "demo-2", (facts) => facts.volume.state === "unreachable", {
      claims: claimName("demo-2"),
      pods: "-demo-2",
    });
  });

  test("a Pod that hangs on a node without power names the node", async () => {
    const node = (await podOf("demo-3")).spec?.nodeName ?? "";
    await fault.crashNode(node);
    await bed.client.delete(`${PATHS.pods}/demo-3`);
    const { workload } = await sees(
      "node-lost",
      "demo-3",
      (facts) => facts.workload.state === "stopping" && facts.workload.lostNode !== undefined,
      { pods: "demo-3", nodes: node },
    );
    assert.ok(workload.state === "stopping");
    assert.equal(workload.lostNode, node);
  });
});

describe("a member in memory", () => {
  test("H4: its Pod is its volume, and gets no node before its record permits it", async () => {
    const { platform, loop } = await cluster("cache", {
      replicas: 1,
      storage: { medium: "Memory", size: "64Mi" },
      options: { quotaBackendBytes: "32Mi" },
    });
    await runUntil("a gated Pod", loop, async () => (await platform.objects()).pods.length === 1);
    const waiting = (await platform.read()).members[0];
    assert.ok(waiting?.volume.state === "ready" && waiting.workload.state === "waiting");
    assert.match(waiting.workload.reason, /^SchedulingGated/);
    await runUntil("converged", loop, () => converged(loop));
    const objects = await platform.objects();
    const [member] = (await platform.read()).members;
    assert.equal(member?.record.volumeUID, objects.pods[0]?.metadata?.uid);
    if (RECORDING) record("memory", { now: Date.now(), objects: { ...withoutClasses(objects), nodes: [] } });
  });
});

async function isGone(path: string): Promise<boolean> {
  try {
    await bed.client.get(path);
    return false;
  } catch (error) {
    return isCode(error, 404);
  }
}

/** Only the class that is used. */
function withoutClasses(objects: ClusterObjects): ClusterObjects {
  const storageClasses = objects.storageClasses?.filter(({ metadata }) => metadata?.name === "standard");
  return { ...objects, ...(storageClasses && { storageClasses }) };
}

/** Keeps the named objects; a name with a dash in front is one that is gone. */
function keep(fixture: string, objects: ClusterObjects, parts: Partial<Record<Kinds, string>>): void {
  if (Object.keys(parts).length === 0) return;
  const entries = Object.entries(parts) as [Kinds, string][];
  const present = entries.filter(([, name]) => !name.startsWith("-"));
  const changed = present.map(([kind, name]) => [
    kind,
    (objects[kind] ?? []).filter(({ metadata }) => metadata?.name === name),
  ]);
  const gone = entries
    .filter(([, name]) => name.startsWith("-"))
    .map(([kind, name]) => [kind, [name.slice(1)]]);
  record(fixture, {
    now: Date.now(),
    changed: Object.fromEntries(changed),
    ...(gone.length > 0 && { gone: Object.fromEntries(gone) }),
  });
}
