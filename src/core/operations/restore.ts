/**
 * restore: replaces the data of a cluster by a snapshot. Whether exactly this was approved is judged here; the rule
 * restore-in-place fetches the snapshot, stops the members and begins the cluster anew; and here its end is awaited.
 */
import type { RestoreRecipe } from "../../api/bootstrap.ts";
import { bytesOf } from "../../api/quantity.ts";
import { sourceText } from "../../api/restore-values.ts";
import type { Outcome } from "../action.ts";
import { answeredRevision } from "../assess/answered-revision.ts";
import { nodesToBeOff } from "../assess/nodes-off.ts";
import { plannedFor, plannedText, pointPlan, pointText, restorePlan } from "../assess/restore-plan.ts";
import { recoveryPlan } from "../assess/recovery-plan.ts";
import { notOnMachine, notOnPods } from "../assess/restore-places.ts";
import { operationPoint, pointState, type PointState } from "../assess/restore-point.ts";
import { HOLDS } from "../steps/hold-classes.ts";
import { ending, type Ending } from "../messages/operation-endings.ts";
import { DONE, TASKS } from "../messages/operation-steps.ts";
import { RESTORED } from "../messages/restore-words.ts";
import { remedyOf, sentenceOf } from "../messages/table.ts";
import type { FetchedSnapshot, OperationFacts } from "../observation.ts";
import { hold } from "../steps/outcome.ts";
import { targetOf } from "../template/target.ts";
import { templateFor } from "../template/template.ts";
import { compareVersions, parseVersion } from "../version/version.ts";
import { namesOf, type View } from "../view.ts";
import type { Handler } from "./handler.ts";
import { rebuilding } from "./rebuild.ts";
import type { TaskOf } from "./task.ts";
import { contradicted, unlikeNodes } from "./vouched-nodes.ts";

type Restore = TaskOf<"restore">;

/** `etcdutl snapshot restore --bump-revision` (R24). */
const RAISES_REVISIONS = { major: 3, minor: 5, patch: 10 };

export interface Restoring extends OperationFacts {
  readonly task: Restore;
}

/** What an operation restores: how it is described and approved, and where it is, once that is known. */
export interface Wish {
  readonly plan: string;
  readonly description: string;
  /** Absent for a point in time whose snapshot is not built yet. */
  readonly recipe?: RestoreRecipe;
  readonly point?: Exclude<PointState, { is: "refused" }>;
}

/** `fetched`: that of an EtcdSnapshot which may be gone by now. */
export function wishOf(view: View, operation: Restoring, fetched?: RestoreRecipe): Wish | Ending {
  const asked = operationPoint(operation);
  if (!asked) {
    const recipe = fetched ?? recipeOf(view, operation.task);
    return "reason" in recipe
      ? recipe
      : { plan: planOf(view, operation.task, recipe), description: plannedText(recipe), recipe };
  }
  const point = pointState(view, asked);
  if (point.is === "refused") return ending("PointUnavailable", { why: point.message });
  const recipe = point.is === "built" ? { recipe: point.recipe } : {};
  return {
    plan: pointPlan(plannedFor(view, operation.task.nodesOff), point.spec),
    description: pointText(point.spec),
    point,
    ...recipe,
  };
}

/** What is to be restored, and from where; or why that is not known. */
function recipeOf(view: View, task: Restore): RestoreRecipe | Ending {
  const { kind: _, approve: _approve, pointInTime: _none, recovery: _of, nodesOff: _off, ...recipe } = task;
  const { snapshot, source, ...rest } = recipe;
  if (snapshot === undefined) return { ...rest, source: source ?? {} };
  const { machine, namedSnapshots } = view.observation.platform;
  const named = namedSnapshots?.[snapshot];
  if (named && "recipe" in named) return named.recipe;
  if (machine) return ending("SnapshotOnMachine", {});
  return ending("SnapshotNotFound", { why: named?.refused });
}

function planOf(view: View, { nodesOff }: Restore, recipe: RestoreRecipe): string {
  return restorePlan(plannedFor(view, nodesOff), recipe);
}

/** Why nothing could be restored from this source, or would run afterwards: known before anybody is stopped. */
export function whyNot(view: View, { recipe, point }: Wish): Ending | undefined {
  const { machine, inPlaceRefused } = view.observation.platform;
  const onPods = () => inPlaceRefused ?? notOnPods(point ? point.spec.destination : recipe?.source);
  // What a point was built with is in files of the cluster, and was used already.
  const why = machine === undefined ? onPods() : recipe && !point ? notOnMachine(recipe) : undefined;
  return why === undefined ? cannotRun(view) : ending("PlaceNotSupported", { why });
}

