/**
 * The TLS that a process runs with, where its record is ahead of it: its restart may be held back for long, and nobody
 * is to be told meanwhile that what it still accepts has ended. A workload tells only a hash of what it was started from;
 * what a change of TLS leads by is tried.
 */
import { isSecure } from "../config/flags.ts";
import type { MemberTemplate } from "../record.ts";
import type { MemberView } from "../view.ts";
import { readStart } from "./start.ts";
import { processWith } from "./template.ts";
import { listeningAs } from "./peer-plane.ts";

type TLS = MemberTemplate["tls"];
type Running = Pick<MemberView, "record" | "workload" | "upToDate" | "answer">;

/** What its record says, unless it was started from another TLS that can be told. */
export function runningTLS({ record, workload, upToDate, answer }: Running): TLS {
  const { template } = record;
  const startedFrom = "startedFrom" in workload ? workload.startedFrom : undefined;
  const process = upToDate || startedFrom === undefined ? undefined : readStart(startedFrom)?.process;
  if (process === undefined) return template.tls;
  // Another version may be rolled out together with it.
  const versions = new Set([template.version, ...(answer.reachable ? [answer.version] : [])]);
  const isFrom = (tls: TLS) =>
    [...versions].some((version) => processWith(record, { tls, version }) === process);
  return [template.tls, ...earlier(template.tls)].find(isFrom) ?? template.tls;
}

/** What may have come before it on the way to it. */
function earlier(tls: TLS): TLS[] {
  const clients = [tls, ...earlierForClients(tls)];
  return [...clients.slice(1), ...clients.flatMap(earlierForPeers)];
}

function earlierForClients(tls: TLS): TLS[] {
  const serving = (advertise: "http" | "https"): TLS => ({
    ...tls,
    effective: {
      ...tls.effective,
      client: { ...tls.effective?.client, listen: ["http", "https"], advertise },
    },
  });
  const anonymous = { ...tls, clientAuth: "None" } as const;
  return isSecure(tls, "client") ? [serving("http"), serving("https"), anonymous] : [];
}

/** By the other scheme; or, before it had certificates, without any. */
function earlierForPeers(tls: TLS): TLS[] {
  if (!isSecure(tls, "peer")) return [];
  const { peer: _peer, ...effective } = tls.effective ?? {};
  const { effective: _planes, ...rest } = tls;
  const planes = Object.keys(effective).length > 0 ? { effective } : {};
  return [
    listeningAs(tls, tls.effective?.peer?.listen === "http" ? "https:" : "http:"),
    { ...rest, ...planes, peer: { mode: "Disabled" } },
  ];
}
