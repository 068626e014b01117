/** A member that a person fences: it votes on, clients are not sent to it, and another one leads. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Pod, Service } from "kubernetes-types/core/v1.d.ts";
import type { PodDisruptionBudget } from "kubernetes-types/policy/v1.d.ts";
import { ANNOTATIONS, LABELS } from "../../src/operator/names.ts";
import { eventually } from "../../testbed/eventually.ts";
import type { TestTestbed } from "../../testbed/for-tests.ts";
import { PATHS } from "../support/kube-paths.ts";
import {
  ClusterOnBed,
  PATIENCE_MS,
  startOperator,
  upWithDefinitions,
  type Running,
} from "../support/operator.ts";

let bed: TestTestbed;
let running: Running;
let cluster: ClusterOnBed;

before(async () => {
  bed = await upWithDefinitions();
  running = startOperator(bed);
  cluster = new ClusterOnBed(bed, "demo", running);
  await cluster.create({ replicas: 3 });
  await cluster.converged(3);
});

after(async () => {
  await cluster?.close();
  await running?.stop();
  await bed?.down();
});

/** As `kubectl annotate etcdmember` does it. */
async function fence(name: string, value: string | null): Promise<void> {
  const annotations = { [ANNOTATIONS.fence]: value };
  await bed.client.patch(`${PATHS.members}/${name}`, { metadata: { annotations } });
}

/** The Pods that the client Service selects; there are no EndpointSlices without real nodes. */
async function served(): Promise<string[]> {
  const { spec } = await bed.client.get<Service>("/api/v1/namespaces/default/services/demo-client");
  const selector = Object.entries(spec?.selector ?? {}).map(([key, value]) => `${key}=${value}`);
  const query = `?labelSelector=${encodeURIComponent(selector.join(","))}`;
  const { items } = await bed.client.get<{ items: Pod[] }>(`${PATHS.pods}${query}`);
  return items.map(({ metadata }) => metadata?.name ?? "").toSorted();
}

async function roles(): Promise<Record<string, string | undefined>> {
  const pods = await cluster.pods();
  return Object.fromEntries(
    pods.map(({ metadata }) => [metadata?.name ?? "", metadata?.labels?.[LABELS.role]]),
  );
}

async function budget(): Promise<NonNullable<PodDisruptionBudget["status"]>> {
  const found = await bed.client.get<PodDisruptionBudget>(
    "/apis/policy/v1/namespaces/default/poddisruptionbudgets/demo",
  );
  return found.status ?? assert.fail("the budget has no status");
}

const within = { withinMs: PATIENCE_MS };

test("a fenced leader hands over and leaves the client Service; it runs on, and its vote counts", async () => {
  const { leader = "" } = await cluster.status();
  const before = new Map((await cluster.pods()).map(({ metadata }) => [metadata?.name, metadata?.uid]));
  const others = ["demo-1", "demo-2", "demo-3"].filter((name) => name !== leader);
  await fence(leader, "true");
  const status = await eventually(
    `another one than ${leader} leads, and the status says that it is fenced`,
    async () => {
      const now = await cluster.status();
      const member = now.members?.find(({ name }) => name === leader);
      return now.leader !== undefined && now.leader !== leader && member?.fenced === true ? now : undefined;
    },
    within,
  );
  assert.ok(running.steps.includes(`MoveLeader ${status.leader}`), running.steps.join("; "));
  assert.equal(status.endpoints?.length, 2);
  await eventually("its Pod is labelled", async () => (await roles())[leader] === "fenced-voter", within);
  await eventually(
    "the client Service leads to the two others",
    async () => (await served()).join() === others.join(),
    within,
  );
  const pods = await cluster.pods();
  assert.deepEqual(
    new Map(pods.map(({ metadata }) => [metadata?.name, metadata?.uid])),
    before,
    "nobody restarted",
  );
  await eventually(
    "the disruption budget counts it like the others",
    async () => (await budget()).expectedPods === 3 && (await budget()).disruptionsAllowed === 1,
    within,
  );
  await cluster.converged(3);
});

test("with every voter fenced the cluster says that clients have no endpoint; unfencing one ends that", async () => {
  const names = (await cluster.members()).map(({ metadata }) => metadata.name);
  for (const name of names) await fence(name, "true");
  await eventually(
    "it is not available",
    async () => (await cluster.condition("Available")) === "False/VotersFenced",
    within,
  );
  assert.equal(await cluster.condition("Stalled"), "True/VotersFenced");
  assert.equal(await cluster.condition("Quorate"), "True/Quorum");
  await eventually("the Service leads nowhere", async () => (await served()).length === 0, within);
  for (const name of names) await fence(name, null);
  await cluster.converged(3);
  assert.deepEqual([...new Set(Object.values(await roles()))], ["voter"]);
  await eventually("the Service leads to all", async () => (await served()).length === 3, within);
});

test("who replaces a fenced member is not fenced", async () => {
  const [first] = await cluster.members();
  const name = first?.metadata.name ?? "";
  await fence(name, "its disk is slow");
  await bed.client.delete(`${PATHS.members}/${name}`);
  await eventually(
    `${name} is gone`,
    async () => !(await cluster.list(PATHS.members)).includes(name),
    within,
  );
  const { members } = await cluster.converged(3);
  assert.equal(
    members?.some(({ fenced }) => fenced),
    false,
  );
  assert.deepEqual([...new Set(Object.values(await roles()))], ["voter"]);
});
