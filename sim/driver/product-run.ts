/** What all runs have in common: of the rules, and of the product on a modelled machine and a modelled Kubernetes. */
import type { Pass } from "../../src/control/loop.ts";
import type { Violation } from "../oracles/oracle.ts";

export interface ProductRun {
  readonly seed: number;
  readonly steps: number;
  readonly passes: number;
  readonly events: number;
  readonly acknowledged: number;
  readonly crashes: number;
  readonly end: string;
  readonly violation: Violation | undefined;
  readonly trace: readonly string[];
}

/** Calls that change something in etcd, by service and method. */
export const ETCD_CHANGES: ReadonlySet<string> = new Set([
  "Cluster.MemberAdd",
  "Cluster.MemberRemove",
  "Cluster.MemberPromote",
  "Cluster.MemberUpdate",
  "Maintenance.Defragment",
  "Maintenance.MoveLeader",
  "Maintenance.Downgrade",
  "KV.Compact",
]);

/** Why a run did not come to rest: what its last pass wanted, waited for and met. */
export function whyNotConverged(
  nowMs: number,
  latest: Pass | undefined,
  troubles: readonly string[],
): string {
  const { decision, failure, problems } = latest ?? {};
  return [
    `not converged after ${Math.round(nowMs / 1000)} s`,
    ...(decision?.act
      ? [`wants ${decision.act.rule} ${decision.act.action.kind}: ${decision.act.message}`]
      : []),
    ...(decision?.holds ?? []).map((hold) => `${hold.reason} (${hold.rule}): ${hold.message}`),
    ...(failure ? [`failed: ${failure.message}`] : []),
    ...(problems ?? []).map(({ message }) => message),
    ...troubles.slice(-2),
  ].join("; ");
}
