/**
 * What the control plane does about nodes: says that one is not heard of, taints it, deletes its Pods when their
 * patience is over, and clears away Pods of nodes that are gone or declared out of service.
 */
import { Hand, Later, type Surround } from "../controllers.ts";
import { pods } from "../kinds/pod.ts";
import { nodes } from "../kinds/simple.ts";
import { items, json, timestamp, type Json, type KubeJson } from "../object.ts";
import { conditionOf, withCondition } from "./conditions.ts";
import type { ModelNodeClocks } from "./node-clocks.ts";
import { nodeOf } from "./placing.ts";
import { hasTaint, NOT_READY, OUT_OF_SERVICE, staysMs, taints, UNREACHABLE } from "./taints.ts";

export interface LifecycleOptions extends Surround {
  /** Whether the kubelet of a node can be heard. */
  readonly isHeard: (node: string) => boolean;
  /** After how long of silence a node counts as lost. */
  readonly graceMs?: number;
  readonly clocks: ModelNodeClocks;
}

const GRACE_MS = 40_000;
/** Pods of a node that does not exist are cleared away after this long. */
const ORPHAN_MS = 60_000;

export class NodeLifecycle {
  readonly #options: LifecycleOptions;
  readonly #hand: Hand;
  readonly #later: Later;

  constructor(options: LifecycleOptions) {
    this.#options = options;
    this.#hand = new Hand(options.server, "kube-controller-manager");
    this.#later = new Later(options, (name) => this.#sweep(name));
    options.server.storage.onChange(({ kind, key, type, after }) => {
      if (kind === nodes) this.#later.wake(key, type === "DELETED" ? ORPHAN_MS : 0);
      const node = kind === pods && type !== "DELETED" ? nodeOf(after.object) : undefined;
      if (node !== undefined && after.object.metadata.deletionTimestamp !== undefined) this.#later.wake(node);
    });
  }

  /** To be called when a node became silent, or spoke again. */
  changed(name: string): void {
    const { scheduler, isHeard, graceMs = GRACE_MS } = this.#options;
    if (isHeard(name)) {
      scheduler.after(500, () => isHeard(name) && this.#tell(name, "True"));
      return;
    }
    const silentSince = scheduler.now;
    this.#silent.set(name, silentSince);
    scheduler.after(graceMs, () => {
      if (!isHeard(name) && this.#silent.get(name) === silentSince) this.#tell(name, "Unknown");
    });
  }

  readonly #silent = new Map<string, number>();

  /** What a kubelet says from time to time, by its own clock, and sends at once. */
  beat(name: string): void {
    if (!this.#options.isHeard(name)) return;
    const lastHeartbeatTime = timestamp(this.#options.clocks.now(name));
    this.#hand.changeStatus(nodes, name, (node) => {
      const conditions = items(json(node["status"])["conditions"]);
      const ready = conditionOf(conditions, "Ready");
      if (ready?.["status"] !== "True") return undefined;
      const told = conditions.map((one) => (one === ready ? { ...one, lastHeartbeatTime } : one));
      return { ...json(node["status"]), conditions: told };
    });
  }

  #tell(name: string, status: "True" | "Unknown"): void {
    const now = this.#options.server.surroundings.now();
    const lost = status === "Unknown";
    const ready = lost
      ? {
          type: "Ready",
          status,
          reason: "NodeStatusUnknown",
          message: "Kubelet stopped posting node status.",
        }
      : { type: "Ready", status, reason: "KubeletReady", message: "kubelet is posting ready status" };
    const { clocks } = this.#options;
    const told = lost ? now : timestamp(clocks.now(name));
    const { lastProbeTime: _, ...condition } = withCondition([], ready, told)[0] ?? {};
    this.#hand.changeStatus(nodes, name, (node) => {
      const known = conditionOf(json(node["status"])["conditions"], "Ready");
      if (known?.["status"] === status) return undefined;
      const others = items(json(node["status"])["conditions"]).filter(({ type }) => type !== "Ready");
      return { ...json(node["status"]), conditions: [...others, { ...condition, lastHeartbeatTime: told }] };
    });
    this.#hand.change(nodes, name, (node) => {
      const others = taints(node).filter(({ key }) => key !== UNREACHABLE && key !== NOT_READY);
      const added: Json[] = lost
        ? ["NoSchedule", "NoExecute"].map((effect) => ({ key: UNREACHABLE, effect, timeAdded: now }))
        : [];
      return { ...node, spec: { ...json(node["spec"]), taints: [...others, ...added] } };
    });
  }

  #podsOf(name: string): readonly KubeJson[] {
    return this.#options.server.list(pods).filter((pod) => nodeOf(pod) === name);
  }

  #sweep(name: string): void {
    const node = this.#options.server.get(nodes, name);
    for (const pod of this.#podsOf(name)) {
      const key = `${pod.metadata.namespace}/${pod.metadata.name}`;
      const { uid, deletionTimestamp } = pod.metadata;
      if (!node || (hasTaint(node, OUT_OF_SERVICE) && deletionTimestamp !== undefined)) {
        this.#hand.delete(pods, key, { uid, gracePeriodSeconds: 0 });
        continue;
      }
      if (deletionTimestamp !== undefined) continue;
      for (const taint of taints(node))
        if (taint["effect"] === "NoExecute") this.#evictLater(key, pod, node, taint);
    }
  }

  #evictLater(key: string, { metadata: { uid } }: KubeJson, node: KubeJson, taint: Json): void {
    const { server, scheduler } = this.#options;
    const pod = server.get(pods, key);
    const waitMs = pod && staysMs(pod, taint);
    if (waitMs === undefined) return;
    const due = Date.parse(String(taint["timeAdded"] ?? "")) + waitMs;
    scheduler.after(Math.max(0, (Number.isNaN(due) ? 0 : due) - server.now()), () => {
      const now = server.get(nodes, node.metadata.name);
      const still =
        now &&
        taints(now).some((one) => one["key"] === taint["key"] && one["timeAdded"] === taint["timeAdded"]);
      const known = server.get(pods, key);
      if (!still || known?.metadata.uid !== uid || known.metadata.deletionTimestamp !== undefined) return;
      const target = {
        type: "DisruptionTarget",
        status: "True",
        reason: "DeletionByTaintManager",
        message: "Taint manager: deleting due to NoExecute taint",
      };
      this.#hand.changeStatus(pods, key, ({ status }) => ({
        ...json(status),
        conditions: withCondition(json(status)["conditions"], target, server.surroundings.now()),
      }));
      this.#hand.delete(pods, key, { uid });
    });
  }
}
