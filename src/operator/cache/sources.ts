/**
 * From changes of objects to the clusters that have to be looked at. What we wrote ourselves into a status wakes
 * nobody: a cluster at rest must stay at rest (I7).
 */
import type { ObjectMeta } from "kubernetes-types/meta/v1.d.ts";
import { source, type Source } from "../../kube/controller.ts";
import type { KubeObject } from "../../kube/resources.ts";
import type { Store } from "../../kube/store.ts";
import { isLost } from "../observe/node-facts.ts";
import { clusterKeys, type Kind } from "../kinds.ts";
import type { Stores } from "./stores.ts";

export function clusterSources(stores: Stores): Source[] {
  return [...stores.sources().map(({ kind, store }) => kindSource(kind, store)), nodeSource(stores)];
}

function kindSource({ clusters, wakes, ifRefused }: Kind, store: Store<KubeObject, "cluster">): Source {
  const toKeys = clusters ?? (() => []);
  const made = wakes === "Intent" ? intentSource(store, toKeys) : source(store, toKeys);
  // What may never come is not waited for; it wakes its clusters when it comes.
  return ifRefused === undefined ? made : { ...made, whenSynced: () => Promise.resolve() };
}

/** An object of which only the status tells nothing new to us. */
function intentSource<T extends KubeObject>(
  store: Pick<Store<T>, "whenSynced" | "list" | "onChange">,
  toKeys: (object: T) => string[],
): Source {
  const intents: typeof store = {
    whenSynced: (signal) => store.whenSynced(signal),
    list: () => store.list(),
    onChange: (listener) =>
      store.onChange((change) => {
        if (!isSameIntent(change.before, change.after)) listener(change);
      }),
  };
  return source(intents, toKeys);
}

function isSameIntent(before: KubeObject | undefined, after: KubeObject | undefined): boolean {
  if (before === undefined || after === undefined) return false;
  return intent(before.metadata ?? {}) === intent(after.metadata ?? {});
}

/** The generation counts changes of the spec. */
function intent(metadata: Partial<ObjectMeta> | object): string {
  const { uid, generation, labels, annotations, ownerReferences, finalizers, deletionTimestamp } =
    metadata as Partial<ObjectMeta>;
  return JSON.stringify([
    uid,
    generation,
    labels,
    annotations,
    ownerReferences,
    finalizers,
    deletionTimestamp,
  ]);
}

/** A node that was lost, or came back: whose Pods were on it is looked at. */
function nodeSource(stores: Stores): Source {
  return {
    // Nodes are optional, and no cluster comes from them.
    whenSynced: () => Promise.resolve(),
    keys: () => [],
    listen: (wake) =>
      stores.nodes.onChange(({ key, before, after }) => {
        if (isLost(before) === isLost(after)) return;
        for (const pod of stores.podsOn(key)) for (const cluster of clusterKeys(pod)) wake(cluster);
      }),
  };
}
