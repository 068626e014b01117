/** What a cluster of three makes of a VerticalPodAutoscaler that resizes demo-3 by an eviction. */
import assert from "node:assert/strict";
import type { Pod } from "kubernetes-types/core/v1.d.ts";
import type { EtcdMember } from "../../src/api/etcd-member.ts";
import { eventually } from "../../testbed/eventually.ts";
import type { TestTestbed } from "../../testbed/for-tests.ts";
import { autoscalerOn } from "./autoscaler.ts";
import { PATHS } from "./kube-paths.ts";
import type { ClusterOnBed, Running } from "./operator.ts";

const soon = { withinMs: 60_000 };
const requests = { cpu: "250m", memory: "400Mi" };

export async function autoscaled(bed: TestTestbed, cluster: ClusterOnBed, running: Running): Promise<void> {
  const autoscaler = await autoscalerOn(bed, { "demo-3": { requests }, "demo-1": { requests } });
  const podOf = async () => await bed.client.get<Pod>(`${PATHS.pods}/demo-3`);
  const memberOf = async () => await bed.client.get<EtcdMember>(`${PATHS.members}/demo-3`);
  try {
    const [before, { spec }] = [await podOf(), await memberOf()];
    const from = running.steps.length;
    await eventually("the budget lets demo-3 go", () => autoscaler.evict("demo-3"), soon);
    assert.equal(await autoscaler.evict("demo-1"), false, "a second one waits for the first");
    const replaced = async () => (await podOf().catch(() => before)).metadata?.uid !== before.metadata?.uid;
    await eventually("demo-3 has another Pod", replaced, soon);
    await cluster.converged(3);
    const pod = await podOf();
    assert.deepEqual(pod.spec?.containers[0]?.resources?.requests, requests);
    await eventually(
      "its EtcdMember tells what it has",
      async () => (await memberOf()).status?.resources?.requests?.["cpu"] === requests.cpu,
      soon,
    );
    assert.equal((await memberOf()).spec.memberID, spec.memberID);
    await bed.client.patch(`${PATHS.clusters}/demo`, { metadata: { labels: { look: "resized" } } });
    await cluster.converged(3);
    assert.equal((await podOf()).metadata?.uid, pod.metadata?.uid);
    assert.deepEqual(
      running.steps.slice(from).filter((step) => /^(StopWorkload|UpdateMember|RemoveFromEtcd)/.test(step)),
      [],
    );
  } finally {
    await autoscaler.close();
  }
}
