/** The members of a cluster as a table: the records, joined with what the status says of them. */
import { peerURLOf } from "../../core/config/flags.ts";
import type { MemberStatus } from "../../api/etcd-cluster-status.ts";
import type { EtcdMember } from "../../api/etcd-member.ts";
import { ageOf } from "../duration.ts";
import type { ClusterObject } from "../target/target.ts";
import type { Style } from "./style.ts";
import { tableLines, type Cell, type Column } from "./table.ts";
import { bytes, grouped, phasePaint } from "./words.ts";

export interface MembersView {
  readonly cluster: ClusterObject;
  readonly members: readonly EtcdMember[];
  readonly wide: boolean;
  readonly now: number;
  readonly width: number;
}

/** A member that has a record, one that only the status knows, or both. */
interface Row {
  readonly name: string;
  readonly seen: MemberStatus | undefined;
  readonly record: EtcdMember | undefined;
}

const DAY_MS = 86_400_000;
const CERTIFICATE_WARNING_DAYS = 7;

export function memberLines(view: MembersView, style: Style): string[] {
  const { wide } = view;
  const rows = rowsOf(view);
  const noted = rows.some((row) => noteOf(row) !== "");
  const columns: Column[] = [
    { title: "MEMBER" },
    { title: "ROLE" },
    { title: "STATE" },
    { title: "LAG", align: "right" },
    { title: "VERSION" },
    { title: "DB", align: "right" },
    { title: "NODE", ...(!noted && { shrinks: true }) },
    { title: "CERT", align: "right" },
    ...(wide ? [{ title: "ID" }, { title: "AGE", align: "right" as const }, { title: "PEER URL" }] : []),
    ...(noted ? [{ title: "", shrinks: true }] : []),
  ];
  const cells = rows.map((row) => cellsOf(row, view, noted, style));
  return tableLines(columns, cells, wide ? Infinity : view.width);
}

function rowsOf({ cluster, members }: MembersView): Row[] {
  const seen = cluster.status?.members ?? [];
  const recorded = members.map((record) => ({
    name: record.metadata.name,
    seen: seen.find(({ name }) => name === record.metadata.name),
    record,
  }));
  const names = new Set(recorded.map(({ name }) => name));
  return [
    ...recorded,
    ...seen
      .filter(({ name }) => !names.has(name))
      .map((one) => ({ name: one.name, seen: one, record: undefined })),
  ];
}

function cellsOf(
  { name, seen, record }: Row,
  view: MembersView,
  noted: boolean,
  style: Style,
): (Cell | string)[] {
  const state = stateOf({ name, seen, record });
  const role = seen?.role ?? record?.status?.role ?? "Unknown";
  const lag = seen?.raftLag;
  const created = Date.parse(record?.metadata.creationTimestamp ?? "");
  return [
    name,
    { text: role, ...(role === "Leader" && { paint: style.strong }) },
    { text: state, paint: phasePaint(state, style) },
    lag === undefined ? "-" : grouped(lag),
    seen?.version ?? record?.spec.template.version ?? "-",
    bytes(seen?.dbSize),
    seen?.node ?? "-",
    certificateCell(seen?.certExpiry, view.now, style),
    ...(view.wide
      ? [
          seen?.id ?? record?.spec.memberID ?? "-",
          Number.isNaN(created) ? "-" : ageOf(view.now - created),
          record ? peerURLOf(record.spec) : "-",
        ]
      : []),
    ...(noted ? [{ text: noteOf({ name, seen, record }), paint: style.doubtful }] : []),
  ];
}

/** The phase of its record where there is one; the status of a cluster says only whether it is healthy. */
function stateOf({ seen, record }: Row): string {
  if (record && !record.spec.run) return "Hibernated";
  if (record?.spec.leaving) return "Leaving";
  return record?.status?.phase ?? (seen === undefined ? "Pending" : seen.healthy ? "Healthy" : "Unhealthy");
}

/** What makes it different from the others. */
function noteOf({ seen, record }: Row): string {
  return [
    ...(seen?.alarms ?? []).map((alarm) => `alarm ${alarm}`),
    ...(seen?.fenced ? ["fenced"] : []),
    ...(record?.spec.retiring ? ["will be replaced"] : []),
    ...(record?.metadata.deletionTimestamp !== undefined && !record.spec.leaving ? ["will be replaced"] : []),
  ].join(", ");
}

function certificateCell(expiry: string | undefined, now: number, style: Style): Cell | string {
  if (expiry === undefined) return "-";
  const days = Math.floor((Date.parse(expiry) - now) / DAY_MS);
  const text = days < 0 ? "expired" : `${days}d`;
  return { text, ...(days < CERTIFICATE_WARNING_DAYS && { paint: style.bad }) };
}
