/**
 * What the Pods of a cluster that work on snapshots tell: those that record changes for a schedule, and those that read
 * or send a snapshot (members that start from one, a restore in place, Jobs).
 */
import type { Pod } from "kubernetes-types/core/v1.d.ts";
import type { FollowReport } from "../../core/snapshots/follower-facts.ts";
import type { Transfer } from "../../core/snapshots/facts.ts";
import { isControlledBy } from "../../kube/resources.ts";
import type { Clock } from "../../seams/clock.ts";
import { parseReport } from "../../snapshot/changes/report.ts";
import { parseTransfer } from "../../snapshot/progress.ts";
import { LABELS } from "../names.ts";
import { isOfSchedule } from "../observe/follower-facts.ts";
import type { ClusterObjects } from "../observe/observe-objects.ts";
import type { SnapshotObjects } from "../observe/snapshot-facts.ts";
import { PodReports } from "./pod-reports.ts";
import type { EtcdReach } from "./reach.ts";

export class WorkReports {
  readonly #followers: PodReports<FollowReport>;
  readonly #transfers: PodReports<Transfer>;

  constructor(reach: Pick<EtcdReach, "read">, clock: Clock) {
    this.#followers = new PodReports(reach, clock, parseReport);
    this.#transfers = new PodReports(reach, clock, parseTransfer);
  }

  /** By the UID of a Pod. */
  get followers(): (uid: string) => FollowReport | undefined {
    return this.#followers.report;
  }

  /** By the UID of a Pod. */
  get transfers(): (uid: string) => Transfer | undefined {
    return this.#transfers.report;
  }

  /** Asks those that are controlled by what is ours: anybody may put our labels on a Pod. */
  async ask(
    { cluster, members, pods }: Pick<ClusterObjects, "cluster" | "members" | "pods">,
    { schedules, jobs, pods: workers }: SnapshotObjects,
  ): Promise<void> {
    const uids = ({ metadata }: { readonly metadata?: { readonly uid?: string } }) => metadata?.uid ?? "";
    const isOf = (owners: readonly string[]) => (pod: Pod) => owners.some((uid) => isControlledBy(pod, uid));
    const planned = schedules.map(uids);
    const transferring = jobs.filter(({ metadata }) => metadata?.labels?.[LABELS.task] !== "delete");
    await Promise.all([
      this.#followers.ask(workers.filter((pod) => planned.some((uid) => isOfSchedule(pod, uid)))),
      this.#transfers.ask([
        ...pods.filter(isOf([cluster, ...members].map(uids))),
        ...workers.filter(isOf(transferring.map(uids))),
      ]),
    ]);
  }
}
