/** One watch cache for each kind in the table of kinds, with its scope and indexes. */
import { Reflector, type ReflectorOptions } from "../../kube/reflector.ts";
import type { KubeObject } from "../../kube/resources.ts";
import type { Scope } from "../../kube/scope.ts";
import { entriesOf, type Kind, type NamespacedKinds, type WideKinds } from "../kinds.ts";
import { LABELS } from "../names.ts";
import { etcdClusters } from "../resources.ts";

type Shared = Pick<ReflectorOptions<KubeObject, never>, "client" | "clock" | "random" | "log">;

type CacheOf<K> = K extends Kind<infer T, infer I> ? Reflector<T, I | "cluster"> : never;
export type Space = { readonly [N in keyof NamespacedKinds]: CacheOf<NamespacedKinds[N]> };
export type Wide = { readonly [N in keyof WideKinds]: CacheOf<WideKinds[N]> };

/** A cache with its kind, whatever its objects are. */
export interface Cache {
  readonly kind: Kind;
  readonly reflector: Reflector<KubeObject, "cluster">;
}

/** The caches of a table, in one namespace or in all. */
export function cachesOf<C>(
  table: NamespacedKinds | WideKinds,
  shared: Shared,
  where: Pick<Scope, "namespace" | "notNamespaces"> = {},
): C {
  const caches = entriesOf(table).map(([name, { resource, labelled, keep, clusters, indexes }]) => {
    const scope = {
      ...where,
      ...(labelled && { labels: { [LABELS.cluster]: true as const } }),
    };
    // A cluster is found by its own key.
    const cluster = clusters && resource.kind !== etcdClusters.kind ? { cluster: clusters } : undefined;
    const options = {
      ...shared,
      resource,
      scope,
      indexes: { ...cluster, ...indexes },
      ...(keep && { keep }),
    };
    return [name, new Reflector<KubeObject, string>(options)];
  });
  return Object.fromEntries(caches) as C;
}

export function cachesIn(table: NamespacedKinds | WideKinds, space: Space | Wide): Cache[] {
  return entriesOf(table).map(([name, kind]) => ({
    kind,
    reflector: (space as unknown as Record<string, Cache["reflector"]>)[name] as Cache["reflector"],
  }));
}
