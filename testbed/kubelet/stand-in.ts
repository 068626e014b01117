/**
 * The stand-in kubelet: a test tool that runs the Pods of its nodes as processes of this machine. It watches, and
 * gives each Pod a worker; everything else is the workers' business.
 */
import { existsSync, mkdirSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import type {
  ConfigMap,
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  Secret,
  Service,
} from "kubernetes-types/core/v1.d.ts";
import type { Client, KubeObject } from "../client.ts";
import { endOwned } from "../processes.ts";
import { dnsAddress } from "../state.ts";
import type { OwnBed } from "../state.ts";
import { watchObjects } from "../watch.ts";
import type { Watched } from "../watch.ts";
import { serveDns } from "./dns.ts";
import { images } from "./images.ts";
import { clusterNames, hostLines } from "./names.ts";
import { StandInNode } from "./node.ts";
import { PodWorker } from "./pod-worker.ts";
import { directories, Storage } from "./storage.ts";
import { identity } from "./world.ts";
import type { World } from "./world.ts";

const REFRESH_MS = 20;

export class StandIn {
  readonly nodes = new Map<string, StandInNode>();
  readonly workers = new Map<string, PodWorker>();
  readonly storage: Storage;
  readonly #world: World;
  readonly #pods: Watched<Pod>;
  readonly #others: Watched<KubeObject>[];
  #hasDns = false;
  #refreshing: NodeJS.Timeout | undefined;

  constructor(
    client: Client,
    bed: OwnBed,
    paths: { dir: string; kubelet: string },
    log: (line: string) => void,
  ) {
    const failed = (error: unknown) => log(`watch: ${(error as Error).message}`);
    const watch = <T extends KubeObject>(
      path: string,
      changed: (now: T | undefined, before: T | undefined) => void,
    ) => watchObjects<T>({ client, path, changed, failed });
    const refresh = () => this.#refreshSoon();
    const services = watch<Service>("/api/v1/services", refresh);
    const secrets = watch<Secret>("/api/v1/secrets", refresh);
    const configMaps = watch<ConfigMap>("/api/v1/configmaps", refresh);
    const claims = watch<PersistentVolumeClaim>("/api/v1/persistentvolumeclaims", (now) =>
      this.storage.claimChanged(now),
    );
    const volumes = watch<PersistentVolume>("/api/v1/persistentvolumes", (now) =>
      this.storage.volumeChanged(now),
    );
    const disks = directories(join(paths.kubelet, "volumes"));
    this.storage = new Storage(client, disks, () => claims.objects, log);
    this.#pods = watch<Pod>("/api/v1/pods", (now, before) => this.#podChanged(now, before));
    this.#others = [services, secrets, configMaps, claims, volumes];
    this.#world = {
      client,
      bed,
      log,
      dir: paths.kubelet,
      bedDir: paths.dir,
      images: images(bed.name),
      pods: this.#pods.objects,
      services: services.objects,
      secrets: secrets.objects,
      configMaps: configMaps.objects,
      claimDir: (namespace, claim) => {
        const found = this.storage.volumeOf(namespace, claim);
        return "waiting" in found ? found : { dir: disks.localPath(found.volume) };
      },
      nameserver: () => (this.#hasDns ? dnsAddress(bed.slot) : undefined),
      hostLines: () => hostLines(this.names()),
    };
  }

  async start(): Promise<void> {
    const { client, bed, dir, bedDir, log } = this.#world;
    mkdirSync(join(dir, "rootfs"), { recursive: true });
    // A former stand-in's containers: their parent is gone, and nobody would hear of their end.
    await endOwned(bedDir, (p) => p.role.startsWith("container "));
    const dns = await serveDns(dnsAddress(bed.slot), (name) => this.names().get(name));
    this.#hasDns = dns !== undefined;
    if (!dns) log("no name server on port 53: names of Pods go into /etc/hosts, which etcd reads every 5 s");
    await this.storage.register();
    await Promise.all([...this.#others, this.#pods].map((watched) => watched.synced));
    this.#forgetLostPods();
    for (let index = 1; index <= bed.options.processNodes; index++) {
      const node = new StandInNode(client, bed, index, log);
      await node.register();
      void node.heartbeat();
      this.nodes.set(node.name, node);
    }
    for (const pod of this.#pods.objects.values()) this.#podChanged(pod, undefined);
  }

  names(): Map<string, string[]> {
    const named = [...this.workers.values()].map((worker) => ({
      pod: worker.pod,
      ip: worker.podIP,
      ready: worker.main.every((life) => life.ready),
    }));
    return clusterNames(this.#world.services.values(), named);
  }

  worker(namespace: string, name: string): PodWorker | undefined {
    const uid = this.#pods.objects.get(`${namespace}/${name}`)?.metadata?.uid;
    return uid ? this.workers.get(uid) : undefined;
  }

  /** Power loss of a node. Its Pods stay as they were in the API until others notice. */
  async crash(node: StandInNode): Promise<void> {
    node.alive = false;
    const lost = [...this.workers].filter(([, worker]) => worker.pod.spec?.nodeName === node.name);
    for (const [uid] of lost) this.workers.delete(uid);
    await Promise.all(lost.map(([, worker]) => worker.crash()));
  }

  async powerOn(node: StandInNode): Promise<void> {
    this.#forgetLostPods();
    await node.comeBack();
    for (const pod of this.#pods.objects.values()) {
      if (pod.spec?.nodeName === node.name) this.#podChanged(pod, undefined);
    }
  }

  #podChanged(now: Pod | undefined, before: Pod | undefined): void {
    const oldUid = before?.metadata?.uid;
    if (oldUid && oldUid !== now?.metadata?.uid) {
      // Deleted by force, or it was ours to delete and we did.
      const worker = this.workers.get(oldUid);
      if (worker) this.#finish(oldUid, worker.end(true));
    }
    const node = now && this.nodes.get(now.spec?.nodeName ?? "");
    if (!now || !node?.alive) return;
    const { uid } = identity(now);
    let worker = this.workers.get(uid);
    if (worker) worker.update(now);
    else {
      if (["Succeeded", "Failed"].includes(now.status?.phase ?? "") && !now.metadata?.deletionTimestamp)
        return;
      const taken = new Set([...this.workers.values()].map((w) => w.podIP));
      worker = new PodWorker(this.#world, now, node.nextPodIP(taken), node.address);
      this.workers.set(uid, worker);
      this.#refreshSoon();
    }
    if (now.metadata?.deletionTimestamp) this.#finish(uid, worker.end());
  }

  #finish(uid: string, ended: Promise<void>): void {
    const forget = () => {
      this.workers.delete(uid);
      this.#refreshSoon();
    };
    ended.then(forget, (error: unknown) => {
      this.#world.log(`ending Pod ${uid}: ${(error as Error).stack}`);
      forget();
    });
  }

  /** Directories of Pods that went while nobody looked. */
  #forgetLostPods(): void {
    const dir = join(this.#world.dir, "pods");
    if (!existsSync(dir)) return;
    const known = new Set([...this.#pods.objects.values()].map((pod) => pod.metadata?.uid));
    for (const uid of readdirSync(dir)) {
      if (!known.has(uid) && !this.workers.has(uid)) rmSync(join(dir, uid), { recursive: true, force: true });
    }
  }

  /** Files and names follow what they come from; several changes at once make one pass. */
  #refreshSoon(): void {
    if (this.#refreshing) return;
    this.#refreshing = setTimeout(() => {
      this.#refreshing = undefined;
      for (const worker of this.workers.values()) worker.refresh();
    }, REFRESH_MS);
  }
}
