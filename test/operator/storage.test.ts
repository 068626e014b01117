/** Media and volumes: what each needs, growth in place, and the swap through newcomers where a volume cannot follow. */
import assert from "node:assert/strict";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { after, before, test } from "node:test";
import { ANNOTATIONS } from "../../src/operator/names.ts";
import { eventually } from "../../testbed/eventually.ts";
import type { TestTestbed } from "../../testbed/for-tests.ts";
import { nodeDir } from "../../testbed/kubelet/volumes.ts";
import { bedPaths } from "../../testbed/paths.ts";
import { PATHS } from "../support/kube-paths.ts";
import { ClusterOnBed, startOperator, upWithDefinitions, type Running } from "../support/operator.ts";
import { ownImage } from "../support/own-image.ts";
import { OperatorChecker } from "../support/operator-checker.ts";

let bed: TestTestbed;
let running: Running;
const clusters: ClusterOnBed[] = [];
const host = mkdtempSync(path.join(os.tmpdir(), "quorate-host-"));
const soon = { withinMs: 60_000 };

before(async () => {
  bed = await upWithDefinitions();
  running = startOperator(bed, ownImage(bed));
});

after(async () => {
  for (const cluster of clusters) await cluster.close();
  await running?.stop();
  await bed?.down();
  rmSync(host, { recursive: true, force: true });
});

function clusterOf(name: string): ClusterOnBed {
  const cluster = new ClusterOnBed(bed, name, running);
  clusters.push(cluster);
  return cluster;
}

async function remove(cluster: ClusterOnBed): Promise<void> {
  await cluster.delete();
  await cluster.gone(`${PATHS.clusters}/${cluster.name}`);
}

test("HostPath: a member stays on the node that has its directory, comes back there with its data, and takes it along", async () => {
  const cluster = clusterOf("host");
  const retention = { onDelete: "Delete" } as const;
  await cluster.create({
    replicas: 1,
    storage: { medium: "HostPath", size: "1Gi", hostPath: host, retention },
  });
  await cluster.converged(1);
  const [pod] = await cluster.pods();
  await eventually("its node is remembered", async () => {
    const [member] = await cluster.members();
    return member?.metadata.annotations?.[ANNOTATIONS.node] === pod?.spec?.nodeName;
  });
  const [member] = await cluster.members();
  const directory = pod?.spec?.volumes?.find(({ name }) => name === "data")?.hostPath?.path;
  assert.equal(
    directory,
    `${host}/default/host.${(await cluster.get()).metadata.uid}/host-1.${member?.metadata.uid}`,
  );
  const client = await cluster.etcd();
  await client.kv.put("kept", "yes", { timeoutMs: 5_000 });
  await cluster.deletePod("host-1");
  await eventually(
    "another Pod runs",
    async () => {
      const [now] = await cluster.pods();
      return now?.metadata?.uid !== pod?.metadata?.uid && now?.status?.phase === "Running" && now;
    },
    soon,
  );
  await cluster.converged(1);
  const [again] = await cluster.pods();
  assert.equal(again?.spec?.nodeName, pod?.spec?.nodeName);
  const found = await (await cluster.etcd()).kv.range("kept", { timeoutMs: 5_000 });
  assert.equal(found.kvs.length, 1);
  const onNode = path.join(
    nodeDir({ dir: bedPaths(bed.name).kubelet }, pod?.spec?.nodeName ?? ""),
    directory ?? "",
  );
  assert.ok(existsSync(onNode));
  await remove(cluster);
  const ofCluster = path.dirname(onNode);
  assert.ok(!existsSync(ofCluster), "its directory and the cluster's are deleted by a Pod on its node");
  assert.ok(existsSync(path.dirname(ofCluster)), "the directory of the namespace stays");
});

test("a claim grows in place where its class can, without a restart", async () => {
  const cluster = clusterOf("grow");
  await cluster.create({ replicas: 1 });
  await cluster.converged(1);
  const [pod] = await cluster.pods();
  await cluster.edit({ storage: { size: "2Gi" } });
  await eventually("it has grown", async () => {
    const [claim] = await cluster.claims();
    return claim?.spec?.resources?.requests?.["storage"] === "2Gi";
  });
  await cluster.converged(1);
  assert.equal((await cluster.pods())[0]?.metadata?.uid, pod?.metadata?.uid);
  await remove(cluster);
});

test("where claims cannot grow, newcomers with larger ones take the members' places", async () => {
  const cluster = clusterOf("fixed");
  await cluster.create({ replicas: 1, storage: { size: "1Gi", className: "fixed" } });
  await cluster.converged(1);
  await cluster.edit({ storage: { size: "2Gi" } });
  await cluster.converged(1);
  await eventually("only the larger one is left", async () => {
    const claims = await cluster.claims();
    assert.deepEqual(
      claims.map(({ metadata, spec }) => [metadata?.name, spec?.resources?.requests?.["storage"]]),
      [["data-fixed-2", "2Gi"]],
    );
    return true;
  });
  await cluster.assertSound(1);
  await remove(cluster);
});

test("another medium: members move one at a time through newcomers, and nothing acknowledged is lost", async (t) => {
  const cluster = clusterOf("move");
  await cluster.create({ replicas: 3, storage: { medium: "Ephemeral", size: "1Gi" } });
  await cluster.converged(3);
  assert.deepEqual(await cluster.claims(), []);
  await using checker = await OperatorChecker.start(cluster);
  const began = Date.now();
  await cluster.edit({ storage: { medium: "Persistent" } });
  await cluster.converged(3);
  t.diagnostic(`moved after ${Date.now() - began} ms`);
  await checker.judged();
  assert.deepEqual(await cluster.list(PATHS.claims), ["data-move-4", "data-move-5", "data-move-6"]);
  await cluster.assertSound(3);
  await remove(cluster);
});
