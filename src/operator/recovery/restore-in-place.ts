/**
 * Restores in place where members are Pods: the volume for the snapshot, the Pod that fetches and checks it, and what is
 * known of both. What is done when is decided in `src/core/rules/restore-in-place.ts`.
 */
import type { PersistentVolumeClaim, Pod } from "kubernetes-types/core/v1.d.ts";
import type { EtcdSnapshot } from "../../api/etcd-snapshot.ts";
import { Conflict, type PlatformMember, type PlatformState } from "../../control/platform.ts";
import type { ClusterFacts, NamedSnapshot, PlatformFacts } from "../../core/observation.ts";
import { isFinished } from "../../core/operations/status.ts";
import { isVolatile, templateFor } from "../../core/template/template.ts";
import type { View } from "../../core/view.ts";
import type { KubeClient } from "../../kube/client.ts";
import { isControlledBy, pods, refOf, type KubeObject, type Resource } from "../../kube/resources.ts";
import { deleted, nameOf, patched } from "../apply/entries.ts";
import { keepCreated } from "../apply/keep.ts";
import type { Wanted } from "../apply/wanted-object.ts";
import type { Stores } from "../cache/stores.ts";
import { ANNOTATIONS } from "../names.ts";
import {
  claimFor,
  fetchedNote,
  fetchFacts,
  isFetch,
  runningRestore,
  type FetchObjects,
} from "../observe/fetch-facts.ts";
import type { Transfers } from "../observe/job-facts.ts";
import { namedSnapshot } from "../observe/restore-source.ts";
import { fetchPod, restoreClaim, type Fetch } from "../render/fetch-pod.ts";
import { claims } from "../resources.ts";

export interface RestoreInPlaceOptions {
  readonly client: KubeClient;
  readonly stores: Stores;
  /** `namespace/name` of the cluster. */
  readonly key: string;
  /** By the API server's clock. */
  readonly now: () => number;
  /** Our own. */
  readonly image: string | undefined;
  readonly transfers: Transfers;
}

type State = Pick<PlatformState, "cluster" | "members" | "operations">;
type Facts = Pick<PlatformFacts, "fetched" | "fetch" | "namedSnapshots" | "inPlaceRefused">;

export class KubeRestoreInPlace {
  readonly #options: RestoreInPlaceOptions;
  #state: State | undefined;

  constructor(options: RestoreInPlaceOptions) {
    this.#options = options;
  }

  /** What the decision has to know of restores that were asked for. */
  facts(state: State): Facts {
    this.#state = state;
    const { stores, key, image } = this.#options;
    const asked = state.operations.filter(
      (operation) => operation.task.kind === "restore" && !isFinished(operation),
    );
    if (asked.length === 0) return {};
    const { namespace } = refOf(key);
    const refused = inPlaceRefused(state, image);
    return {
      ...fetchFacts(this.#objects(state)),
      namedSnapshots: namedIn(asked, (name) => stores.snapshot(`${namespace}/${name}`)),
      ...(refused !== undefined && { inPlaceRefused: refused }),
    };
  }

  /** What the Pod told, on the claim; and without what nobody needs any more. */
  wanted(view: View): Wanted[] {
    const { cluster, members, operations } = view.observation;
    const objects = this.#objects({ cluster, members, operations });
    const restore = runningRestore(objects);
    const isOld = ({ metadata }: Pod) => metadata?.annotations?.[ANNOTATIONS.plan] !== restore?.approval;
    const old = objects.pods.filter((pod) => isFetch(pod, cluster.uid) && isOld(pod));
    const unused = objects.claims.filter(
      (claim) => isFetch(claim, cluster.uid) && !isNeeded(claim, view, objects, restore?.plan),
    );
    return [
      ...old.flatMap((pod) => deleted(pods, pod, cluster.uid)),
      ...unused.flatMap((claim) => deleted(claims, claim, cluster.uid)),
      ...(restore ? noteOn(view, objects, restore) : []),
    ];
  }

  /** A second attempt may find what the first one made: then that is what was asked for. */
  async fetch(cluster: ClusterFacts, action: Fetch): Promise<void> {
    const { image } = this.#options;
    const state = this.#state;
    if (image === undefined || !state) throw new Conflict("the operator does not know its own image");
    const objects = this.#objects(state);
    const { template } = objects;
    const onNodes = template.storage.medium === "HostPath";
    if (!onNodes) await this.#make(claims, restoreClaim(cluster, action.plan, template), cluster.uid);
    // What failed before, or was for another operation, may still hold the volume.
    const node = onNodes ? this.#nodeFor(state, action.attempt) : undefined;
    const pod = fetchPod(cluster, action, { image, template, node });
    const isThis = ({ metadata }: Pod) =>
      metadata?.name === pod.metadata?.name &&
      metadata?.annotations?.[ANNOTATIONS.plan] === pod.metadata?.annotations?.[ANNOTATIONS.plan];
    for (const one of objects.pods.filter((other) => isFetch(other, cluster.uid) && !isThis(other)))
      await this.#remove(one);
    const made = await this.#make(pods, pod, cluster.uid);
    if (!isThis(made))
      throw new Conflict(`Pod ${made.metadata?.name} of an earlier operation is still there`);
  }

  async #make<T extends KubeObject>(resource: Resource<T>, wanted: T, ownerUID: string): Promise<T> {
    const isOurs = (found: T) => isControlledBy(found, ownerUID);
    const { done, object } = await keepCreated(this.#options.client, resource, wanted, undefined, isOurs);
    if (done === "changed" || done === "unchanged") return object;
    const { name, namespace } = object.metadata ?? {};
    const why = done === "ending" ? "is being deleted" : "belongs to another owner: rename or delete it";
    throw new Conflict(`${resource.kind} ${namespace}/${name} ${why}`);
  }

  async #remove({ metadata }: Pod): Promise<void> {
    const { name = "", namespace = "", uid = "" } = metadata ?? {};
    await this.#options.client.delete(pods, { name, namespace }, { uid });
  }

