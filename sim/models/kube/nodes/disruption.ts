/** Disruption budgets: how many of the Pods they select may go just now, written to their status. */
import { Hand, Later, type Surround } from "../controllers.ts";
import { kindNamed } from "../kinds/all.ts";
import { pods } from "../kinds/pod.ts";
import { budgets } from "../kinds/simple.ts";
import { items, json, type Json, type KubeJson } from "../object.ts";
import type { ModelServer } from "../server.ts";
import { selectsLabels } from "../workload.ts";

export class DisruptionController {
  readonly #server: ModelServer;

  constructor(around: Surround) {
    const { server } = around;
    this.#server = server;
    const hand = new Hand(server, "kube-controller-manager");
    const later = new Later(around, (key) => {
      hand.changeStatus(budgets, key, (budget) => ({
        ...json(budget["status"]),
        ...this.#counts(budget),
        observedGeneration: budget.metadata.generation,
        disruptedPods: undefined,
      }));
    });
    server.storage.onChange(({ kind, key, type, after }) => {
      if (kind === budgets && type !== "DELETED") later.wake(key);
      if (kind !== pods) return;
      for (const { metadata } of server.list(budgets))
        if (metadata.namespace === after.object.metadata.namespace)
          later.wake(`${metadata.namespace}/${metadata.name}`);
    });
  }

  #counts(budget: KubeJson): Json {
    const { minAvailable, maxUnavailable, selector } = json(budget["spec"]);
    const { namespace } = budget.metadata;
    const selected = this.#server
      .list(pods)
      .filter(({ metadata }) => metadata.namespace === namespace && selectsLabels(selector, metadata.labels));
    const currentHealthy = selected.filter(
      (pod) => isReady(pod) && pod.metadata.deletionTimestamp === undefined,
    ).length;
    // A plain number is held against the Pods there are; anything else against how many there should be.
    const isPlain = maxUnavailable === undefined && !String(minAvailable ?? 0).endsWith("%");
    const expectedPods = isPlain ? selected.length : this.#wanted(selected);
    if (expectedPods === undefined) return { disruptionsAllowed: 0 };
    const desiredHealthy =
      maxUnavailable === undefined
        ? share(minAvailable ?? 0, expectedPods)
        : Math.max(0, expectedPods - share(maxUnavailable, expectedPods));
    const disruptionsAllowed = Math.max(0, currentHealthy - desiredHealthy);
    return { expectedPods, currentHealthy, desiredHealthy, disruptionsAllowed };
  }

  /** The sum of what their controllers want; unknown when one of them has no scale, and then nothing may go. */
  #wanted(selected: readonly KubeJson[]): number | undefined {
    const owners = new Map<string, number>();
    for (const { metadata } of selected) {
      const owner = metadata.ownerReferences?.find(({ controller }) => controller === true);
      const kind = owner && kindNamed(owner.apiVersion, owner.kind);
      const found = kind?.hasScale
        ? this.#server.get(kind, `${metadata.namespace}/${owner?.name}`)
        : undefined;
      if (!found) return undefined;
      owners.set(found.metadata.uid, Number(json(found["spec"])["replicas"] ?? 0));
    }
    return [...owners.values()].reduce((sum, one) => sum + one, 0);
  }
}

function isReady(pod: KubeJson): boolean {
  return items(json(pod["status"])["conditions"]).some(
    ({ type, status }) => type === "Ready" && status === "True",
  );
}

/** A number, or a part of all, rounded up. */
function share(value: unknown, all: number): number {
  const text = String(value);
  return text.endsWith("%") ? Math.ceil((Number(text.slice(0, -1)) / 100) * all) : Number(text);
}
