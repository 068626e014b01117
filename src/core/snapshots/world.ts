/** What snapshots of a cluster are decided from, as the view of the cluster shows it. */
import { isByCertificate } from "../auth/objects.ts";
import type { Decision, Hold } from "../action.ts";
import { snapshotBefore } from "../assess/snapshot-before.ts";
import type { ParamsOf } from "../messages/table.ts";
import type { View } from "../view.ts";
import type { SnapshotWorld } from "./decide.ts";
import type { Blocked, SnapshotState } from "./facts.ts";
import { endpointsOf, sourcesOf } from "./source.ts";

export function snapshotWorld(
  view: View,
  state: SnapshotState,
  decision?: Pick<Decision, "holds">,
): SnapshotWorld {
  const { uid, deleting } = view.observation.cluster;
  const blocked = state.blocked ?? withoutLogin(view);
  const before = awaitedBefore(view, decision?.holds ?? []);
  return {
    ...state,
    ...(blocked && { blocked }),
    ...(before && { before }),
    now: view.now,
    cluster: {
      is: "present",
      uid,
      deleting,
      sources: sourcesOf(view),
      endpoints: endpointsOf(view),
      hibernated: view.spec.replicas === 0,
      version: view.spec.version,
    },
  };
}

/**
 * Where anything else holds the rollout back too, there is time: the snapshot is to be of the data that is upgraded. A
 * member that is down waits for it alone, since the other version may be what it needs.
 */
function awaitedBefore(view: View, holds: readonly Hold[]): SnapshotWorld["before"] {
  const rolling = holds.filter(({ classes }) => classes === "all" || classes.includes("roll"));
  const hold = rolling.find(
    ({ rule, code }) => AWAITED.has(code) && (rule === MENDS || rolling.length === 1),
  );
  if (!hold) return undefined;
  const before = snapshotBefore(view, (hold.params as ParamsOf<"SnapshotBeforeAwaited">).to);
  return before.is === "wanted" ? before : undefined;
}

const MENDS = "retemplate";
const AWAITED: ReadonlySet<string> = new Set(["SnapshotBeforeAwaited", "SnapshotBeforeStuck"]);

/** The process that takes snapshots has a certificate and no password. What etcd has counts, where it is known. */
function withoutLogin({ spec, observation: { auth } }: View): Blocked | undefined {
  const isEnabled = auth?.etcd?.enabled ?? spec.auth?.enabled === true;
  if (!isEnabled || isByCertificate(spec)) return undefined;
  return {
    reason: "AuthNeedsCertificate",
    message:
      "etcd has auth enabled, and the snapshot process can log in by client certificate only, which spec.tls of the EtcdCluster does not provide for; the snapshot is taken once spec.auth.enabled is false",
  };
}
