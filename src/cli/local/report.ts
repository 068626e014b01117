/** The state of a cluster as text: one screen that answers "how is it?". */
import { describeEntry } from "../../control/transcript.ts";
import type { LocalReport } from "../../local/operations.ts";
import { DEFAULT_COMMAND } from "../called.ts";
import { table } from "../table.ts";
import { megabytes } from "./output.ts";

export function renderReport(
  report: LocalReport,
  shownDecisions: number,
  command: string = DEFAULT_COMMAND,
): string {
  const { cluster, controller, processes } = report;
  const { status, spec, metadata } = cluster;
  const head = [
    `${metadata.name}: ${status?.phase ?? "Unknown"}`,
    ...(status?.message === undefined ? [] : [status.message]),
    `etcd ${spec.version}, ${status?.readyReplicas ?? 0} of ${spec.replicas} voters healthy, leader ${status?.leader ?? "none"}${controller ? `, controller is process ${controller.pid}` : `; no controller is running (start one with: ${command} local up)`}`,
  ];
  const members = (status?.members ?? []).map((member) => {
    const process = processes.find(({ name }) => name === member.name);
    return [
      member.name,
      member.role,
      `${member.healthy ? "healthy" : (process?.state ?? "unknown")}${member.fenced ? ", fenced" : ""}`,
      member.version ?? "-",
      megabytes(member.dbSize),
      process?.pid === undefined ? "-" : String(process.pid),
      process?.detail ?? "",
    ];
  });
  const rows = [["MEMBER", "ROLE", "STATE", "VERSION", "DB", "PID", ""], ...members];
  const warnings = (status?.warnings ?? []).map((text) => `Warning: ${text}`);
  const waiting = report.waiting.map((text) => `Waiting: ${text}`);
  const decisions = report.decisions
    .slice(-shownDecisions)
    .map((entry) => `${timeOf(entry.at)}  ${describeEntry(entry)}`);
  const parts = [head, table(rows).trimEnd().split("\n"), waiting, warnings];
  if (decisions.length > 0) parts.push(["Latest steps:", ...decisions.map((line) => `  ${line}`)]);
  return `${parts
    .filter((part) => part.length > 0)
    .map((part) => part.join("\n"))
    .join("\n\n")}\n`;
}

export function timeOf(ms: number): string {
  return new Date(ms).toISOString().slice(11, 19);
}

/** Environment variables with which etcdctl finds the cluster. */
export function clientEnvironment(report: LocalReport): Record<string, string> {
  const endpoints = report.cluster.status?.endpoints ?? [];
  return {
    ETCDCTL_ENDPOINTS: endpoints.join(","),
    ...(report.files && {
      ETCDCTL_CACERT: report.files.ca,
      ETCDCTL_CERT: report.files.cert,
      ETCDCTL_KEY: report.files.key,
    }),
  };
}

export function exportLines(environment: Readonly<Record<string, string>>): string {
  return Object.entries(environment)
    .map(([name, value]) => `export ${name}=${quote(value)}\n`)
    .join("");
}

function quote(value: string): string {
  return /^[\w.,:/@%+=-]+$/.test(value) ? value : `'${value.replaceAll("'", `'\\''`)}'`;
}
