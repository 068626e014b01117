/**
 * A read barrier for a cache: resolves when it holds everything that the server held when it was asked. Protects who
 * begins to act from the past in which a watch may still be. A watch tells how far it has come with its events, or once a
 * minute; so unless it is seen at once to have come far enough, the objects themselves are compared, by their metadata.
 */
import type { KubeClient } from "./client.ts";
import type { KubeObject, Resource } from "./resources.ts";
import type { Scope } from "./scope.ts";
import type { Store } from "./store.ts";

/** Many caches ask at once, and our own limits on calls make them wait. */
const LIST_MS = 20_000;

export async function catchUp<T extends KubeObject>(
  client: KubeClient,
  resource: Resource<T>,
  scope: Scope,
  store: Pick<Store<T>, "whenSynced" | "hasReached" | "whenCovering">,
  signal: AbortSignal,
): Promise<void> {
  await store.whenSynced(signal);
  // Lists that name no version are consistent: the server asks its own storage.
  const options = { signal, timeoutMs: LIST_MS };
  for await (const { resourceVersion } of client.pages(resource, scope, { pageSize: 1, ...options })) {
    if (store.hasReached(resourceVersion)) return;
    break;
  }
  const { items, resourceVersion } = await client.list(resource, scope, { metadataOnly: true, ...options });
  await store.whenCovering(items, resourceVersion, signal);
}
