/** Which clusters are busy, large or behind: rates from two looks at the status. */
import type { ClusterObject } from "../target/target.ts";
import { percent } from "./bar.ts";
import type { Style } from "./style.ts";
import { tableLines, type Cell, type Column } from "./table.ts";
import { bytes, grouped, phasePaint } from "./words.ts";
import { parseQuantity } from "../../api/quantity.ts";

/** What one look saw of a cluster. */
export interface Sample {
  readonly at: number;
  readonly revision: number;
  readonly dbSize: number;
}

export interface TopView {
  readonly clusters: readonly ClusterObject[];
  /** The look before this one, by `namespace/name`. */
  readonly before: ReadonlyMap<string, Sample>;
  readonly now: number;
  readonly namespaces: boolean;
  readonly width: number;
  /** How many lines there may be. */
  readonly room?: number;
}

const NEARLY_FULL = 0.8;

export function sampleOf({ status }: ClusterObject, at: number): Sample {
  const sizes = (status?.members ?? []).flatMap(({ dbSize }) => dbSize ?? []);
  return { at, revision: status?.revision ?? 0, dbSize: Math.max(0, ...sizes) };
}

export function keyOf({ metadata }: ClusterObject): string {
  return `${metadata.namespace ?? ""}/${metadata.name}`;
}

export function topLines(view: TopView, style: Style): string[] {
  const columns: Column[] = [
    ...(view.namespaces ? [{ title: "NAMESPACE" }] : []),
    { title: "NAME" },
    { title: "PHASE" },
    { title: "READY" },
    { title: "WRITES/S", align: "right" },
    { title: "REVISION", align: "right" },
    { title: "DB", align: "right" },
    { title: "FULL", align: "right" },
    { title: "FREE", align: "right" },
    { title: "LAG", align: "right" },
    { title: "LEADER", shrinks: true },
  ];
  const rows = view.clusters
    .map((cluster) => ({ cluster, rate: rateOf(cluster, view) }))
    .toSorted(
      (a, b) =>
        (b.rate ?? -1) - (a.rate ?? -1) || sampleOf(b.cluster, 0).dbSize - sampleOf(a.cluster, 0).dbSize,
    );
  const { room = Infinity } = view;
  // The titles, and the line that says how many are left out.
  const shown = rows.length + 1 <= room ? rows : rows.slice(0, Math.max(1, room - 2));
  const lines = tableLines(
    columns,
    shown.map(({ cluster, rate }) => rowOf(cluster, rate, view, style)),
    view.width,
  );
  const more = rows.length - shown.length;
  return more > 0 ? [...lines, style.quiet(`and ${more} more`)] : lines;
}

/** Every write is a revision, so their difference counts writes; undefined for the first look. */
function rateOf(cluster: ClusterObject, { before, now }: TopView): number | undefined {
  const earlier = before.get(keyOf(cluster));
  if (earlier === undefined || now <= earlier.at) return undefined;
  return Math.max(0, sampleOf(cluster, now).revision - earlier.revision) / ((now - earlier.at) / 1_000);
}

function rowOf(
  cluster: ClusterObject,
  rate: number | undefined,
  { namespaces }: TopView,
  style: Style,
): (Cell | string)[] {
  const { metadata, spec, status } = cluster;
  const { dbSize } = sampleOf(cluster, 0);
  const members = status?.members ?? [];
  const inUse = Math.max(0, ...members.flatMap(({ dbSizeInUse }) => dbSizeInUse ?? []));
  const lag = Math.max(0, ...members.flatMap(({ raftLag }) => raftLag ?? []));
  const quota = spec.options.quotaBackendBytes;
  const share = quota === undefined || dbSize === 0 ? undefined : dbSize / (parseQuantity(quota) ?? Infinity);
  return [
    ...(namespaces ? [metadata.namespace ?? ""] : []),
    metadata.name,
    { text: status?.phase ?? "-", paint: phasePaint(status?.phase, style) },
    `${status?.readyReplicas ?? 0}/${spec.replicas}`,
    rate === undefined ? "-" : rate < 10 ? rate.toFixed(1) : grouped(Math.round(rate)),
    status?.revision === undefined ? "-" : grouped(status.revision),
    dbSize === 0 ? "-" : bytes(dbSize),
    share === undefined ? "-" : { text: percent(share), ...(share > NEARLY_FULL && { paint: style.bad }) },
    dbSize === 0 ? "-" : percent((dbSize - inUse) / dbSize),
    members.length === 0 ? "-" : grouped(lag),
    status?.leader ?? "-",
  ];
}
