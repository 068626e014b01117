/** Clusters as a table, one line each: readable for two hundred of them. */
import { ageOf } from "../duration.ts";
import type { ClusterObject } from "../target/target.ts";
import type { Style } from "./style.ts";
import { tableLines, type Cell, type Column } from "./table.ts";
import { bytes, phasePaint } from "./words.ts";

export interface ListView {
  readonly clusters: readonly ClusterObject[];
  readonly namespaces: boolean;
  readonly wide: boolean;
  readonly now: number;
  readonly width: number;
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
  const sorted = view.clusters.toSorted((a, b) => keyOf(a).localeCompare(keyOf(b)));
  return tableLines(
    columns,
    sorted.map((cluster) => rowOf(cluster, view, style)),
    wide ? Infinity : view.width,
  );
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

function keyOf({ metadata }: ClusterObject): string {
  return `${metadata.namespace ?? ""}/${metadata.name}`;
}
