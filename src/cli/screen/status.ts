/**
 * One screen that answers "how is it?": what the cluster is, how it is, its members, what is being done, what comes
 * next and why. Data in, lines out.
 */
import type { EtcdMember } from "../../api/etcd-member.ts";
import { parseQuantity } from "../../api/quantity.ts";
import type { ClusterConditionType } from "../../api/status-words.ts";
import { ageOf } from "../duration.ts";
import { wrap } from "../help.ts";
import type { ClusterObject, OperationObject } from "../target/target.ts";
import { bar, percent } from "./bar.ts";
import { conditionsThatMatter } from "./explain.ts";
import { memberLines } from "./members.ts";
import { operationLines } from "./operations.ts";
import type { Style } from "./style.ts";
import { bytes, grouped, phasePaint } from "./words.ts";

export interface StatusView {
  readonly cluster: ClusterObject;
  readonly members: readonly EtcdMember[];
  readonly operations: readonly OperationObject[];
  /** What only the target knows, such as that no controller runs. */
  readonly remarks: readonly string[];
  readonly wide: boolean;
  readonly now: number;
  readonly width: number;
}

const SHOWN_STEPS = 5;
const NEARLY_FULL = 0.8;

export function statusLines(view: StatusView, style: Style): string[] {
  const { cluster } = view;
  const sections = [
    headOf(view, style),
    factsOf(view, style),
    membersOf(view, style),
    conditionsOf(view, style),
    operationsOf(view, style),
    nextOf(view, style),
    [...view.remarks, ...(cluster.status?.warnings ?? []).map((text) => `Warning: ${text}`)].flatMap((text) =>
      wrap(text, view.width).split("\n"),
    ),
  ];
  return sections
    .filter((lines) => lines.length > 0)
    .flatMap((lines, index) => (index === 0 ? lines : ["", ...lines]));
}

function headOf({ cluster, width, now }: StatusView, style: Style): string[] {
  const { metadata, status } = cluster;
  const name = metadata.namespace === undefined ? metadata.name : `${metadata.namespace}/${metadata.name}`;
  const phase = status?.phase ?? "Unknown";
  const message = status?.message ?? "The operator has not seen this cluster yet.";
  const created = Date.parse(metadata.creationTimestamp ?? "");
  const age = Number.isNaN(created) ? "" : style.quiet(`  ${ageOf(now - created)} old`);
  return [
    `${style.strong(name)}  ${phasePaint(phase, style)(phase)}${age}`,
    ...wrap(message, width).split("\n"),
  ];
}

function factsOf(view: StatusView, style: Style): string[] {
  const { cluster } = view;
  const { spec, status } = cluster;
  const { current, target } = status?.version ?? {};
  const updated = target === undefined ? "" : `, ${status?.updatedReplicas ?? 0} of ${spec.replicas} updated`;
  const rows: [string, string][] = [
    ["Version", `etcd ${current ?? spec.version}${target === undefined ? "" : ` → ${target}${updated}`}`],
    [
      "Voters",
      spec.replicas === 0
        ? "none: spec.replicas is 0"
        : `${status?.readyReplicas ?? 0} of ${spec.replicas} healthy${headroom(cluster)}`,
    ],
    ["Leader", status?.leader ?? "none"],
    ...(status?.revision === undefined ? [] : [["Revision", grouped(status.revision)] as [string, string]]),
    ...databaseOf(view, style),
    ...(status?.clusterID === undefined ? [] : [["Cluster ID", status.clusterID] as [string, string]]),
    ...accessOf(view),
  ];
  const width = Math.max(...rows.map(([title]) => title.length));
  return rows.map(([title, text]) => `${title.padEnd(width)}  ${text}`);
}

/** Voters that may still fail before quorum is lost. */
function headroom({ status }: ClusterObject): string {
  const voters = status?.replicas ?? 0;
  const ready = status?.readyReplicas ?? 0;
  if (voters === 0) return "";
  const spare = ready - (Math.floor(voters / 2) + 1);
  if (spare < 0) return ", no quorum";
  return spare === 0 ? ", none may fail" : `, ${spare} more may fail`;
}

/** The fullest member counts: etcd refuses writes when the file of any member reaches its quota. */
function databaseOf(view: StatusView, style: Style): [string, string][] {
  const [fullest] = (view.cluster.status?.members ?? [])
    .flatMap(({ name, dbSize, dbSizeInUse = dbSize }) =>
      dbSize === undefined || dbSizeInUse === undefined
        ? []
        : [{ dbSize, dbSizeInUse, quota: quotaOf(name, view) }],
    )
    .toSorted((a, b) => b.dbSize / (b.quota ?? Infinity) - a.dbSize / (a.quota ?? Infinity));
  if (fullest === undefined) return [];
  const { dbSize, dbSizeInUse, quota } = fullest;
  const free = dbSize - dbSizeInUse;
  const reclaim = free > dbSize * 0.1 ? `, ${bytes(free)} free in the file` : "";
  if (quota === undefined) return [["Database", `${bytes(dbSize)}${reclaim}`]];
  const share = dbSize / quota;
  const paint = share > NEARLY_FULL ? style.bad : style.good;
  return [
    ["Database", `${paint(bar(share))} ${bytes(dbSize)} of ${bytes(quota)} (${percent(share)})${reclaim}`],
  ];
}

