/** What snapshots of a cluster are decided from, as the view of the cluster shows it. */
import { isByCertificate } from "../auth/objects.ts";
import type { Decision, Hold } from "../action.ts";
import { bootPoint, isSpent, operationPoint, pointState, type WantedPoint } from "../assess/restore-point.ts";
import { snapshotBefore, type SnapshotBefore } from "../assess/snapshot-before.ts";
import { snapshotVerdict } from "../messages/snapshot-verdicts.ts";
import type { ParamsOf } from "../messages/table.ts";
import type { View } from "../view.ts";
import type { Blocked, SnapshotState } from "./facts.ts";
import type { ClusterLife } from "./life.ts";
import { endpointsOf, sourcesOf } from "./source.ts";

export interface SnapshotWorld extends SnapshotState {
  readonly now: number;
  readonly cluster: SnapshotCluster;
  /** A rollout waits for it, and for nothing else. */
  readonly before?: Extract<SnapshotBefore, { is: "wanted" }>;
  /** A restore waits for it. */
  readonly point?: WantedPoint;
  /** UIDs of those that were built for restores which do not need them any more. */
  readonly spent?: ReadonlySet<string>;
}

/** The cluster that the snapshots name. */
export type SnapshotCluster =
  | { readonly is: "absent" }
  | { readonly is: "invalid"; readonly uid: string; readonly why: string }
  | {
      readonly is: "present";
      readonly uid: string;
      readonly deleting: boolean;
      /** Client URLs of the members that may send one, best first. */
      readonly sources: readonly string[];
      /** Client URLs of the members that have joined and stay, whether they answer or not. */
      readonly endpoints?: readonly string[];
      /** The members that may send one are of it. */
      readonly life?: ClusterLife;
      /** Its spec asks for no members. */
      readonly hibernated?: boolean;
      /** Of etcd, as its spec says. */
      readonly version?: string;
    };

export function snapshotWorld(
  view: View,
  state: SnapshotState,
  decision?: Pick<Decision, "holds">,
): SnapshotWorld {
  const { uid, deleting } = view.observation.cluster;
  const blocked = state.blocked ?? withoutLogin(view);
  const before = awaitedBefore(view, decision?.holds ?? []);
  const point = awaitedPoint(view, decision?.holds ?? []);
  const spent = state.snapshots.filter((snapshot) => isSpent(view, snapshot));
  return {
    ...state,
    ...(point && { point }),
    ...(spent.length > 0 && { spent: new Set(spent.map((one) => one.uid)) }),
    ...(blocked && { blocked }),
    ...(before && { before }),
    now: view.now,
    cluster: {
      is: "present",
      uid,
      deleting,
      sources: sourcesOf(view),
      endpoints: endpointsOf(view),
      ...lifeOf(view),
      hibernated: view.spec.replicas === 0,
      version: view.spec.version,
    },
  };
}

/** Once it was seen: before that nobody sends a snapshot. */
function lifeOf({ established: isEstablished, observation }: View): { readonly life?: ClusterLife } {
  const { life, established } = observation.cluster.marks;
  // After a restore in place what was established is of the life before.
  return !isEstablished || established === undefined ? {} : { life: { token: established.token, life } };
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

/** Whether a restore waits for the snapshot of its point in time, which may be the first of all. */
export function awaitsPoint({ holds }: Pick<Decision, "holds">): boolean {
  return holds.some(isForPoint);
}

const isForPoint = ({ code }: Hold) => code === "PointAwaited" || code === "RestoreAwaitsPoint";

function awaitedPoint(view: View, holds: readonly Hold[]): SnapshotWorld["point"] {
  const hold = holds.find(isForPoint);
  if (!hold) return undefined;
  const { operations } = view.observation;
  const restore = operations.find(
    ({ task, status }) => task.kind === "restore" && status.phase === "Running",
  );
  const asked = hold.code === "PointAwaited" ? bootPoint(view) : restore && operationPoint(restore);
  const state = asked && pointState(view, asked);
  return state?.is === "wanted" ? state : undefined;
}

const MENDS = "retemplate";
const AWAITED: ReadonlySet<string> = new Set(["SnapshotBeforeAwaited", "SnapshotBeforeStuck"]);

/** The process that takes snapshots has a certificate and no password. What etcd has counts, where it is known. */
function withoutLogin({ spec, observation: { auth } }: View): Blocked | undefined {
  const isEnabled = auth?.etcd?.enabled ?? spec.auth?.enabled === true;
  if (!isEnabled || isByCertificate(spec)) return undefined;
  return snapshotVerdict("LoginByCertificate", {});
}
