/** Clusters as a table, one line each: readable for two hundred of them. */
import { ageOf } from "../duration.ts";
import { wrap } from "../help.ts";
import type { ClusterObject } from "../target/target.ts";
import type { Style } from "./style.ts";
import { tableLines, type Cell, type Column } from "./table.ts";
import { bytes, phasePaint } from "./words.ts";

/** From here on nobody counts by eye. */
const MANY = 20;

export interface ListView {
  readonly clusters: readonly ClusterObject[];
  readonly namespaces: boolean;
  readonly wide: boolean;
  readonly now: number;
  readonly width: number;
  /** How many lines there may be. */
  readonly room?: number;
}

export function listLines(view: ListView, style: Style): string[] {
  const { namespaces, wide } = view;
  const columns: Column[] = [
    ...(namespaces ? [{ title: "NAMESPACE" }] : []),
    { title: "NAME" },
    { title: "VERSION" },
    { title: "READY" },
    { title: "PHASE" },
    { title: "LEADER" },
    ...(wide ? [{ title: "DB", align: "right" as const }, { title: "CLUSTER ID" }] : []),
    { title: "AGE", align: "right" },
    { title: "MESSAGE", shrinks: true },
  ];
  const order = new Intl.Collator("en", { numeric: true });
  const sorted = view.clusters.toSorted((a, b) => order.compare(keyOf(a), keyOf(b)));
  const count = sorted.length < MANY ? [] : ["", ...wrap(countLine(sorted), view.width).split("\n")];
  const { room = Infinity } = view;
  const fits = sorted.length + 1 + count.length <= room;
  // The titles, and the line that says how many are left out.
  const shown = fits ? sorted : sorted.slice(0, Math.max(1, room - count.length - 2));
  const rows = shown.map((cluster) => rowOf(cluster, view, style));
  const lines = tableLines(columns, rows, wide ? Infinity : view.width);
  const hidden = sorted.length - shown.length;
  return [...lines, ...(hidden > 0 ? [style.quiet(`and ${hidden} more`)] : []), ...count];
}

function rowOf(cluster: ClusterObject, { namespaces, wide, now }: ListView, style: Style): (Cell | string)[] {
  const { metadata, spec, status } = cluster;
  const { current, target } = status?.version ?? {};
  const ready = `${status?.readyReplicas ?? 0}/${spec.replicas}`;
  const well = (status?.readyReplicas ?? 0) >= spec.replicas;
  const sizes = (status?.members ?? []).flatMap(({ dbSize }) => dbSize ?? []);
  const healthy = status?.phase === "Healthy";
  return [
    ...(namespaces ? [metadata.namespace ?? ""] : []),
    metadata.name,
    target === undefined || current === undefined ? (current ?? spec.version) : `${current}→${target}`,
    { text: ready, ...(well ? {} : { paint: style.bad }) },
    { text: status?.phase ?? "-", paint: phasePaint(status?.phase, style) },
    status?.leader ?? "-",
    ...(wide ? [bytes(sizes.length > 0 ? Math.max(...sizes) : undefined), status?.clusterID ?? "-"] : []),
    ageOf(now - Date.parse(metadata.creationTimestamp ?? "") || 0),
    { text: healthy && !wide ? "" : (status?.message ?? "not reconciled yet"), paint: style.quiet },
  ];
}

/** `200 clusters: 182 Healthy, 18 Degraded`. */
function countLine(clusters: readonly ClusterObject[]): string {
  const counts = new Map<string, number>();
  for (const { status } of clusters) {
    const phase = status?.phase ?? "Unknown";
    counts.set(phase, (counts.get(phase) ?? 0) + 1);
  }
  const sorted = [...counts].toSorted((a, b) => b[1] - a[1]);
  return `${clusters.length} clusters: ${sorted.map(([phase, count]) => `${count} ${phase}`).join(", ")}`;
}

function keyOf({ metadata }: ClusterObject): string {
  return `${metadata.namespace ?? ""}/${metadata.name}`;
}
