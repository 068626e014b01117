/**
 * restore: replaces the data of a cluster by a snapshot. Whether exactly this was approved is judged here; the rule
 * restore-in-place fetches the snapshot, stops the members and begins the cluster anew; and here its end is awaited.
 */
import type { RestoreRecipe, RestoreSource } from "../../api/bootstrap.ts";
import { bytesOf } from "../../api/quantity.ts";
import { sourceText } from "../../api/restore-values.ts";
import type { Outcome } from "../action.ts";
import { answeredRevision } from "../assess/answered-revision.ts";
import { plannedText, restorePlan } from "../assess/restore-plan.ts";
import { HOLDS } from "../hold-classes.ts";
import { remedyOf, sentenceOf } from "../messages/table.ts";
import type { FetchedSnapshot, OperationFacts } from "../observation.ts";
import { hold } from "../outcome.ts";
import { targetOf } from "../template/target.ts";
import { templateFor } from "../template/template.ts";
import { compareVersions, parseVersion } from "../version/version.ts";
import { namesOf, type View } from "../view.ts";
import { rejected, type Ending, type Handler } from "./handler.ts";
import { rebuilding } from "./rebuild.ts";
import type { TaskOf } from "./task.ts";

type Restore = TaskOf<"restore">;

/** `etcdutl snapshot restore --bump-revision` (R24). */
const RAISES_REVISIONS = { major: 3, minor: 5, patch: 10 };

/** What is to be restored, and from where; or why that is not known. */
export function recipeOf(view: View, task: Restore): RestoreRecipe | Ending {
  const { kind: _kind, approve: _approve, snapshot, source, ...rest } = task;
  if (snapshot === undefined) return { ...rest, source: source ?? {} };
  const { machine, namedSnapshots } = view.observation.platform;
  const named = namedSnapshots?.[snapshot];
  if (named && "recipe" in named) return named.recipe;
  const reason = "RestoreNotSupported";
  if (machine)
    return {
      reason,
      message: `${SNAPSHOT}: on one machine, name the snapshot by restore.source; its place is in the status of the EtcdSnapshot`,
    };
  return { reason: "SnapshotNotFound", message: `${SNAPSHOT}: ${named?.refused ?? "it is not known yet"}` };
}

const SNAPSHOT = "restore.snapshot";

export function planOf({ spec, observation: { cluster } }: View, recipe: RestoreRecipe): string {
  const clusterID = cluster.marks.established?.clusterID;
  return restorePlan({ uid: cluster.uid, clusterID, version: spec.version }, recipe);
}

/** Why nothing could be restored from this source, or would run afterwards: known before anybody is stopped. */
export function whyNot(view: View, recipe: RestoreRecipe): Ending | undefined {
  const { machine, inPlaceRefused } = view.observation.platform;
  const message = machine === undefined ? (inPlaceRefused ?? notOnPods(recipe)) : notOnMachine(recipe);
  return message === undefined ? cannotRun(view) : { reason: "RestoreNotSupported", message };
}

function notOnPods({ source }: RestoreRecipe): string | undefined {
  if (source.file === undefined) return undefined;
  return "restore.source.file: Pods cannot read a file of this machine: use s3, gcs or azure, or pvc for a file on a volume";
}

function notOnMachine({ source, encryption }: RestoreRecipe): string | undefined {
  if (source.pvc)
    return "there are no PersistentVolumeClaims on this platform: name the snapshot in s3, gcs, azure or file";
  const secret = encryption ? "encryption.keySecret" : secretIn(source);
  if (secret === undefined) return undefined;
  return `restore.${secret}: there are no Secrets on this platform: leave it out, because credentials, keys and CA certificates come from the environment of the controller`;
}

function secretIn({ s3, gcs, azure }: RestoreSource): string | undefined {
  for (const [store, given] of Object.entries({ s3, gcs, azure })) {
    if (given?.credentialsSecret !== undefined) return `source.${store}.credentialsSecret`;
    if (given?.caSecret !== undefined) return `source.${store}.caSecret`;
  }
  return undefined;
}

/** A database above its quota takes no write: no cluster that is any use would come of it. */
export function tooLarge({ spec }: View, { size = 0 }: FetchedSnapshot): Ending | undefined {
  const quota = bytesOf(templateFor(spec, spec.version).options.quotaBackendBytes);
  if (size <= quota) return undefined;
  return {
    reason: "DatabaseTooLarge",
    message: `the snapshot has ${mebibytes(size)}, and the quota of the cluster is ${mebibytes(quota)}: raise spec.options.quotaBackendBytes first`,
  };
}

const mebibytes = (bytes: number) => `${Math.ceil(bytes / 2 ** 20)} MiB`;

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
    const recipe = recipeOf(view, task);
    if ("reason" in recipe) return { reject: recipe };
    const wrong = whyNot(view, recipe);
    if (wrong) return { reject: wrong };
    const [plan, source] = [planOf(view, recipe), plannedText(recipe)];
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
    if (recovered?.operation !== operation.uid) return { next: awaitsFetch(view, operation) };
    const told =
      task.snapshot === undefined ? sourceText(task.source ?? {}) : `EtcdSnapshot ${task.snapshot}`;
    const message = `restored ${told}, whose revision was ${recovered.revision}; the volumes of the former members are kept`;
    // The step before it, that it was fetched, is of no member.
    const [first = ""] = namesOf(view.staying);
    const member = view.staying.find(({ record }) => record.restore)?.name ?? first;
    return rebuilding(view, operation, { member, message });
  },
};

/** Members serve and are healed while the snapshot is fetched; what a restore would undo waits. */
export function awaitsFetch({ observation: { platform } }: View, { name }: OperationFacts): Outcome {
  const why = platform.fetch?.why;
  return hold(HOLDS.allButHealing, "RestoreAwaitsFetch", { operation: name, why });
}
