/**
 * How soon a cluster of the operator is whole again after a loss, how soon it has grown, and how long writes stand
 * still while a minor version is rolled; and how many starts of etcd failed meanwhile, which is none. On three real
 * nodes; the operator runs as its Deployment.
 */
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { EtcdClusterSpecInput } from "../../src/api/etcd-cluster-spec.ts";
import { API_VERSION } from "../../src/api/metadata.ts";
import { Lab } from "../testbed/on-nodes/lab.ts";
import { newestVersions } from "../support/etcd-versions.ts";
import { PATHS } from "../support/kube-paths.ts";
import { Installed, isReady } from "./installed.ts";
import { median, show, tellLoad } from "./measure.ts";
import { PlainStatefulSet } from "./plain-statefulset.ts";
import { startsDuring } from "./stages.ts";

const RUNS = 3;
/** etcd admits nobody before its voters have been connected for 5 s (R19), which in real life they have. */
const CONNECTED_MS = 6_000;
const REPLACED_MS = 5_000;
const BACK_MS = 4_000;
const GROWN_MS = 6_000;
const GAP_MS = 1_000;
/** Writes in a second below which a gap says little. */
const LEAST_RATE = 50;
const [FROM = "", TO = ""] = newestVersions.slice(-2);
const MEMORY = {
  storage: { medium: "Memory", size: "128Mi" },
  options: { quotaBackendBytes: "32Mi" },
} as const;
const DISK = {
  storage: { size: "512Mi", retention: { onDelete: "Delete" } },
  options: { quotaBackendBytes: "64Mi" },
} as const;

let failedStarts = 0;
/** What the scheduler, the disks and the kubelets took of the last figure, one sum for each run. */
let startsMs: number[] = [];

await using installed = await Installed.up();
const { client } = installed.bed;
const lab = new Lab(installed.bed.name);
try {
  // The first of each version brings its image to the nodes.
  for (const version of [FROM, TO]) await withCluster({ version, ...MEMORY }, () => Promise.resolve(0));
  tellLoad(RUNS);
  failedStarts = 0;
  await figure("a member in memory is replaced after its Pod was deleted", REPLACED_MS, () =>
    replaced(PATHS.pods),
  );
  await figure("a member in memory is replaced after its EtcdMember was deleted", REPLACED_MS, () =>
    replaced(PATHS.members),
  );
  await figure("three voters again after `etcdctl member remove`", undefined, removed);
  await figure("a member on disk is back after its Pod was deleted", BACK_MS, back);
  await figure("a Pod of a plain StatefulSet is back after it was deleted", undefined, backInSet);
  for (const version of [FROM, TO]) {
    startsMs = [];
    await figure(`from three to five members on ${version}`, GROWN_MS, () => grown(version));
    console.log(`    of which the two new Pods took, from made to running: ${show(startsMs, "ms")}`);
  }
  console.log(`  starts of etcd that failed: ${failedStarts}: ${failedStarts === 0 ? "met" : "NOT met"} (0)`);
  if (failedStarts > 0) process.exitCode = 1;
  await figure(`longest time without a write from ${FROM} to ${TO}`, GAP_MS, upgraded);
  tellLoad(RUNS);
} finally {
  await lab.end();
}

/** Without a goal it is only told. */
async function figure(what: string, goal: number | undefined, run: () => Promise<number>): Promise<void> {
  const values: number[] = [];
  for (let i = 0; i < RUNS; i++) values.push(await run());
  const met = goal === undefined || median(values) <= goal;
  const verdict = goal === undefined ? "" : `: ${met ? "met" : "NOT met"} (at most ${goal} ms)`;
  console.log(`  ${what}: ${show(values, "ms")}, ${RUNS} runs${verdict}`);
  if (!met) process.exitCode = 1;
}

function follower(name: string): string {
  return installed.cluster(name)?.status?.members?.find(({ role }) => role === "Follower")?.name ?? "";
}

async function replaced(path: string): Promise<number> {
  return await withCluster({ version: FROM, ...MEMORY }, async (name) => {
    const lost = follower(name);
    const began = performance.now();
    await client.delete(`${path}/${lost}`);
    await installed.until(`${lost} is replaced`, () => voters(name, lost) === 3);
    return performance.now() - began;
  });
}

async function removed(): Promise<number> {
  return await withCluster({ version: FROM, ...DISK }, async (name) => {
    const lost = follower(name);
    const began = performance.now();
    await lab.call("removeFromEtcd", name, lost);
    await installed.until(`${lost} is replaced`, () => voters(name, lost) === 3);
    return performance.now() - began;
  });
}

