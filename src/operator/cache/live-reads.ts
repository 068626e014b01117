/**
 * What a cache does not hold need not be gone: it may lack the label that the cache selects by, or the watch may be
 * behind. Before a volume or a record counts as gone, the API server is asked for it by name. Only then, so that a
 * cluster at rest costs nothing, and not on every pass.
 */
import { isAt } from "../../core/view.ts";
import type { PersistentVolumeClaim, Pod } from "kubernetes-types/core/v1.d.ts";
import type { EtcdMemberEntry } from "../../core/observation.ts";
import { isVolatile } from "../../core/template/template.ts";
import type { KubeClient } from "../../kube/client.ts";
import { KubeError } from "../../kube/errors.ts";
import { pods, type KubeObject, type Resource } from "../../kube/resources.ts";
import type { Clock } from "../../seams/clock.ts";
import { findOne } from "../apply/keep.ts";
import { belongsTo, recordOf } from "../records/member-object.ts";
import { claimName } from "../names.ts";
import type { ClusterObjects } from "../observe/observe-objects.ts";
import { claims, etcdMembers } from "../resources.ts";
import { slimPod } from "./slim.ts";

type Read<T> = { readonly found: T | undefined } | { readonly error: string };

interface Known<T> {
  readonly read: Read<T>;
  /** By the monotonic clock. */
  readonly until: number;
}

/** An answer is good for this long: what comes back meanwhile is told by the watch. */
const GOOD_MS = 10_000;
/** No answer, or one that may change any moment. */
const AGAIN_MS = 1_000;

/** An object of ours that no cache holds, with what would bring it back into one. */
export interface Unseen {
  readonly member: string;
  readonly resource: Resource;
  readonly object: KubeObject;
}

export interface Completed {
  readonly objects: ClusterObjects;
  /** Claims and Pods, by name, that could not be read, and why. */
  readonly unread: ReadonlyMap<string, string>;
}

export class LiveReads {
  readonly #client: KubeClient;
  readonly #clock: Pick<Clock, "monotonic">;
  readonly #volumes = new Map<string, Known<PersistentVolumeClaim | Pod>>();
  readonly #records = new Map<string, Known<true>>();
  #unseen: readonly Unseen[] = [];

  constructor(client: KubeClient, clock: Pick<Clock, "monotonic">) {
    this.#client = client;
    this.#clock = clock;
  }

  /** Volumes that exist although the caches of the last pass did not hold them: they lack their labels. */
  get unseen(): readonly Unseen[] {
    return this.#unseen;
  }

  /** How many answers are remembered. */
  get size(): number {
    return this.#volumes.size + this.#records.size;
  }

  /** The objects of a cluster with those volumes of its members that only the API server itself knows of. */
  async complete(objects: ClusterObjects, namespace: string): Promise<Completed> {
    const unseen: Unseen[] = [];
    const unread = new Map<string, string>();
    const wanted = new Set<string>();
    for (const { member, volatile, uid } of missing(objects)) {
      const resource: Resource<PersistentVolumeClaim | Pod> = volatile ? pods : claims;
      const name = volatile ? member : claimName(member);
      const key = `${resource.plural} ${name} ${uid}`;
      wanted.add(key);
      const read = await this.#ask(this.#volumes, key, GOOD_MS, () =>
        findOne(this.#client, resource, { name, namespace }),
      );
      if ("error" in read) unread.set(name, read.error);
      // Another one under its name is nobody's proof that its own is still there.
      else if (read.found?.metadata?.uid === uid) unseen.push({ member, resource, object: read.found });
    }
    for (const key of this.#volumes.keys()) if (!wanted.has(key)) this.#volumes.delete(key);
    const now = this.#clock.monotonic();
    for (const [id, { until }] of this.#records) if (now >= until) this.#records.delete(id);
    this.#unseen = unseen;
    if (unseen.length === 0) return { objects, unread };
    const found = <T>(resource: Resource) =>
      unseen.filter((one) => one.resource === resource).map(({ object }) => object as T);
    const more = {
      claims: [...objects.claims, ...found<PersistentVolumeClaim>(claims)],
      pods: [...objects.pods, ...found<Pod>(pods).map(slimPod)],
    };
    return { objects: { ...objects, ...more }, unread };
  }

  /** A claim by its name, whosever it is: of a former life of a cluster. Asked every time, while one is missing. */
  async claim(ref: {
    readonly name: string;
    readonly namespace: string;
  }): Promise<Read<PersistentVolumeClaim>> {
    return await answer(() => findOne(this.#client, claims, ref));
  }

  /** Whether no record stands for an entry of etcd's list, as the API server itself says. */
  async isUnrecorded(namespace: string, clusterUID: string, entry: EtcdMemberEntry): Promise<boolean> {
    const read = await this.#ask(this.#records, entry.id, AGAIN_MS, async () => {
      const { items } = await this.#client.list(etcdMembers, { namespace });
      const records = items.filter((member) => belongsTo(clusterUID, member)).map(({ spec }) => spec);
      const stands = records.some(({ memberID, address }) =>
        memberID === undefined ? isAt(entry, address) : memberID === entry.id,
      );
      return stands || undefined;
    });
    return "found" in read && read.found === undefined;
  }

  async #ask<T>(
    known: Map<string, Known<T>>,
    key: string,
    goodMs: number,
    ask: () => Promise<T | undefined>,
  ): Promise<Read<T>> {
    const before = known.get(key);
    if (before && this.#clock.monotonic() < before.until) return before.read;
    const read = await answer(ask);
    const lastsMs = "error" in read ? AGAIN_MS : goodMs;
    known.set(key, { read, until: this.#clock.monotonic() + lastsMs });
    return read;
  }
}

async function answer<T>(ask: () => Promise<T | undefined>): Promise<Read<T>> {
  try {
    return { found: await ask() };
  } catch (error) {
    if (!(error instanceof KubeError)) throw error;
    return { error: error.message };
  }
}

/** Volumes that a member was permitted to start on and that the caches do not hold. */
function missing({ cluster, members, claims: cachedClaims, pods: cachedPods }: ClusterObjects) {
  const names = (objects: readonly KubeObject[]) => new Set(objects.map(({ metadata }) => metadata?.name));
  const [claimNames, podNames] = [names(cachedClaims), names(cachedPods)];
  return members.flatMap((object) => {
    if (!belongsTo(cluster.metadata?.uid ?? "", object)) return [];
    const { name: member, volumeUID: uid, template } = recordOf(object);
    const volatile = isVolatile(template);
    const { medium } = template.storage;
    if (uid === undefined || (!volatile && medium !== "Persistent")) return [];
    if (volatile ? podNames.has(member) : claimNames.has(claimName(member))) return [];
    return [{ member, volatile, uid }];
  });
}
