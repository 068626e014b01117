/** The scheduler: places Pods that have no node, says why it cannot, and chooses where a volume is to be made. */
import { Hand, Later, type Surround } from "../controllers.ts";
import { claims } from "../kinds/claim.ts";
import { pods } from "../kinds/pod.ts";
import { nodes, storageClasses, volumes } from "../kinds/simple.ts";
import { items, json, type KubeJson } from "../object.ts";
import { put } from "../write.ts";
import { withCondition } from "./conditions.ts";
import { nodeOf, obstacle, score, type Scene } from "./placing.ts";
import { nodeOfVolume, SELECTED_NODE } from "./volume-objects.ts";

/** What can make a Pod placeable that was not. */
const AWAITED = new Set([pods, nodes, claims, volumes, storageClasses]);

export class PodScheduler {
  readonly #around: Surround;
  readonly #hand: Hand;
  readonly #later: Later;
  readonly #waiting = new Set<string>();

  constructor(around: Surround) {
    this.#around = around;
    this.#hand = new Hand(around.server, "kube-scheduler");
    this.#later = new Later(around, (key) => this.#place(key));
    around.server.storage.onChange(({ kind, key, type, after }) => {
      if (!AWAITED.has(kind)) return;
      if (kind === pods && type !== "DELETED" && isWaiting(after.object)) this.#waiting.add(key);
      else if (kind === pods) this.#waiting.delete(key);
      for (const waiting of this.#waiting) this.#later.wake(waiting);
    });
  }

  #place(key: string): void {
    const { server } = this.#around;
    const pod = server.get(pods, key);
    if (!pod || !isWaiting(pod)) return;
    const gates = items(json(pod["spec"])["schedulingGates"]);
    if (gates.length > 0) return;
    const all = server.list(nodes);
    const placed = server.list(pods).filter((other) => nodeOf(other) !== undefined && !hasEnded(other));
    const scene: Scene = { nodes: all, placed };
    const needs = this.#volumeNeeds(pod);
    if (typeof needs === "string") return this.#refuse(key, `0/${all.length} nodes are available: ${needs}.`);
    const reasons = new Map<string, number>();
    const possible = all.filter((node) => {
      const bound = needs.bound !== undefined && needs.bound !== node.metadata.name;
      const why = bound ? "had volume node affinity conflict" : obstacle(pod, node, scene);
      if (why !== undefined) reasons.set(why, (reasons.get(why) ?? 0) + 1);
      return why === undefined;
    });
    if (possible.length === 0) {
      const reported = [...reasons].map(([why, count]) => `${count} node(s) ${why}`).join(", ");
      return this.#refuse(key, `0/${all.length} nodes are available: ${reported || "no nodes"}.`);
    }
    const ranked = possible.map((node) => ({ node, points: score(pod, node, scene) }));
    const best = Math.max(...ranked.map(({ points }) => points));
    const { node } = this.#around.random.pick(ranked.filter(({ points }) => points === best));
    if (needs.unbound.length > 0) {
      // The Pod is bound when its volumes are; until then the choice is kept on the claims.
      for (const claim of needs.unbound) this.#select(claim, node.metadata.name);
      return;
    }
    this.#bind(key, node.metadata.name);
  }

  /** Claims that wait for this choice, and the node that a volume is on; a reason when some are not there yet. */
  #volumeNeeds(pod: KubeJson): { unbound: readonly string[]; bound: string | undefined } | string {
    const { server } = this.#around;
    const unbound: string[] = [];
    let bound: string | undefined;
    for (const { persistentVolumeClaim } of items(json(pod["spec"])["volumes"])) {
      if (persistentVolumeClaim === undefined) continue;
      const name = String(json(persistentVolumeClaim)["claimName"]);
      const key = `${pod.metadata.namespace}/${name}`;
      const claim = server.get(claims, key);
      if (!claim) return `persistentvolumeclaim "${name}" not found`;
      if (claim.metadata.deletionTimestamp !== undefined)
        return `persistentvolumeclaim "${name}" is being deleted`;
      if (json(claim["status"])["phase"] === "Lost")
        return `persistentvolumeclaim "${name}" bound to non-existent persistentvolume`;
      const volume = json(claim["spec"])["volumeName"];
      if (volume !== undefined) {
        if (json(claim["status"])["phase"] !== "Bound")
          return `persistentvolumeclaim "${name}" is not bound to its volume yet`;
        const found = server.get(volumes, String(volume));
        bound = (found && nodeOfVolume(found)) ?? bound;
        continue;
      }
      const className = json(claim["spec"])["storageClassName"];
      const storageClass =
        className === undefined ? undefined : server.get(storageClasses, String(className));
      if (storageClass?.["volumeBindingMode"] !== "WaitForFirstConsumer")
        return "pod has unbound immediate PersistentVolumeClaims";
      unbound.push(key);
      bound = claim.metadata.annotations?.[SELECTED_NODE] ?? bound;
    }
    return { unbound, bound };
  }

  #select(key: string, node: string): void {
    this.#hand.change(claims, key, (claim) => ({
      ...claim,
      metadata: { ...claim.metadata, annotations: { ...claim.metadata.annotations, [SELECTED_NODE]: node } },
    }));
  }

  /** A Pod's node is set once, by a way of its own. */
  #bind(key: string, nodeName: string): void {
    const { server } = this.#around;
    const old = server.storage.get(pods, key);
    if (!old) return;
    const { object } = old;
    const status = json(object["status"]);
    const scheduled = { type: "PodScheduled", status: "True" };
    const conditions = withCondition(status["conditions"], scheduled, server.surroundings.now());
    const next: KubeJson = {
      ...object,
      spec: { ...json(object["spec"]), nodeName },
      status: { ...status, conditions },
    };
    put(server, pods, old, next, () => old.managers);
  }

  #refuse(key: string, message: string): void {
    const now = this.#around.server.surroundings.now();
    const condition = { type: "PodScheduled", status: "False", reason: "Unschedulable", message };
    this.#hand.changeStatus(pods, key, ({ status }) => ({
      ...json(status),
      conditions: withCondition(json(status)["conditions"], condition, now),
    }));
  }
}

function isWaiting(pod: KubeJson): boolean {
  return nodeOf(pod) === undefined && pod.metadata.deletionTimestamp === undefined && !hasEnded(pod);
}

function hasEnded(pod: KubeJson): boolean {
  return ["Failed", "Succeeded"].includes(String(json(pod["status"])["phase"]));
}