/** Another Pod, and so another address; the same member of etcd. */
async function back(): Promise<number> {
  return await withCluster({ version: FROM, ...DISK }, async (name) => {
    const lost = follower(name);
    const idOf = () => installed.cluster(name)?.status?.members?.find((one) => one.name === lost)?.id;
    const pod = () => installed.pods(name).find(({ metadata }) => metadata?.name === lost);
    const [id, uid] = [idOf(), pod()?.metadata?.uid];
    const began = performance.now();
    await client.delete(`${PATHS.pods}/${lost}`);
    await installed.until(`${lost} is back`, () => {
      const now = pod();
      return now !== undefined && now.metadata?.uid !== uid && isReady(now) && voters(name) === 3;
    });
    const took = performance.now() - began;
    if (idOf() !== id) throw new Error(`${lost} came back as another member`);
    return took;
  });
}

/** The same of three that no operator looks after: what is left is not ours to save. */
async function backInSet(): Promise<number> {
  const set = new PlainStatefulSet(client, newName("plain"), { version: FROM, ...DISK });
  await set.prepare();
  await set.create();
  const ready = () => installed.pods(set.name).filter(isReady);
  await installed.until(`${set.name} is whole`, () => ready().length === 3);
  await sleep(CONNECTED_MS);
  const [lost] = ready();
  const began = performance.now();
  await client.delete(`${PATHS.pods}/${lost?.metadata?.name}`);
  await installed.until(
    `${lost?.metadata?.name} is back`,
    () => ready().length === 3 && !ready().some(({ metadata }) => metadata?.uid === lost?.metadata?.uid),
  );
  const took = performance.now() - began;
  await set.delete();
  await installed.until(`${set.name} is gone`, () => installed.pods(set.name).length === 0);
  return took;
}

async function grown(version: string): Promise<number> {
  return await withCluster({ version, ...DISK }, async (name) => {
    const began = performance.now();
    const starts = await startsDuring(installed, name, async () => {
      await client.patch(`${PATHS.clusters}/${name}`, { spec: { replicas: 5 } });
      await installed.until(`${name} has five voters`, () => voters(name) === 5);
    });
    const took = performance.now() - began;
    startsMs.push(starts.reduce((sum, ms) => sum + ms, 0));
    return took;
  });
}

async function upgraded(): Promise<number> {
  return await withCluster({ version: FROM, ...DISK }, async (name) => {
    const began = performance.now();
    await lab.call("startChecker", name);
    await client.patch(`${PATHS.clusters}/${name}`, { spec: { version: TO } });
    await installed.until(`${name} runs ${TO}`, () => {
      const { members = [] } = installed.cluster(name)?.status ?? {};
      return voters(name) === 3 && members.every(({ version }) => version === TO);
    });
    const { gapMs, writes } = await lab.call("judged", name);
    const rate = (writes / (performance.now() - began)) * 1000;
    if (rate < LEAST_RATE) console.log(`    only ${rate.toFixed(0)} writes in a second`);
    return gapMs;
  });
}

/** Voters that the status calls healthy, of a cluster at rest that does not know `lost` any more; else 0. */
function voters(name: string, lost?: string): number {
  const { metadata, status } = installed.cluster(name) ?? {};
  const { members = [], conditions = [], observedGeneration } = status ?? {};
  const rests = conditions.some(
    (one) =>
      one.reason === "Converged" && one.observedGeneration === metadata?.generation && one.status === "False",
  );
  if (!rests || observedGeneration !== metadata?.generation) return 0;
  if (members.some(({ name: member }) => member === lost)) return 0;
  return members.filter(({ healthy, role }) => healthy && (role === "Leader" || role === "Follower")).length;
}

/** No two runs have a name in common, since DNS remembers what was there and what was not. */
function newName(kind: string): string {
  return `${kind}-${randomUUID().slice(0, 6)}`;
}

/** A new cluster for each run, three members at rest and connected for a while. */
async function withCluster(
  spec: EtcdClusterSpecInput,
  work: (name: string) => Promise<number>,
): Promise<number> {
  const name = newName("bench");
  await client.create(PATHS.clusters, {
    apiVersion: API_VERSION,
    kind: "EtcdCluster",
    metadata: { name },
    spec: { replicas: 3, ...spec },
  });
  await installed.until(`${name} is whole`, () => voters(name) === 3);
  await sleep(CONNECTED_MS);
  const result = await work(name);
  failedStarts += installed
    .pods(name)
    .reduce((sum, { status }) => sum + (status?.containerStatuses?.[0]?.restartCount ?? 0), 0);
  await client.delete(`${PATHS.clusters}/${name}`);
  await installed.until(
    `${name} is gone`,
    () => installed.cluster(name) === undefined && installed.pods(name).length === 0,
  );
  return result;
}
