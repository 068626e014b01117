/** What a cluster of three makes of a VerticalPodAutoscaler that resizes its members, by evictions and in place. */
import assert from "node:assert/strict";
import type { Pod } from "kubernetes-types/core/v1.d.ts";
import type { EtcdMember } from "../../src/api/etcd-member.ts";
import { eventually } from "../../testbed/eventually.ts";
import type { TestTestbed } from "../../testbed/for-tests.ts";
import { autoscalerOn } from "./autoscaler.ts";
import { PATHS } from "./kube-paths.ts";
import type { ClusterOnBed, Running } from "./operator.ts";
import { VerticalAutoscaler, type Recommended } from "./vertical-autoscaler.ts";

const soon = { withinMs: 60_000 };

class Resizing {
  readonly #bed: TestTestbed;
  readonly #cluster: ClusterOnBed;
  readonly #running: Running;

  constructor(bed: TestTestbed, cluster: ClusterOnBed, running: Running) {
    this.#bed = bed;
    this.#cluster = cluster;
    this.#running = running;
  }

  pod(member: string): Promise<Pod> {
    return this.#bed.client.get<Pod>(`${PATHS.pods}/${member}`);
  }

  member(name: string): Promise<EtcdMember> {
    return this.#bed.client.get<EtcdMember>(`${PATHS.members}/${name}`);
  }

  /** It comes back as the same member, or stays, with what was given to it; that is told, and nothing is undone or rolled. */
  async assertResized(
    name: string,
    given: Recommended,
    how: "evicted" | "in place",
    resize: () => Promise<unknown>,
  ): Promise<void> {
    const [before, { spec }] = [await this.pod(name), await this.member(name)];
    const from = this.#running.steps.length;
    await resize();
    const isDone = async () => {
      const now = await this.pod(name).catch(() => before);
      const { cpu, memory } = now.spec?.containers[0]?.resources?.requests ?? {};
      return cpu === given.cpu && memory === given.memory;
    };
    await eventually(`${name} has what was recommended`, isDone, soon);
    await this.#cluster.converged(3);
    const pod = await this.pod(name);
    assert.equal(pod.metadata?.uid === before.metadata?.uid, how === "in place", how);
    await eventually(
      "its EtcdMember tells what it has",
      async () => (await this.member(name)).status?.resources?.requests?.["cpu"] === given.cpu,
      soon,
    );
    assert.equal((await this.member(name)).spec.memberID, spec.memberID);
    await this.#bed.client.patch(`${PATHS.clusters}/demo`, { metadata: { labels: { look: given.cpu } } });
    await this.#cluster.converged(3);
    const last = await this.pod(name);
    assert.equal(last.metadata?.uid, pod.metadata?.uid);
    assert.deepEqual(last.spec?.containers[0]?.resources?.requests, { ...given });
    assert.deepEqual(
      this.#running.steps
        .slice(from)
        .filter((step) => /^(StopWorkload|UpdateMember|RemoveFromEtcd)/.test(step)),
      [],
    );
  }
}

/** By a stand-in: a webhook of ours, and evictions. */
export async function autoscaled(bed: TestTestbed, cluster: ClusterOnBed, running: Running): Promise<void> {
  const requests = { cpu: "250m", memory: "400Mi" };
  const autoscaler = await autoscalerOn(bed, { "demo-3": { requests }, "demo-1": { requests } });
  try {
    await new Resizing(bed, cluster, running).assertResized("demo-3", requests, "evicted", async () => {
      await eventually("the budget lets demo-3 go", () => autoscaler.evict("demo-3"), soon);
      assert.equal(await autoscaler.evict("demo-1"), false, "a second one waits for the first");
    });
  } finally {
    await autoscaler.close();
  }
}

/** By Kubernetes' own autoscaler. */
export async function reallyAutoscaled(
  bed: TestTestbed,
  cluster: ClusterOnBed,
  running: Running,
): Promise<void> {
  const autoscaler = await VerticalAutoscaler.start(bed);
  const resizing = new Resizing(bed, cluster, running);
  const ask = (member: string, mode: string, given: Recommended, how: "evicted" | "in place") =>
    resizing.assertResized(member, given, how, () => autoscaler.recommend(member, mode, given));
  try {
    await ask("demo-3", "Recreate", { cpu: "260m", memory: "410Mi" }, "evicted");
    await ask("demo-1", "InPlaceOrRecreate", { cpu: "270m", memory: "420Mi" }, "in place");
  } catch (error) {
    throw new Error(`${(error as Error).message}\n${autoscaler.story()}`, { cause: error });
  } finally {
    await autoscaler[Symbol.asyncDispose]();
  }
}
