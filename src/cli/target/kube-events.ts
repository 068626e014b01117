/** The events of a namespace that are about our clusters: what the operator did, and what Pods and volumes met with. */
import type { Event } from "kubernetes-types/events/v1.d.ts";
import { ordinalInName } from "../../operator/names.ts";
import type { ClusterEvent } from "./target.ts";

const OURS: ReadonlySet<string> = new Set(["EtcdCluster", "EtcdMember", "EtcdOperation"]);
/** Made for members, so called like them. */
const OF_MEMBERS: ReadonlySet<string> = new Set(["Pod", "PersistentVolumeClaim"]);

export function eventsAbout(items: readonly Event[], cluster: string | undefined): readonly ClusterEvent[] {
  return items
    .filter((event) => isAbout(event, cluster))
    .map(asClusterEvent)
    .toSorted((a, b) => a.at - b.at);
}

function isAbout({ regarding, related }: Event, cluster: string | undefined): boolean {
  const { kind = "", name = "" } = regarding ?? {};
  if (cluster === undefined) return OURS.has(kind);
  if (kind === "EtcdCluster") return name === cluster;
  if (kind === "EtcdMember" || OF_MEMBERS.has(kind)) return ordinalInName(cluster, name) > 0;
  return kind === "EtcdOperation" && related?.name === cluster;
}

function asClusterEvent(event: Event): ClusterEvent {
  const { regarding, type, reason = "", note = "", series, metadata, eventTime } = event;
  const at =
    series?.lastObservedTime ??
    event.deprecatedLastTimestamp ??
    eventTime ??
    metadata?.creationTimestamp ??
    "";
  return {
    at: Date.parse(String(at)) || 0,
    type: type === "Warning" ? "Warning" : "Normal",
    reason,
    object: `${regarding?.kind ?? ""}/${regarding?.name ?? ""}`,
    message: note,
    count: series?.count ?? event.deprecatedCount ?? 1,
  };
}