/** What the member was made with; the spec need not have reached it yet, and need not name one. */
function quotaOf(name: string, { members, cluster }: StatusView): number | undefined {
  const record = members.find(({ metadata }) => metadata.name === name);
  const quota = record?.spec.template.options.quotaBackendBytes ?? cluster.spec.options.quotaBackendBytes;
  return quota === undefined ? undefined : parseQuantity(quota);
}

function accessOf({ cluster: { status }, wide }: StatusView): [string, string][] {
  const endpoints = status?.externalEndpoints ?? status?.endpoints ?? [];
  const shown = wide ? endpoints : endpoints.slice(0, 1);
  const more = endpoints.length - shown.length;
  return [
    ...(shown.length === 0
      ? []
      : [["Endpoints", `${shown.join(", ")}${more > 0 ? ` and ${more} more` : ""}`] as [string, string]]),
    ...(status?.clientSecret === undefined ? [] : [["Client TLS", status.clientSecret] as [string, string]]),
  ];
}

function membersOf(view: StatusView, style: Style): string[] {
  const { cluster, members } = view;
  if (members.length === 0 && (cluster.status?.members ?? []).length === 0) return [];
  return memberLines(view, style);
}

/** Which conditions one says again, where the reason is the same. Ready is what the head says. */
const REPEATS: Readonly<Record<string, readonly ClusterConditionType[]>> = {
  Stalled: ["Ready"],
  Quorate: ["Ready"],
  Available: ["Ready", "Quorate"],
  Degraded: ["Ready", "Quorate", "Available", "Corrupt"],
  Corrupt: ["Ready"],
};

/** The others only where they add to the head. */
function conditionsOf({ cluster, width, now }: StatusView, style: Style): string[] {
  const conditions = conditionsThatMatter(cluster.status);
  const says = (type: string, reason: string) =>
    conditions.some((one) => one.type === type && one.reason === reason);
  const shown = conditions.filter(
    ({ type, reason }) =>
      type !== "Ready" && type !== "Reconciling" && !REPEATS[type]?.some((other) => says(other, reason)),
  );
  if (shown.length === 0) return [];
  return [
    style.strong("Conditions"),
    ...shown.flatMap(({ type, status, reason, message, lastTransitionTime }) => {
      const since = ageOf(now - Date.parse(lastTransitionTime));
      const head = `${type}=${status}`;
      return wrap(`${head} ${reason} (${since}): ${message}`, width - 4)
        .split("\n")
        .map((line, index) => (index === 0 ? `  ${line.replace(head, style.bad(head))}` : `    ${line}`));
    }),
  ];
}

function operationsOf({ operations, now, width }: StatusView, style: Style): string[] {
  const open = operations.filter(
    ({ status }) => !["Succeeded", "Failed", "Rejected"].includes(status?.phase ?? ""),
  );
  return open.length === 0
    ? []
    : [
        style.strong("Operations"),
        ...operationLines(open, { now, width: width - 2 }, style).map((line) => `  ${line}`),
      ];
}

/** The steps to come, the first with what it waits for. */
function nextOf({ cluster, width }: StatusView, style: Style): string[] {
  const plan = cluster.status?.plan ?? [];
  if (plan.length === 0) return [];
  const digits = String(Math.min(plan.length, SHOWN_STEPS)).length;
  const lines = plan.slice(0, SHOWN_STEPS).flatMap(({ text, waitingFor }, index) => {
    const number = `${String(index + 1).padStart(digits)}. `;
    const indent = " ".repeat(number.length + 2);
    const step = hanging(`  ${number}`, indent, text, width);
    if (waitingFor === undefined || waitingFor === "") return step;
    return [
      ...step,
      ...hanging(indent, indent, `waits: ${waitingFor}`, width).map((line) => style.doubtful(line)),
    ];
  });
  const more = plan.length - SHOWN_STEPS;
  return [style.strong("Next"), ...lines, ...(more > 0 ? [style.quiet(`  and ${more} more`)] : [])];
}

function hanging(first: string, indent: string, text: string, width: number): string[] {
  return wrap(text, width - indent.length)
    .split("\n")
    .map((line, index) => `${index === 0 ? first : indent}${line}`);
}
