/** What people do with resources of a local cluster passes these checks, whatever the kind: its name, its cluster, its end. */
import { fieldError } from "./change.ts";
import { NotFound, Refused } from "./refused.ts";
import type { Subject } from "./verb.ts";

/** What the API server accepts as a name, and what is safe as a file. */
const NAME = /^[a-z0-9]([-a-z0-9.]{0,61}[a-z0-9])?$/;

export function isResourceName(name: unknown): name is string {
  return typeof name === "string" && NAME.test(name);
}

/** Of those that the verb is for. */
export function kindAmong<K extends string>(manifest: unknown, kinds: readonly K[]): K {
  const { kind } = (manifest ?? {}) as { kind?: unknown };
  const found = kinds.find((one) => one === kind);
  if (found !== undefined) return found;
  throw fieldError("kind", `must be ${kinds.join(" or ")}, not ${JSON.stringify(kind)}`);
}

interface Resource {
  readonly metadata: { readonly name: string };
  readonly spec: { readonly cluster: string };
}

/** It has a name that can be a file, and is for the cluster of this directory. */
export async function requireOurs(
  { platform, layout }: Subject,
  { metadata, spec }: Resource,
): Promise<void> {
  if (!isResourceName(metadata.name))
    throw fieldError(
      "metadata.name",
      "use at most 63 lower-case letters, digits, dots and dashes, starting and ending with a letter or digit",
    );
  const cluster = await platform.store.cluster();
  if (!cluster) throw new NotFound(`there is no cluster in ${layout.dir}`);
  if (spec.cluster !== cluster.name)
    throw fieldError(
      "spec.cluster",
      `the directory belongs to the cluster ${JSON.stringify(cluster.name)}, not ${JSON.stringify(spec.cluster)}`,
    );
}

/** `old`: what is stored under the name. */
export function requireNotDeleted(
  old: { readonly kind: string; readonly metadata: { name: string; deletionTimestamp?: string } } | undefined,
): void {
  if (old?.metadata.deletionTimestamp !== undefined)
    throw new Refused(`${old.kind} ${old.metadata.name} is being deleted; apply it again once it is gone`);
}

export function noneNamed(kind: string, name: string, names: readonly string[]): NotFound {
  return new NotFound(`no ${kind} is named ${JSON.stringify(name)}; there are ${names.join(", ") || "none"}`);
}
