/**
 * The memory that the operator holds as it is shipped: with one cluster of three on real etcd, and with two hundred
 * of three whose objects are on a real API server and whose nodes and etcd are stand-ins; and what it computes there
 * while all of them rest.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Secret } from "kubernetes-types/core/v1.d.ts";
import type { EtcdCluster } from "../../src/api/etcd-cluster.ts";
import { PORTS } from "../../src/operator/names.ts";
import type { KubeObject } from "../../testbed/client.ts";
import { eventually } from "../../testbed/eventually.ts";
import { upForTests, type TestTestbed } from "../../testbed/for-tests.ts";
import { watchObjects } from "../../testbed/watch.ts";
import { sample } from "../support/install.ts";
import { ManyMembers } from "./many-members.ts";
import { ManyPods } from "./many-pods.ts";
import { CLUSTERS, mb, ship, ShippedOperator } from "./shipped-operator.ts";

const ONE_GOAL = 85e6;
const MANY_GOAL = 170e6;
/** Of one processor, with many. */
const SHARE_GOAL = 0.1;
/** QUORATE_BENCH_CLUSTERS: fewer, to see in less time what each takes; the goals are those of two hundred. */
const MANY = Number(process.env["QUORATE_BENCH_CLUSTERS"] ?? 200);
/** Until all data has been compared once, and memory that is not needed any more has been given back. */
const SETTLE_MS = 60_000;
/** As long as it takes to look at each of many clusters as a whole once (operator/process/pace.ts). */
const REST_MS = MANY * 1_000;

await one();
await many();

async function one(): Promise<void> {
  await onBed("process", async (bed, folder) => {
    const shipped = await ship(bed, folder);
    const operator = await ShippedOperator.start(shipped, shipped.cached);
    try {
      await bed.client.create(CLUSTERS, sample("three-members"));
      await converged(bed, 1, 60_000);
      judge("one cluster of three", await atRest(operator), ONE_GOAL);
    } finally {
      await operator.stop();
    }
  });
}

async function many(): Promise<void> {
  await onBed("none", async (bed, folder) => {
    const shipped = await ship(bed, folder);
    const address = `127.${bed.bed.kind === "own" ? bed.bed.slot : 0}.9.9`;
    const members = new ManyMembers();
    const pods = new ManyPods(bed.client, address);
    const secrets = watchObjects<Secret & KubeObject>({
      client: bed.client,
      path: "/api/v1/secrets",
      changed: (secret) => secret && members.learn(secret),
    });
    let operator: ShippedOperator | undefined;
    try {
      await members.listen(address, PORTS);
      await pods.start();
      operator = await ShippedOperator.start(shipped, shipped.cached);
      const began = performance.now();
      for (let index = 1; index <= MANY; index++)
        await bed.client.create(CLUSTERS, {
          ...sample("three-members"),
          metadata: { name: `demo-${index}` },
        });
      await converged(bed, MANY, 600_000);
      console.log(`  ${MANY} clusters of three made in ${((performance.now() - began) / 1000).toFixed(0)} s`);
      judge(`${MANY} clusters of three, by who made them`, await atRest(operator), MANY_GOAL);
      await operator.stop();
      operator = await ShippedOperator.start(shipped, shipped.cached);
      judge(`${MANY} clusters of three, by who found them`, await atRest(operator), MANY_GOAL);
      await converged(bed, MANY, 1_000);
    } finally {
      await operator?.stop();
      pods.stop();
      secrets.stop();
      members.close();
      if (pods.failures.length > 0) console.error(pods.failures.slice(0, 5).join("\n"));
    }
  });
}

async function onBed(
  kubelet: "none" | "process",
  use: (bed: TestTestbed, folder: string) => Promise<void>,
): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "quorate-memory-"));
  const bed = await upForTests({ kubelet });
  try {
    await use(bed, folder);
  } finally {
    await bed.down();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function converged(bed: TestTestbed, count: number, withinMs: number): Promise<void> {
  await eventually(
    `${count} clusters are at rest`,
    async () => {
      const { items } = await bed.client.get<{ items: EtcdCluster[] }>(CLUSTERS);
      const resting = items.filter(
        ({ status }) =>
          status?.readyReplicas === 3 &&
          status.conditions?.some(({ type, reason }) => type === "Ready" && reason === "Converged"),
      );
      if (resting.length < count) throw new Error(`${resting.length} are`);
      return true;
    },
    { withinMs, everyMs: 1_000 },
  );
}

interface Rest {
  readonly bytes: number;
  readonly peak: number;
  /** Of one processor. */
  readonly share: number;
}

/** The most of a few looks at the end of a rest. */
async function atRest(operator: ShippedOperator): Promise<Rest> {
  await sleep(SETTLE_MS);
  const [cpu, began] = [operator.cpuMs, performance.now()];
  const looks: number[] = [];
  while (performance.now() - began < REST_MS) {
    await sleep(1_000);
    looks.push(operator.residentBytes);
  }
  const share = (operator.cpuMs - cpu) / (performance.now() - began);
  return { bytes: Math.max(...looks.slice(-5)), peak: operator.peakBytes, share };
}

function judge(what: string, { bytes, peak, share }: Rest, goal: number): void {
  const verdict = (met: boolean) => (met ? "met" : "NOT met");
  console.log(
    `  ${what}: ${mb(bytes)} at rest (at most ${mb(goal)}: ${verdict(bytes <= goal)}), ${mb(peak)} at the most; ` +
      `${share.toFixed(3)} of a processor (at most ${SHARE_GOAL.toFixed(2)}: ${verdict(share <= SHARE_GOAL)})`,
  );
  if (bytes > goal || share > SHARE_GOAL) process.exitCode = 1;
}
