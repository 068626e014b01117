/**
 * Deletes what the retention policy does not keep: first the object, then its manifest, so that what is left of an
 * interrupted deletion is a manifest without an object, which the next run removes.
 */
import { findSnapshot, listSnapshots, type Entry } from "./catalog.ts";
import { listLogs } from "./changes/log.ts";
import { obsolete } from "./changes/retain.ts";
import { isDead, leftoversOf } from "./leftovers.ts";
import { manifestName } from "./manifest.ts";
import { isOfUnknown, judge, type Retention, type Verdict } from "./retention.ts";
import type { Leftover, Store } from "./store/store.ts";

export interface PrunePlan {
  readonly verdicts: readonly Verdict[];
  /** Manifests of ours whose objects are gone. */
  readonly orphans: readonly Entry[];
  /** Never deleted: without a manifest of ours, damaged, or of a cluster that is not known. */
  readonly untouched: readonly Entry[];
  /** What killed writes left. */
  readonly leftovers: readonly Leftover[];
  /** Segments of change logs that lie before the oldest snapshot that is kept. */
  readonly changes: readonly { readonly clusterId: string; readonly names: readonly string[] }[];
}

/** Of the snapshots directly in the folder; `prefix` is empty or ends with a slash. */
export async function planPrune(
  store: Store,
  prefix: string,
  policy: Retention,
  now: number,
  signal: AbortSignal,
): Promise<PrunePlan> {
  const all = await listSnapshots(store, prefix, signal);
  // A copy in a folder below is there to outlive these, or has a policy of its own.
  const entries = all.filter(({ name }) => !name.slice(prefix.length).includes("/"));
  const verdicts = judge(entries, policy);
  // Change logs lie beside the snapshots of a store's own folder.
  const logs = prefix === "" ? await listLogs(store, signal) : [];
  return {
    changes: logs.flatMap((log) => {
      const kept = verdicts.flatMap(({ entry: { manifest }, keep }) =>
        keep.length > 0 && manifest?.clusterId === log.clusterId ? [manifest] : [],
      );
      const names = obsolete(log, kept);
      return names.length > 0 ? [{ clusterId: log.clusterId, names }] : [];
    }),
    verdicts,
    leftovers: await leftoversOf(store, prefix, (leftover) => isDead(leftover, now), signal),
    orphans: entries.filter(({ state, manifest }) => state === "orphan" && manifest !== undefined),
    untouched: entries.filter(
      (entry) => entry.state !== "orphan" && (entry.state !== "complete" || isOfUnknown(entry)),
    ),
  };
}

/** Each is looked at once more by name before it goes; what has changed since the listing stays. */
export async function prune(
  store: Store,
  plan: PrunePlan,
  signal: AbortSignal,
  deleted: (what: Pick<Entry, "name">) => void,
): Promise<void> {
  // Without one that is still there, nothing may go: the listing may have been out of date.
  const newest = plan.verdicts.filter(({ keep }) => keep.includes("newest"));
  const safe = new Set<string>();
  for (const { entry } of newest) {
    const now = await findSnapshot(store, entry.name, signal);
    if (now?.state === "complete" && now.manifest !== undefined) safe.add(now.manifest.clusterId);
  }
  for (const { entry, keep } of plan.verdicts) {
    if (keep.length > 0 || !safe.has(entry.manifest?.clusterId ?? "")) continue;
    const now = await findSnapshot(store, entry.name, signal);
    if (now?.state !== "complete" || now.manifest?.sha256 !== entry.manifest?.sha256) continue;
    await store.delete(entry.name, signal);
    await store.delete(manifestName(entry.name), signal);
    deleted(entry);
  }
  for (const entry of plan.orphans) {
    if ((await findSnapshot(store, entry.name, signal))?.state !== "orphan") continue;
    await store.delete(manifestName(entry.name), signal);
    deleted(entry);
  }
  for (const { name, of, modifiedAt } of plan.leftovers) {
    const isThis = (now: Leftover) => now.name === name && now.modifiedAt.getTime() === modifiedAt.getTime();
    const folder = of.slice(0, of.lastIndexOf("/") + 1);
    if ((await leftoversOf(store, folder, isThis, signal)).length === 0) continue;
    await store.delete(name, signal);
    deleted({ name });
  }
  for (const { clusterId, names } of plan.changes)
    if (safe.has(clusterId)) for (const name of names) await store.delete(name, signal);
}
