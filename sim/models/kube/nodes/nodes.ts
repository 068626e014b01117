/**
 * A cluster around the model API server: nodes with kubelets, a scheduler, volumes, and the controllers that look
 * after Pods. The knobs are what can happen to nodes, Pods and disks.
 */
import { Hand, type Surround } from "../controllers.ts";
import { GarbageCollector } from "../garbage.ts";
import { pods } from "../kinds/pod.ts";
import { nodes, storageClasses } from "../kinds/simple.ts";
import { NamespaceController } from "../namespaces.ts";
import { json, type Json, type KubeJson } from "../object.ts";
import { DisruptionController } from "./disruption.ts";
import type { Hooks } from "./hooks.ts";
import { Kubelet } from "./kubelet.ts";
import { NodeLifecycle } from "./lifecycle.ts";
import { Mounts } from "./mounts.ts";
import { ModelNodeClocks } from "./node-clocks.ts";
import { nodeOf } from "./placing.ts";
import { PodScheduler } from "./pod-scheduler.ts";
import { OUT_OF_SERVICE, taints } from "./taints.ts";
import { VolumeController } from "./volume-controller.ts";

export interface NodesOptions extends Surround {
  readonly hooks: Hooks;
  /** Their names; each is in a zone of its own. */
  readonly nodes: readonly string[];
  /** How long a node may be silent before it counts as lost. */
  readonly graceMs?: number;
}

/** As often as nodes tell of themselves whose kubelets are set to notice a loss that soon. */
const HEARTBEAT_MS = 10_000;
const DEFAULT_CLASS = { "storageclass.kubernetes.io/is-default-class": "true" };

export class ModelNodes {
  readonly volumes: VolumeController;
  readonly clocks: ModelNodeClocks;
  readonly #options: NodesOptions;
  readonly #hand: Hand;
  readonly #kubelets = new Map<string, Kubelet>();
  readonly #lifecycle: NodeLifecycle;
  readonly #mounts: Mounts;

