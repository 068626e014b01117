/**
 * A node that the stand-in presents: its Node object, its heartbeat, and the addresses of its Pods.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { Node } from "kubernetes-types/core/v1.d.ts";
import type { Client } from "../client.ts";
import { isCode, MERGE_PATCH } from "../client.ts";
import type { OwnBed } from "../state.ts";

const ZONES = "abcdefghi";
const MICRO = (date: Date) => date.toISOString().replace("Z", "000Z");

export class StandInNode {
  readonly name: string;
  readonly address: string;
  alive = true;
  readonly #client: Client;
  readonly #bed: OwnBed;
  readonly #index: number;
  readonly #log: (line: string) => void;
  #lastAddress = 9;

  /** `index` counts from 1. */
  constructor(client: Client, bed: OwnBed, index: number, log: (line: string) => void) {
    this.#client = client;
    this.#bed = bed;
    this.#index = index;
    this.#log = log;
    this.name = `node-${index}`;
    this.address = `127.${bed.slot}.${index}.1`;
  }

  /** A new address for each Pod; one comes round again only after all others. */
  nextPodIP(taken: ReadonlySet<string>): string {
    for (let tries = 0; tries < 240; tries++) {
      this.#lastAddress = this.#lastAddress >= 249 ? 10 : this.#lastAddress + 1;
      const ip = `127.${this.#bed.slot}.${this.#index}.${this.#lastAddress}`;
      if (!taken.has(ip)) return ip;
    }
    throw new Error(`${this.name} has no address left`);
  }

  async register(): Promise<void> {
    const node = this.#object();
    try {
      await this.#client.create("/api/v1/nodes", node);
    } catch (error) {
      if (!isCode(error, 409)) throw error;
    }
    // Through the status: on creation the API server ignores it.
    await this.#client.patch(`/api/v1/nodes/${this.name}/status`, { status: node.status }, MERGE_PATCH);
    await this.#renewLease();
  }

  /** Renews the lease until the process ends; a node without power renews nothing. */
  async heartbeat(): Promise<never> {
    const period = this.#bed.options.detection === "quick" ? 2000 : 10_000;
    for (;;) {
      await sleep(period);
      if (!this.alive) continue;
      await this.#renewLease()
        .then(() => this.#stayReady())
        .catch((error: unknown) => this.#log(`${this.name}: lease: ${(error as Error).message}`));
    }
  }

  /** Taken for dead while the API server or this process was held up: a lease alone does not make it ready again. */
  async #stayReady(): Promise<void> {
    const { status } = await this.#client.get<Node>(`/api/v1/nodes/${this.name}`);
    const ready = status?.conditions?.find(({ type }) => type === "Ready");
    if (ready?.status !== "True" && this.alive) await this.register();
  }

  /** Back after a loss of power: says so at once, as a kubelet does when it starts. */
  async comeBack(): Promise<void> {
    this.alive = true;
    await this.register();
  }

  async #renewLease(): Promise<void> {
    const renewTime = MICRO(new Date());
    await this.#client.apply(
      `/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/${this.name}`,
      {
        apiVersion: "coordination.k8s.io/v1",
        kind: "Lease",
        metadata: { name: this.name, namespace: "kube-node-lease" },
        spec: { holderIdentity: this.name, leaseDurationSeconds: 40, renewTime },
      },
      "kubelet",
    );
  }

  #object(): Node {
    const now = new Date().toISOString();
    const resources = { cpu: "8", memory: "32Gi", pods: "110", "ephemeral-storage": "100Gi" };
    const condition = (type: string, status: string, reason: string) => ({
      type,
      status,
      reason,
      message: "",
      lastHeartbeatTime: now,
      lastTransitionTime: now,
    });
    return {
      apiVersion: "v1",
      kind: "Node",
      metadata: {
        name: this.name,
        labels: {
          "kubernetes.io/hostname": this.name,
          "kubernetes.io/os": "linux",
          "kubernetes.io/arch": process.arch === "x64" ? "amd64" : process.arch,
          "topology.kubernetes.io/region": "local",
          "topology.kubernetes.io/zone": `zone-${ZONES[this.#index - 1]}`,
        },
      },
      status: {
        capacity: resources,
        allocatable: resources,
        addresses: [
          { type: "InternalIP", address: this.address },
          { type: "Hostname", address: this.name },
        ],
        conditions: [
          condition("Ready", "True", "KubeletReady"),
          condition("MemoryPressure", "False", "KubeletHasSufficientMemory"),
          condition("DiskPressure", "False", "KubeletHasNoDiskPressure"),
          condition("PIDPressure", "False", "KubeletHasSufficientPID"),
        ],
        nodeInfo: {
          architecture: process.arch === "x64" ? "amd64" : process.arch,
          bootID: "",
          containerRuntimeVersion: "process://1",
          kernelVersion: "",
          kubeProxyVersion: "",
          kubeletVersion: "v1.36.4-stand-in",
          machineID: this.name,
          operatingSystem: "linux",
          osImage: "stand-in",
          systemUUID: this.name,
        },
      },
    };
  }
}
