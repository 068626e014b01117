/**
 * restore: replaces the data of a cluster by a snapshot. Whether exactly this was approved is judged here; the rule
 * restore-in-place fetches the snapshot, stops the members and begins the cluster anew; and here its end is awaited.
 */
import { sourceText } from "../../api/restore-values.ts";
import { answeredRevision } from "../assess/answered-revision.ts";
import { restorePlan } from "../assess/restore-plan.ts";
import { remedyOf, sentenceOf } from "../messages/table.ts";
import { targetOf } from "../template/target.ts";
import { compareVersions, parseVersion } from "../version/version.ts";
import { namesOf, type View } from "../view.ts";
import { failed, rejected, type Ending, type Handler } from "./handler.ts";
import { rebuilding } from "./rebuild.ts";
import type { TaskOf } from "./task.ts";

type Restore = TaskOf<"restore">;

/** `etcdutl snapshot restore --bump-revision` (R24). */
const RAISES_REVISIONS = { major: 3, minor: 5, patch: 10 };

export function planOf({ spec, observation: { cluster } }: View, task: Restore): string {
  const { kind: _kind, ...asked } = task;
  const clusterID = cluster.marks.established?.clusterID;
  return restorePlan({ uid: cluster.uid, clusterID, version: spec.version }, asked);
}

/** Why nothing could be restored from this source, or would run afterwards: known before anybody is stopped. */
export function whyNot(view: View, { source }: Restore): Ending | undefined {
  if (view.observation.platform.machine === undefined)
    return {
      reason: "RestoreNotSupported",
      message:
        "a snapshot is restored in place on one machine only: create a new cluster with spec.bootstrap.restore instead",
    };
  if (source.pvc)
    return {
      reason: "RestoreNotSupported",
      message:
        "there are no PersistentVolumeClaims on this platform: name the snapshot in s3, gcs, azure or file",
    };
  const secret = secretIn(source);
  if (secret !== undefined)
    return {
      reason: "RestoreNotSupported",
      message: `restore.source.${secret}: there are no Secrets on this platform: leave it out, because credentials and CA certificates come from the environment of the controller`,
    };
  return cannotRun(view);
}

function secretIn({ s3, gcs, azure }: Restore["source"]): string | undefined {
  for (const [store, given] of Object.entries({ s3, gcs, azure })) {
    if (given?.credentialsSecret !== undefined) return `${store}.credentialsSecret`;
    if (given?.caSecret !== undefined) return `${store}.caSecret`;
  }
  return undefined;
}

function cannotRun(view: View): Ending | undefined {
  const { invalid } = view.observation.cluster;
  if (invalid !== undefined)
    return { reason: "SpecCannotRun", message: `the spec of the cluster is invalid: ${invalid}` };
  const { version } = view.spec;
  const parsed = parseVersion(version);
  if (!parsed || compareVersions(parsed, RAISES_REVISIONS) < 0)
    return {
      reason: "VersionDiffers",
      message: `etcd ${version} cannot raise the revision of a snapshot, which watchers need: set spec.version to 3.5.10 or later first`,
    };
  // A version that is being installed is waited for.
  if (view.observation.platform.arrivingVersions?.[version] !== undefined) return undefined;
  // The new life begins without the present members: what they run is not on the way to it.
  const { step } = targetOf({ ...view, members: [], staying: [] });
  if (step.kind !== "refused") return undefined;
  const remedy = remedyOf(step.why);
  const sentences = [sentenceOf(step.why), ...(remedy === undefined ? [] : [remedy])];
  return {
    reason: "SpecCannotRun",
    message: `the restored cluster would not start: ${sentences.join(". ")}`,
  };
}

export const restore: Handler<Restore> = {
  prepare(view, task) {
    const { cluster, etcd } = view.observation;
    const wrong = whyNot(view, task);
    if (wrong) return { reject: wrong };
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
