/**
 * Stands for the nodes of many Pods: nodes that stay ready, and Pods that run as soon as they are made, as the API
 * server's objects tell it. Nothing runs.
 */
import type { Pod } from "kubernetes-types/core/v1.d.ts";
import type { Client, KubeObject } from "../../testbed/client.ts";
import { watchObjects, type Watched } from "../../testbed/watch.ts";

const NODES = ["node-a", "node-b", "node-c"];
const LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";
const RENEW_MS = 2_000;

export class ManyPods {
  readonly #client: Client;
  /** Where all of them are. */
  readonly #address: string;
  #pods: Watched<Pod & KubeObject> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #placed = 0;
  /** Of Pods that did not come to run. */
  readonly failures: string[] = [];

  constructor(client: Client, address: string) {
    this.#client = client;
    this.#address = address;
  }

  async start(): Promise<void> {
    await this.#client.create("/apis/storage.k8s.io/v1/storageclasses", {
      apiVersion: "storage.k8s.io/v1",
      kind: "StorageClass",
      metadata: { name: "standard", annotations: { "storageclass.kubernetes.io/is-default-class": "true" } },
      provisioner: "kubernetes.io/no-provisioner",
      volumeBindingMode: "WaitForFirstConsumer",
    });
    for (const name of NODES) await this.#node(name);
    this.#timer = setInterval(() => void this.#renew(), RENEW_MS);
    this.#pods = watchObjects<Pod & KubeObject>({
      client: this.#client,
      path: "/api/v1/pods",
      changed: (now) => {
        if (now && !now.spec?.nodeName && !now.metadata?.deletionTimestamp)
          this.#run(now).catch((error: unknown) => void this.failures.push(String(error)));
      },
    });
    await this.#pods.synced;
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#pods?.stop();
  }

  async #node(name: string): Promise<void> {
    const labels = { "kubernetes.io/hostname": name };
    await this.#client.create("/api/v1/nodes", {
      apiVersion: "v1",
      kind: "Node",
      metadata: { name, labels },
    });
    await this.#client.create(LEASES, {
      apiVersion: "coordination.k8s.io/v1",
      kind: "Lease",
      metadata: { name, namespace: "kube-node-lease" },
      spec: { holderIdentity: name, leaseDurationSeconds: 40, renewTime: microTime() },
    });
    const now = new Date().toISOString();
    const ready = { type: "Ready", status: "True", reason: "KubeletReady", message: "it stands for a node" };
    const conditions = [{ ...ready, lastHeartbeatTime: now, lastTransitionTime: now }];
    await this.#client.patch(`/api/v1/nodes/${name}/status`, { status: { conditions } });
  }

  async #renew(): Promise<void> {
    const patch = { spec: { renewTime: microTime() } };
    await Promise.allSettled(NODES.map((name) => this.#client.patch(`${LEASES}/${name}`, patch)));
  }

  async #run({ metadata = {}, spec }: Pod & KubeObject): Promise<void> {
    const path = `/api/v1/namespaces/${metadata.namespace}/pods/${metadata.name}`;
    await this.#client.create(`${path}/binding`, {
      apiVersion: "v1",
      kind: "Binding",
      metadata: { name: metadata.name },
      target: { apiVersion: "v1", kind: "Node", name: NODES[this.#placed++ % NODES.length] },
    });
    const now = new Date().toISOString();
    const types = ["PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled"];
    await this.#client.patch(`${path}/status`, {
      status: {
        phase: "Running",
        podIP: this.#address,
        podIPs: [{ ip: this.#address }],
        startTime: now,
        conditions: types.map((type) => ({ type, status: "True", lastTransitionTime: now })),
        containerStatuses: spec?.containers.map(({ name, image = "" }) => ({
          name,
          image,
          imageID: `${image}@sha256:${"5".repeat(64)}`,
          containerID: `containerd://${"c".repeat(64)}`,
          ready: true,
          started: true,
          restartCount: 0,
          state: { running: { startedAt: now } },
        })),
      },
    });
  }
}

function microTime(): string {
  return new Date().toISOString().replace("Z", "000Z");
}
