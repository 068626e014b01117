/**
 * The operator as it is shipped, for benches: config/install.yaml as it is, with the image from our own writer, on
 * three real nodes; and a watch on Pods and clusters, so that looking on costs the API server nothing.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Pod } from "kubernetes-types/core/v1.d.ts";
import { bundleInParts } from "../../scripts/build/bundle.ts";
import { buildImage } from "../../scripts/build/image.ts";
import type { EtcdCluster } from "../../src/api/etcd-cluster.ts";
import { LABELS } from "../../src/operator/names.ts";
import { eventually } from "../../testbed/eventually.ts";
import { upForTests, type TestTestbed } from "../../testbed/for-tests.ts";
import { loadArchive } from "../../testbed/nodes/verbs.ts";
import { DEFAULT_OPTIONS } from "../../testbed/state.ts";
import { watchObjects, type Watched } from "../../testbed/watch.ts";
import { applyAll, manifests, pathOf, whenServed } from "../support/install.ts";
import { PATHS } from "../support/kube-paths.ts";

const ROOT = join(import.meta.dirname, "..", "..");
const PATIENCE_MS = 120_000;
/** The commonest Corefile, `ttl 5` with `cache 30`, unless `npm run bench -- --dns` asks for another. */
const DNS_DENIAL_S = Number(process.env["QUORATE_DNS_DENIAL"] ?? DEFAULT_OPTIONS.dnsDenialSeconds);

export class Installed implements AsyncDisposable {
  readonly bed: TestTestbed;
  readonly #pods: Watched<Pod>;
  readonly #clusters: Watched<EtcdCluster>;
  readonly #lookers = new Set<() => void>();

  private constructor(bed: TestTestbed) {
    this.bed = bed;
    const changed = () => {
      for (const look of this.#lookers) look();
    };
    this.#pods = watchObjects<Pod>({ client: bed.client, path: PATHS.pods, changed });
    this.#clusters = watchObjects<EtcdCluster>({ client: bed.client, path: PATHS.clusters, changed });
  }

  static async up(): Promise<Installed> {
    const folder = mkdtempSync(join(tmpdir(), "quorate-bench-"));
    const bed = await upForTests({ nodes: 3, dnsDenialSeconds: DNS_DENIAL_S });
    try {
      await install(bed, folder);
      const installed = new Installed(bed);
      await Promise.all([installed.#pods.synced, installed.#clusters.synced]);
      return installed;
    } catch (error) {
      await bed.down();
      throw error;
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  }

  /** The Pods of a cluster of ours, or of one made from our own objects; those that end are none. */
  pods(cluster: string): Pod[] {
    return [...this.#pods.objects.values()].filter(
      ({ metadata }) =>
        metadata?.labels?.[LABELS.cluster] === cluster && metadata.deletionTimestamp === undefined,
    );
  }

  cluster(name: string): EtcdCluster | undefined {
    return this.#clusters.objects.get(`default/${name}`);
  }

  /** Calls whenever anything changed, until told not to. */
  follow(look: () => void): () => void {
    this.#lookers.add(look);
    return () => void this.#lookers.delete(look);
  }

  /** Looks whenever anything changed, and says how long it took. */
  async until(what: string, isSo: () => boolean): Promise<number> {
    const began = performance.now();
    const { promise, resolve, reject } = Promise.withResolvers<number>();
    const look = () => {
      if (isSo()) resolve(performance.now() - began);
    };
    const timer = setTimeout(() => reject(new Error(`${what}: not within ${PATIENCE_MS} ms`)), PATIENCE_MS);
    const stop = this.follow(look);
    look();
    try {
      return await promise;
    } finally {
      clearTimeout(timer);
      stop();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#pods.stop();
    this.#clusters.stop();
    await this.bed.down();
  }
}

/** Two replicas of the operator that are ready, one of which leads. */
async function install(bed: TestTestbed, folder: string): Promise<void> {
  const objects = manifests("install.yaml");
  const deployment = objects.find(({ kind }) => kind === "Deployment") as (typeof objects)[number] & {
    spec: { template: { spec: { containers: { image: string }[] } } };
  };
  const name = deployment.spec.template.spec.containers[0]?.image ?? "";
  const parts = await bundleInParts(ROOT, join(folder, "app"));
  await loadArchive(bed.name, (await buildImage(parts, folder, name, () => {})).path);
  await applyAll(bed.client, objects);
  await whenServed(bed.client, PATHS.clusters);
  await eventually(
    "two ready replicas of the operator",
    async () => {
      const { status } = await bed.client.get<{ status?: { readyReplicas?: number } }>(pathOf(deployment));
      return status?.readyReplicas === 2;
    },
    { withinMs: PATIENCE_MS, everyMs: 200 },
  );
}

export function isReady({ status }: Pod): boolean {
  return status?.conditions?.some((one) => one.type === "Ready" && one.status === "True") ?? false;
}

/** What `kubectl wait --for=condition=<type>` waits for, about the newest spec. */
export function has(cluster: EtcdCluster | undefined, type: string): boolean {
  const { metadata, status } = cluster ?? {};
  if (status?.observedGeneration !== metadata?.generation) return false;
  return status?.conditions?.some((one) => one.type === type && one.status === "True") ?? false;
}
