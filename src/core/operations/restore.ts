/**
 * restore: replaces the data of a cluster by a snapshot. Whether exactly this was approved is judged here; the rule
 * restore-in-place fetches the snapshot, stops the members and begins the cluster anew; and here its end is awaited.
 */
import { sourceText } from "../../api/restore-values.ts";
import { answeredRevision } from "../assess/answered-revision.ts";
import { restorePlan } from "../assess/restore-plan.ts";
import { compareVersions, parseVersion } from "../version/version.ts";
import { namesOf, type View } from "../view.ts";
import { failed, rejected, type Handler } from "./handler.ts";
import { rebuilding } from "./rebuild.ts";
import type { TaskOf } from "./task.ts";

type Restore = TaskOf<"restore">;

/** `etcdutl snapshot restore --bump-revision` (R24). */
const RAISES_REVISIONS = { major: 3, minor: 5, patch: 10 };

export function planOf({ observation: { cluster } }: View, task: Restore): string {
  const { kind: _kind, ...asked } = task;
  return restorePlan({ uid: cluster.uid, clusterID: cluster.marks.established?.clusterID }, asked);
}

export const restore: Handler<Restore> = {
  prepare(view, task) {
    const { platform, cluster, etcd } = view.observation;
    if (platform.machine === undefined)
      return rejected(
        "RestoreNotSupported",
        "a snapshot is restored in place on one machine only: create a new cluster with spec.bootstrap.restore instead",
      );
    if (task.source.pvc)
      return rejected(
        "RestoreNotSupported",
        "there are no PersistentVolumeClaims on this platform: name the snapshot in s3, gcs, azure or file",
      );
    const { version } = view.spec;
    const parsed = parseVersion(version);
    if (!parsed || compareVersions(parsed, RAISES_REVISIONS) < 0)
      return rejected(
        "VersionDiffers",
        `etcd ${version} cannot raise the revision of a snapshot, which watchers need: set spec.version to 3.5.10 or later first`,
      );
    const [plan, source] = [planOf(view, task), sourceText(task.source)];
    if (task.approve !== plan)
      return rejected(
        "ApprovalNeeded",
        `all data of ${cluster.name} would be replaced by ${source}, and what was written since would be lost; ${task.approve === undefined ? "" : `${task.approve} approves another plan; `}to approve, create the operation again with approve: ${plan}`,
      );
    return {
      // What was ever seen is told only without quorum; with it the members themselves say more.
      start: {
        members: namesOf(view.staying),
        revision: Math.max(answeredRevision(view), etcd.highestRevision ?? 0),
      },
      what: `replace all data by ${source}`,
      class: "heal",
    };
  },

  advance(view, task, operation) {
    const { recovered } = view.observation.cluster.marks;
    if (recovered?.operation !== operation.uid)
      return failed("QuorumRecovered", "another operation began the cluster anew, so nothing was restored");
    const message = `restored ${sourceText(task.source)}, whose revision was ${recovered.revision}; the volumes of the former members are kept`;
    return rebuilding(view, operation, { message });
  },
};