  /** Of the members in turn: their nodes have the directory, and room for it. */
  #nodeFor({ cluster, members }: State, attempt: number): string | undefined {
    const { stores } = this.#options;
    const nodes = members.flatMap(({ record }) => {
      const name = `${cluster.namespace}/${record.name}`;
      const node = stores.member(name)?.metadata.annotations?.[ANNOTATIONS.node];
      return node ?? stores.pod(name)?.spec?.nodeName ?? [];
    });
    return nodes[(attempt - 1) % Math.max(1, nodes.length)];
  }

  #objects(state: State): FetchObjects {
    const { stores, key, now, transfers } = this.#options;
    const { pods: all = [], claims: volumes = [], nodes: known } = stores.objectsOf(key) ?? {};
    const nodes = known && new Map(known.map((node) => [node.metadata?.name ?? "", node]));
    const { cluster, operations } = state;
    const template = templateFor(cluster.spec, cluster.spec.version);
    return { cluster, operations, template, pods: all, claims: volumes, nodes, transfers, now: now() };
  }
}

/** Written when members are waited for at the latest: they are not woken for another fetch when the Pod vanishes. */
function noteOn(
  { observation: { platform } }: View,
  objects: FetchObjects,
  { plan, approval }: { readonly plan: string; readonly approval: string },
): Wanted[] {
  const { fetched } = platform;
  const claim = claimFor(plan, objects);
  if (!claim || fetched?.plan !== plan) return [];
  const note = fetchedNote(approval, fetched);
  if (claim.metadata?.annotations?.[ANNOTATIONS.fetched] === note) return [];
  const fields = { metadata: { annotations: { [ANNOTATIONS.fetched]: note } } };
  return patched(`the record of PersistentVolumeClaim ${nameOf(claim)}`, claims, claim, fields);
}

function namedIn(
  operations: State["operations"],
  snapshot: (name: string) => EtcdSnapshot | undefined,
): Record<string, NamedSnapshot> {
  const named = operations.flatMap(({ task }) =>
    task.kind === "restore" && task.snapshot !== undefined ? [task.snapshot] : [],
  );
  return Object.fromEntries(named.map((name) => [name, namedSnapshot(name, snapshot(name))]));
}

/** Why the data of this cluster cannot be replaced here; undefined where it can. */
export function inPlaceRefused(
  { cluster, members }: { readonly cluster: ClusterFacts; readonly members: readonly PlatformMember[] },
  image: string | undefined,
): string | undefined {
  const { spec } = cluster;
  const instead = "restore the snapshot into a new cluster (spec.bootstrap.restore)";
  const volatile = members.filter(({ record }) => isVolatile(record.template));
  if (volatile.length > 0)
    return `the data of ${volatile.map(({ record }) => record.name).join(", ")} is in its Pod and would be lost for good when that is stopped: ${instead}`;
  if (isVolatile(templateFor(spec, spec.version)))
    return `with storage.medium ${spec.storage.medium} there is no volume that would keep the snapshot while members are stopped: ${instead}`;
  return image === undefined
    ? "the operator does not know its own image, which fetches the snapshot: start it with --image or QUORATE_IMAGE"
    : undefined;
}

/**
 * A claim is kept while a restore runs that fetches onto it, until a member that starts from it has joined, and as long
 * as a Pod mounts it: a kubelet starts no Pod again whose claim is being deleted.
 */
function isNeeded(
  { metadata }: PersistentVolumeClaim,
  { established, members, observation: { cluster } }: View,
  { pods: all }: FetchObjects,
  plan: string | undefined,
): boolean {
  if (plan !== undefined && metadata?.annotations?.[ANNOTATIONS.plan] === plan) return true;
  const name = metadata?.name;
  const isSource = (
    restore: { readonly source?: { readonly pvc?: { readonly claimName: string } } } | undefined,
  ) => restore?.source?.pvc?.claimName === name;
  if (!established && isSource(cluster.marks.recovered?.restore)) return true;
  if (members.some(({ record }) => !record.joined && isSource(record.restore))) return true;
  return all.some(({ spec }) =>
    spec?.volumes?.some(({ persistentVolumeClaim: claim }) => claim?.claimName === name),
  );
}