export function aboveQuota({ spec }: View, { size = 0 }: FetchedSnapshot): Ending | undefined {
  const quota = bytesOf(templateFor(spec, spec.version).options.quotaBackendBytes);
  return size > quota ? ending("SnapshotAboveQuota", { size, quota }) : undefined;
}

function cannotRun(view: View): Ending | undefined {
  const { invalid } = view.observation.cluster;
  if (invalid !== undefined) return ending("SpecInvalid", { why: invalid });
  const { version } = view.spec;
  const parsed = parseVersion(version);
  if (!parsed || compareVersions(parsed, RAISES_REVISIONS) < 0) return ending("VersionTooOld", { version });
  // A version that is being installed is waited for.
  if (view.observation.platform.arrivingVersions?.[version] !== undefined) return undefined;
  // The new life begins without the present members: what they run is not on the way to it.
  const { step } = targetOf({ ...view, members: [], staying: [] });
  if (step.kind !== "refused") return undefined;
  const remedy = remedyOf(step.why);
  const sentences = [sentenceOf(step.why), ...(remedy === undefined ? [] : [remedy])];
  return ending("RestoredWouldNotStart", { why: sentences.join(". ") });
}

export const restore: Handler<Restore> = {
  prepare(view, task, operation) {
    const { cluster, etcd } = view.observation;
    const wish = wishOf(view, { ...operation, task });
    if ("reason" in wish) return { reject: wish };
    const wrong = whyNot(view, wish);
    if (wrong) return { reject: wrong };
    // Said before anything is asked for: with other nodes it is another plan.
    const unvouched = contradicted(view, task, operation) ?? unlikeNodes(task, nodesToBeOff(view));
    if (unvouched) return { reject: unvouched };
    const { plan, description: source } = wish;
    if (task.approve !== plan) {
      const asked = { cluster: cluster.name, source, approved: task.approve, plan };
      return { reject: ending("RestoreNotApproved", asked) };
    }
    const unlike = whyNotInstead(view, task);
    if (unlike) return { reject: unlike };
    return {
      // What was ever seen is reported only without quorum; with it the members themselves say more.
      start: {
        members: namesOf(view.staying),
        revision: Math.max(answeredRevision(view), etcd.highestRevision ?? 0),
      },
      what: TASKS.restore(source, task.nodesOff ?? []),
      class: "heal",
    };
  },

  advance(view, task, operation) {
    const { recovered } = view.observation.cluster.marks;
    if (recovered?.operation !== operation.uid) return { next: awaits(view, { ...operation, task }) };
    const message = DONE.restored(describe(view, { ...operation, task }), recovered.revision);
    // The step before it, that it was fetched, is of no member.
    const [first = ""] = namesOf(view.staying);
    const member = view.staying.find(({ record }) => record.restore)?.name ?? first;
    return rebuilding(view, operation, { member, message });
  },
};

/** As the alternative to a recovery it is approved for members that hold just this; undefined where that is so. */
export function whyNotInstead(view: View, { recovery }: Pick<Restore, "recovery">): Ending | undefined {
  if (recovery === undefined) return undefined;
  const plan = recoveryPlan(view);
  if (plan?.hash === recovery) return undefined;
  if (!plan && view.hasQuorum) return ending("QuorumThere", {});
  return ending("InsteadOfAnother", { recovery, present: plan?.hash });
}

/** At the end, when an EtcdSnapshot that it was may be gone. */
function describe(view: View, operation: Restoring): string {
  const { snapshot, source = {}, pointInTime } = operation.task;
  if (snapshot !== undefined) return RESTORED.snapshot(snapshot);
  const wish = pointInTime && wishOf(view, operation);
  return wish && "description" in wish
    ? wish.description
    : pointInTime
      ? RESTORED.somePoint
      : sourceText(source);
}

/** Members serve and are healed while the snapshot is built or fetched; what a restore would undo waits. */
export function awaits(view: View, operation: Restoring): Outcome {
  const { name, task } = operation;
  const { fetched, fetch } = view.observation.platform;
  const wish = task.pointInTime && fetched?.plan !== task.approve ? wishOf(view, operation) : undefined;
  const point = wish && "point" in wish ? wish.point : undefined;
  if (point?.is === "wanted" || point?.is === "building")
    return hold(HOLDS.allButHealing, "RestoreAwaitsPoint", {
      operation: name,
      snapshot: point.name,
      why: point.why,
    });
  const why = fetch?.why;
  return hold(HOLDS.allButHealing, "RestoreAwaitsFetch", { operation: name, why });
}