  constructor(options: NodesOptions) {
    this.#options = options;
    const { server, hooks, graceMs } = options;
    this.#hand = new Hand(server, "cluster");
    this.#mounts = new Mounts(server);
    this.clocks = new ModelNodeClocks(() => server.now());
    this.clocks.onSet = () => this.#beginHeartbeats();
    this.volumes = new VolumeController(options, (disk) => hooks.onDiskGone?.(disk));
    this.#lifecycle = new NodeLifecycle({
      ...options,
      clocks: this.clocks,
      isHeard: (name) => this.#kubelets.get(name)?.isHeard ?? false,
      ...(graceMs !== undefined && { graceMs }),
    });
    new GarbageCollector(options);
    new NamespaceController(options);
    new DisruptionController(options);
    this.#storageClasses();
    for (const name of options.nodes) this.add(name);
    new PodScheduler(options);
  }

  #beats = false;

  /** Where all clocks agree nobody learns anything from them: those runs are spared the events. */
  #beginHeartbeats(): void {
    if (this.#beats) return;
    this.#beats = true;
    const beat = () => {
      for (const name of this.#kubelets.keys()) this.#lifecycle.beat(name);
      this.#options.scheduler.after(HEARTBEAT_MS, beat);
    };
    beat();
  }

  /** From then on kubelets report a change of a Pod this long before they write its files. */
  writeFilesAfter(ms?: number): void {
    for (const kubelet of this.#kubelets.values()) kubelet.writeFilesAfter(ms);
  }

  /** `standard` follows its Pod to any node, `local` does not; `fixed` cannot grow. */
  #storageClasses(): void {
    const provisioner = "model.example/disks";
    const make = (name: string, rest: Json, annotations?: Json) =>
      this.#hand.create(storageClasses, {
        metadata: { name, ...(annotations && { annotations }) },
        provisioner,
        ...rest,
      });
    const waiting = { volumeBindingMode: "WaitForFirstConsumer" };
    make("standard", { ...waiting, allowVolumeExpansion: true }, DEFAULT_CLASS);
    make("immediate", { allowVolumeExpansion: true });
    make("retain", { ...waiting, allowVolumeExpansion: true, reclaimPolicy: "Retain" });
    make("fixed", waiting);
    make("local", { ...waiting, allowVolumeExpansion: true, parameters: { bound: "node" } });
  }

  add(name: string): void {
    const index = this.#kubelets.size + 1;
    const labels = {
      "kubernetes.io/hostname": name,
      "topology.kubernetes.io/zone": `zone-${String.fromCharCode(96 + index)}`,
    };
    const { server, scheduler, random, lagMs, hooks } = this.#options;
    this.#kubelets.set(
      name,
      new Kubelet({
        server,
        scheduler,
        random,
        ...(lagMs && { lagMs }),
        hooks,
        name,
        index,
        mounts: this.#mounts,
        now: () => this.clocks.now(name),
      }),
    );
    this.#hand.create(nodes, { metadata: { name, labels } });
    this.#lifecycle.changed(name);
  }

  kubelet(name: string): Kubelet {
    const found = this.#kubelets.get(name);
    if (!found) throw new RangeError(`there is no node ${name}`);
    return found;
  }

  get names(): readonly string[] {
    return [...this.#kubelets.keys()];
  }

  #turn(name: string, how: (kubelet: Kubelet) => void): void {
    how(this.kubelet(name));
    this.#lifecycle.changed(name);
  }

  /** Power loss: every process is gone, memory too. */
  crash(name: string): void {
    this.#turn(name, (kubelet) => kubelet.crash());
  }

  boot(name: string): void {
    this.#turn(name, (kubelet) => kubelet.boot());
  }

  /** Everything on it stands still. */
  freeze(name: string): void {
    this.#turn(name, (kubelet) => kubelet.freeze());
  }

  thaw(name: string): void {
    this.#turn(name, (kubelet) => kubelet.thaw());
  }

  /** It runs on and cannot reach the API server; what else it cannot reach is the network's model's business. */
  cut(name: string): void {
    this.#turn(name, (kubelet) => kubelet.cut());
  }

  heal(name: string): void {
    this.#turn(name, (kubelet) => kubelet.heal());
  }

  /** It never comes back, and somebody says so by deleting it. */
  remove(name: string): void {
    this.kubelet(name).crash();
    this.#kubelets.delete(name);
    this.#hand.delete(nodes, name);
  }

  /** A person declares that nothing runs there any more. */
  declareOutOfService(name: string): void {
    const taint = { key: OUT_OF_SERVICE, value: "nodeshutdown", effect: "NoExecute" };
    this.#hand.change(nodes, name, (node) => ({
      ...node,
      spec: { ...json(node["spec"]), taints: [...taints(node), taint] },
    }));
  }

  cordon(name: string, unschedulable = true): void {
    this.#hand.change(nodes, name, (node) => ({ ...node, spec: { ...json(node["spec"]), unschedulable } }));
  }

  /** Asks each Pod to go through its budget; the keys of those that may not go yet. */
  drain(name: string): readonly string[] {
    this.cordon(name);
    const { server } = this.#options;
    const refused: string[] = [];
    for (const pod of this.podsOn(name)) {
      const { namespace, name: of } = pod.metadata;
      const body = { apiVersion: "policy/v1", kind: "Eviction", metadata: { name: of, namespace } };
      const path = `/api/v1/namespaces/${namespace}/pods/${of}/eviction`;
      if (server.handle({ method: "POST", path, body }).status >= 300) refused.push(`${namespace}/${of}`);
    }
    return refused;
  }

  /** The kubelet ends a Pod to save its node. */
  evict(key: string, message = "The node was low on resource: memory."): void {
    const pod = this.#options.server.get(pods, key);
    const node = pod && nodeOf(pod);
    if (node !== undefined) this.#kubelets.get(node)?.evict(key, message);
  }

  podsOn(name: string): readonly KubeJson[] {
    return this.#options.server.list(pods).filter((pod) => nodeOf(pod) === name);
  }
}
