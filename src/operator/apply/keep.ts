/**
 * One object that has to be there. Of Secrets, our own files are changed, in the version that was read; what others
 * write into as well (Services, budgets) is applied; Pods and claims are only ever made.
 */
import type { Secret } from "kubernetes-types/core/v1.d.ts";
import type { KubeClient } from "../../kube/client.ts";
import { ensure } from "../../kube/ensure.ts";
import { isReason } from "../../kube/errors.ts";
import { type KubeObject, type Ref, type Resource } from "../../kube/resources.ts";
import type { Contests } from "./contests.ts";
import { mergePatch } from "./merge-patch.ts";
import { ANNOTATIONS, LABELS } from "../names.ts";
import { FILES, isTokenKeyFile } from "../render/config.ts";
import { secrets } from "../resources.ts";

export type Kept<T> =
  | { readonly done: "unchanged" | "changed"; readonly object: T }
  /** Of our name, and not ours. */
  | { readonly done: "foreign"; readonly object: T }
  /** On its way out; it can be made anew when it is gone. */
  | { readonly done: "ending"; readonly object: T };

/** Made if absent, else left as it is. */
export async function keepCreated<T extends KubeObject>(
  client: KubeClient,
  resource: Resource<T>,
  wanted: T,
  known: T | undefined,
  isOurs: (object: T) => boolean,
): Promise<Kept<T>> {
  let found = known;
  if (found === undefined) {
    try {
      return { done: "changed", object: await client.create(resource, wanted) };
    } catch (error) {
      if (!isReason(error, "AlreadyExists")) throw error;
      // The cache was behind, or does not hold it because it lacks our label.
      const { name = "", namespace = "" } = wanted.metadata ?? {};
      found = await findOne(client, resource, { name, namespace });
      if (found === undefined) throw error;
      client.found(resource, found);
      if (isOurs(found)) found = await relabel(client, resource, wanted.metadata?.labels, found);
    }
  }
  if (!isOurs(found)) return { done: "foreign", object: found };
  return { done: found.metadata?.deletionTimestamp === undefined ? "unchanged" : "ending", object: found };
}

/** Gives an object its labels back that somebody took away: no cache would ever hold it again. */
export async function relabel<T extends KubeObject>(
  client: KubeClient,
  resource: Resource<T>,
  labels: Readonly<Record<string, string>> | undefined,
  found: T,
): Promise<T> {
  const { name = "", namespace = "", uid = "", resourceVersion = "" } = found.metadata ?? {};
  if (found.metadata?.labels?.[LABELS.cluster] !== undefined) return found;
  return await client.patch(
    resource,
    { name, namespace },
    { metadata: { labels } },
    { uid, resourceVersion },
  );
}

export async function keepApplied<T extends KubeObject>(
  client: KubeClient,
  resource: Resource<T>,
  wanted: T,
  known: T | undefined,
  isOurs: (object: T) => boolean,
  contests: Pick<Contests, "write">,
  asNew?: (wanted: T) => T,
): Promise<Kept<T>> {
  const { done, object } = await ensure(client, resource, {
    wanted,
    known,
    asNew,
    isOurs,
    stamp: ANNOTATIONS.applied,
    rewrite: (found, rendered, write) => contests.write(resource, found, rendered, write),
  });
  return { done: done === "created" || done === "applied" ? "changed" : done, object };
}

/** Files that are not ours may be beside those that are: what others add is no difference, and stays. */
const OURS: ReadonlySet<string> = new Set(Object.values(FILES));

const TRUST = [FILES.clientCA, FILES.serverCA, FILES.peerCA, "ca.crt"] as const;

/** For certificates that somebody asked for just now: nobody undid anything. */
export const UNCONTESTED: Pick<Contests, "write"> = {
  write: async (_resource, _known, _wanted, write) => await write(),
};

/** Of the files that we write, those that are not wanted any more go. `asked` is what its certificates are issued for. */
export async function keepSecret(
  client: KubeClient,
  wanted: Secret,
  known: Secret | undefined,
  isOurs: (object: Secret) => boolean,
  contests: Pick<Contests, "write">,
  asked?: unknown,
): Promise<Kept<Secret>> {
  const kept = await keepCreated(client, secrets, wanted, known, isOurs);
  if (kept.done !== "unchanged") return kept;
  const { data: has = {} } = kept.object;
  const files = Object.keys(has).filter(
    (file) => OURS.has(file) || isTokenKeyFile(file) || wanted.data?.[file] !== undefined,
  );
  const data = mergePatch(Object.fromEntries(files.map((file) => [file, has[file]])), { ...wanted.data });
  if (data === undefined) return kept;
  const { name = "", namespace = "", uid = "", resourceVersion = "" } = kept.object.metadata ?? {};
  const version = { uid, resourceVersion };
  // A certificate that is issued again is another one each time: what stays the same is what it is issued for.
  // Another CA is another wish: whoever rotates three times in an hour has no opponent.
  const trust = TRUST.map((file) => wanted.data?.[file]);
  const about = { config: wanted.data?.[FILES.config], asked, trust };
  const { annotations } = wanted.metadata ?? {};
  const patch = { data, ...(annotations && { metadata: { annotations } }) };
  const write = () => client.patch(secrets, { name, namespace }, patch, version);
  return { done: "changed", object: await contests.write(secrets, kept.object, wanted, write, about) };
}

/** By a list of one: who may list need not be allowed to get. */
export async function findOne<T extends KubeObject>(
  client: KubeClient,
  resource: Resource<T>,
  { name, namespace = "" }: Ref,
): Promise<T | undefined> {
  const { items } = await client.list(resource, { namespace, name });
  return items[0];
}
