/** Snapshots on the screen: one in detail, a list, a plan of deletions. */
import type { Entry, EntryState } from "../../snapshot/catalog.ts";
import type { Position } from "../../snapshot/changes/log.ts";
import { ecoName } from "../../snapshot/eco.ts";
import type { SnapshotFacts } from "../../snapshot/inspect.ts";
import type { Manifest } from "../../snapshot/manifest.ts";
import type { PrunePlan } from "../../snapshot/prune.ts";
import type { RestoreCheck } from "../../snapshot/restore-check.ts";
import { rows } from "./rows.ts";
import { tableLines } from "./table.ts";
import { bytes } from "./words.ts";

const NOT_COUNTED = "not counted (more than 4,194,304 records)";

function seconds(time: string): string {
  return time.replace(/\.\d+Z$/, "Z");
}

function exactBytes(count: number): string {
  return `${bytes(count)} (${count} bytes)`;
}

export function snapshotLines(uri: string, manifest: Manifest): string[] {
  const { member, stored, encryption } = manifest;
  return rows(
    ["Snapshot", uri],
    ["Cluster", manifest.clusterId],
    ["Token", manifest.token],
    ["Life", manifest.life === undefined ? undefined : String(manifest.life)],
    ["Member", `${member.name ?? member.id} (${member.endpoint})`],
    ["etcd version", manifest.etcdVersion],
    ["Storage version", manifest.storageVersion],
    ["Revision", String(manifest.revision)],
    ["Total keys", manifest.totalKeys === undefined ? NOT_COUNTED : String(manifest.totalKeys)],
    ["Total entries", String(manifest.totalEntries)],
    ["Size", exactBytes(manifest.size)],
    ["Stored", stored.size === manifest.size ? undefined : exactBytes(stored.size)],
    ["Compression", manifest.compression === "none" ? undefined : manifest.compression],
    ["Encryption", encryption && `${encryption.algorithm}, key ${encryption.keyId}`],
    ["SHA-256", manifest.sha256],
    ["Built from", manifest.builtFrom],
    ["Taken", `${manifest.startedAt} to ${manifest.completedAt}`],
  );
}

export function factsLines(uri: string, { size, sha256, database }: SnapshotFacts): string[] {
  return rows(
    ["Snapshot", uri],
    ["Storage version", database.storageVersion],
    ["Revision", String(database.revision)],
    ["Total keys", database.totalKeys === undefined ? NOT_COUNTED : String(database.totalKeys)],
    ["Total entries", String(database.totalEntries)],
    ["Size", exactBytes(size)],
    ["SHA-256", sha256],
  );
}

export function restoreLines({
  etcdVersion,
  restoreMs,
  revision,
  totalKeys,
  hash,
  hashCompared,
}: RestoreCheck): string[] {
  const compared = hashCompared ? "equal to the recorded one" : "none was recorded at this compaction";
  return [
    "",
    ...rows(
      ["Restored with", `etcdutl ${etcdVersion}`],
      ["Restore took", `${(restoreMs / 1000).toFixed(1)} s until etcd served`],
      ["Revision", `${revision}, ${totalKeys} keys`],
      ["Hash", `${hash} (${compared})`],
    ),
    "",
  ];
}

/** A snapshot in a list, and how far its change log leads from it. */
export interface ListedEntry extends Entry {
  readonly reaches?: Position | undefined;
}

export function listLines(entries: readonly ListedEntry[], uri: string, width: number): string[] {
  if (entries.length === 0) return [`${uri} holds no snapshot.`];
  const hasLog = entries.some(({ reaches }) => reaches !== undefined);
  return tableLines(
    [
      { title: "NAME" },
      { title: "STATE" },
      { title: "TAKEN" },
      { title: "REVISION", align: "right" },
      { title: "KEYS", align: "right" },
      { title: "SIZE", align: "right" },
      { title: "ETCD" },
      ...(hasLog ? [{ title: "CHANGES TO" }] : []),
      { title: "", shrinks: true },
    ],
    entries.map(({ name, state, at, size, manifest, problem, reaches }) => [
      name,
      state,
      seconds(at.toISOString()),
      String(manifest?.revision ?? ecoName(name)?.revision ?? "-"),
      manifest?.totalKeys === undefined ? "-" : String(manifest.totalKeys),
      bytes(size),
      manifest?.etcdVersion ?? "-",
      ...(hasLog ? [reaches ? `${reaches.revision} (${seconds(reaches.time)})` : "-"] : []),
      problem ?? "",
    ]),
    width,
  );
}

const UNTOUCHED: Readonly<Record<EntryState, string>> = {
  plain: "no manifest",
  damaged: "damaged",
  orphan: "no object",
  complete: "its cluster is not known: it was imported without --cluster-id",
};

export function pruneLines({ verdicts, orphans, leftovers, untouched, changes }: PrunePlan): string[] {
  const lines = verdicts.map(({ entry, keep }) =>
    keep.length > 0 ? `keep    ${entry.name}  (${keep.join(", ")})` : `delete  ${entry.name}`,
  );
  return [
    ...lines,
    ...orphans.map(({ name }) => `delete  ${name}  (its object is gone; only the manifest is left)`),
    ...leftovers.map(({ name, size }) => `delete  ${name}  (${bytes(size)} that a killed write left)`),
    ...untouched.map(({ name, state }) => `leave   ${name}  (${UNTOUCHED[state]})`),
    ...changes.map(
      ({ clusterId, names }) =>
        `delete  ${names.length} objects of the change log of cluster ${clusterId}  (older than its oldest snapshot)`,
    ),
    ...(verdicts.length + orphans.length + untouched.length === 0
      ? ["There is no snapshot directly in this folder."]
      : []),
  ];
}
