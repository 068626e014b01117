/**
 * First boot: all members at once, with a static list and a token that no other life ever had (R5, R6). The
 * first record holds the plan; the others follow it, also after a crash. Before a founder may start, its
 * record says on which volume (H2); when such a volume is lost before the cluster was seen, the attempt is
 * abandoned as a whole and begun anew under another token.
 *
 * From a snapshot one founder begins alone, which is restored before etcd starts; the others join it. So there is one
 * restored copy, and nobody needs the file twice. Until the cluster was seen, another recipe begins anew as well.
 */
import type { Restore, RestoreFault, RestoreRecipe } from "../../api/bootstrap.ts";
import { settleBump } from "../../api/restore-values.ts";
import type { StoreKind } from "../../api/stores.ts";
import { exitOf, meaningOf } from "../assess/exit-causes.ts";
import { awaitVolume, noAddress, offer } from "../assess/newcomer.ts";
import { hiddenQuorum } from "../assess/out-of-reach.ts";
import { bootPoint, pointState } from "../assess/restore-point.ts";
import type { Obstacle } from "../messages/boot.ts";
import { PLACES, RESTORED } from "../messages/restore-words.ts";
import { act, hold, holdFor, update } from "../steps/outcome.ts";
import type { NewMemberRecord, Outcome } from "../action.ts";
import { HOLDS } from "../steps/hold-classes.ts";
import type { Rule } from "../rule.ts";
import { memberName, ordinalOf, restoreHash, type MemberTemplate } from "../record.ts";
import { targetOf } from "../template/target.ts";
import { transition } from "../template/template.ts";
import { peerURLOf } from "../config/flags.ts";
import { namesOf, type MemberView, type View } from "../view.ts";

export const firstBoot: Rule = (view) => {
  const founders = view.staying.filter((member) => member.record.boot === "New");
  if (view.established) return [...permit(founders), ...tooLate(view)];
  if (founders.length === 0) return begin(view);

  // The others may serve already, and only we do not see it: then this life has begun (H16).
  const mayBeginAgain = hiddenQuorum(view).length === 0;
  const lost = founders.filter(hasLostItsVolume);
  if (lost.length > 0 && mayBeginAgain) {
    return [foundAgain(view, "FounderLostVolume", lost)];
  }
  const wanted = restoreHash(askedOf(view));
  const outdated = founders.filter(({ record }) => restoreHash(record.restore) !== wanted);
  if (outdated.length > 0 && mayBeginAgain) return [foundAgain(view, "RestoreEdited", outdated)];
  const { template } = targetOf(view);
  const waiting = founders.filter(({ record, volume }) => !record.volumeUID && volume.state !== "ready");
  if (
    template &&
    mayBeginAgain &&
    waiting.some(({ record }) => transition(record.template, template, { hasData: false }) === "swap")
  ) {
    return [foundAgain(view, "FounderAwaitsOldVolume", waiting)];
  }
  const [first] = founders;
  const plan = first?.record.initialCluster ?? [];
  const absent = plan.find((peer) => !founders.some((founder) => founder.name === peer.name));
  if (first && absent) {
    const ordinal = ordinalOf(view.observation.cluster.name, absent.name) ?? 0;
    return [create(view, ordinal, first.record.template, plan)];
  }
  const permits = permit(founders);
  if (permits.length > 0) return permits;
  const starting = founders.filter((founder) => !founder.healthy);
  const restoring = starting.flatMap((founder) => restoreOf(view, founder));
  if (restoring.length > 0) return restoring;
  return [
    hold(HOLDS.allButHealing, "FoundersStarting", {
      members: namesOf(starting),
      obstacle: obstacle(view, starting),
    }),
  ];
};

/** What the first member is to start from; once quorum was recovered, what was rescued then, and never nothing. */
function askedOf({ spec, observation }: View): Restore | undefined {
  return observation.cluster.marks.recovered?.restore ?? spec.bootstrap?.restore;
}

/** Why a founder that starts from a snapshot has not started. */
function restoreOf(view: View, { name: member, record, workload }: MemberView): Outcome[] {
  if (record.restore === undefined) return [];
  if (workload.state === "exited" && meaningOf(workload.cause).cure === "snapshot") {
    const { restore: fault = "failed", detail: why } = workload;
    const { recovered } = view.observation.cluster.marks;
    const field = recovered ? sourceOf(recovered.restore) : fieldOf(fault, record.restore);
    const params = { member, why, field };
    return [hold(HOLDS.allButHealing, fault === "unreachable" ? "RestoreRetried" : "RestoreFailed", params)];
  }
  if (workload.state === "waiting" && workload.restoring)
    return [hold(HOLDS.allButHealing, "Restoring", { member, progress: workload.reason })];
  return [];
}

/** The fields of a source that name an object, and where it is. */
const NAMED_BY: Readonly<Record<StoreKind, { readonly object: string; readonly place: string }>> = {
  s3: { object: "key", place: "bucket" },
  gcs: { object: "key", place: "bucket" },
  azure: { object: "key", place: "container" },
  pvc: { object: "path", place: "path" },
  file: { object: "path", place: "path" },
};

/** Where the snapshot of a recovery is. */
function sourceOf({ source: { file, pvc } }: RestoreRecipe): string {
  return pvc ? RESTORED.onVolume(pvc.path, pvc.claimName) : (file?.path ?? RESTORED.someSnapshot);
}

/** What does not fit the cluster, whichever way the snapshot is named. */
const OF_CLUSTER: ReadonlySet<RestoreFault> = new Set(["version", "space", "quota"]);

/** The field of the spec that a person has to look at. */
function fieldOf(fault: RestoreFault, { source, snapshot, pointInTime }: RestoreRecipe): string {
  const restore = "spec.bootstrap.restore";
  const isOfSnapshot = !OF_CLUSTER.has(fault);
  if (pointInTime && isOfSnapshot) return `${restore}.pointInTime`;
  if (snapshot !== undefined && isOfSnapshot) return `${restore}.snapshot`;
  const stores = Object.keys(NAMED_BY) as StoreKind[];
  const store = stores.find((one) => source[one] !== undefined) ?? "file";
  switch (fault) {
    case "not-found":
      return `${restore}.source.${store}.${NAMED_BY[store].object}`;
    case "no-place":
      return `${restore}.source.${store}.${NAMED_BY[store].place}`;
    case "key":
      return `${restore}.encryption`;
    case "checksum":
      return `${restore}.checksum`;
    case "version":
      return "spec.version";
    case "space":
      return "spec.storage.size";
    case "quota":
      return "spec.options.quotaBackendBytes";
    default:
      return `${restore}.source`;
  }
}

/** Once the cluster exists, no snapshot can take its place by an edit. */
function tooLate({ spec, observation }: View): Outcome[] {
  const wanted = restoreHash(spec.bootstrap?.restore);
  const { established, recovered } = observation.cluster.marks;
  if (wanted === undefined || wanted === established?.restored || recovered) return [];
  return [hold(HOLDS.nothing, "RestoreTooLate", {}, { unfinished: true })];
}

/** What a start usually passes through is not told; what lasts is. */
const LASTS_MS = 5_000;

function obstacle(view: View, starting: readonly MemberView[]): Obstacle {
  for (const { name: member, workload } of starting) {
    if (workload.state === "exited") return { kind: "ended", member, why: workload.detail || workload.cause };
    if (workload.state === "absent" && workload.notMade)
      return { kind: "not-made", member, why: workload.notMade.message };
    if (workload.state === "waiting" && view.now - workload.since >= LASTS_MS)
      return { kind: "waiting", member, why: workload.reason };
  }
  return undefined;
}

function foundAgain(
  view: View,
  code: "FounderLostVolume" | "FounderAwaitsOldVolume" | "RestoreEdited",
  founders: readonly MemberView[],
): Outcome {
  const change = { life: view.observation.cluster.marks.life + 1, highestOrdinal: view.nextOrdinal - 1 };
  const action = { kind: "MarkCluster", purpose: "new-life", change } as const;
  return act("heal", code, { members: namesOf(founders) }, action);
}

/**
 * The volume it was permitted to start on is gone, or is there and empty although it was used: the platform says so,
 * or its peers do, who know a member of its name that had begun already (R6). Or its data cannot be read any more.
 */
function hasLostItsVolume(member: MemberView): boolean {
  const { record, volume } = member;
  if (record.volumeUID === undefined) return false;
  if (volume.state === "absent") return true;
  if (volume.state === "ready" && volume.uid !== record.volumeUID) return true;
  return (exitOf(member)?.data ?? "kept") !== "kept";
}

/**
 * Also after the latch: the others may have been quicker than this one's volume. etcd lists a founder from
 * the start and need not admit it, so this is no join.
 */
function permit(founders: readonly MemberView[]): readonly Outcome[] {
  for (const founder of founders) {
    if (founder.record.volumeUID !== undefined) continue;
    if (founder.volume.state !== "ready") return [awaitVolume(founder)];
    const change = { volumeUID: founder.volume.uid };
    return [
      act("heal", "FounderPermitted", { member: founder.name }, update(founder, "permit-start", change)),
    ];
  }
  return [];
}

function begin(view: View): readonly Outcome[] {
  const { cluster } = view.observation;
  const { step, template } = targetOf(view);
  if (step.kind === "refused") return [holdFor(HOLDS.everything, step.why)];
  const asked = askedOf(view);
  const { restoreRefused, restoreFrom } = view.observation.platform;
  const isOfSpec = asked !== undefined && asked === view.spec.bootstrap?.restore;
  if (isOfSpec && restoreRefused)
    return [hold(HOLDS.everything, "RestoreRefused", restoreRefused, { until: view.now + ASKED_AGAIN_MS })];
  const restore = asked && (pointOf(view, asked) ?? recipeOf(asked, restoreFrom));
  if (asked && !restore) return [hold(HOLDS.everything, "RestoreRefused", NO_RECIPE)];
  if (restore && isOutcome(restore)) return [restore];
  const founders = restore ? 1 : view.spec.replicas;
  const ordinals = Array.from({ length: founders }, (_, i) => view.nextOrdinal + i);
  const plan = ordinals.flatMap((ordinal) => {
    const address = offer(view, ordinal);
    if (!address || !template) return [];
    return [{ name: memberName(cluster.name, ordinal), peerURL: peerURLOf({ address, template }) }];
  });
  const [first] = ordinals;
  if (first === undefined || !template || plan.length < ordinals.length) return [noAddress()];
  return [
    create(view, first, template, plan, restore && { ...restore, ...(isOfSpec && { fitsQuota: true }) }),
  ];
}

/** A snapshot that is being taken may be there soon, and nothing else tells. */
const ASKED_AGAIN_MS = 10_000;

const NO_RECIPE = {
  field: "spec.bootstrap.restore.snapshot",
  message: PLACES.noSnapshots,
};

function isOutcome(found: RestoreRecipe | Outcome): found is Outcome {
  return "hold" in found || "act" in found;
}

/** A point in time is built before anybody starts from it. */
function pointOf(view: View, asked: Restore): RestoreRecipe | Outcome | undefined {
  const point = asked.source === undefined ? bootPoint(view) : undefined;
  if (!point) return undefined;
  const state = pointState(view, point);
  const field = "spec.bootstrap.restore.pointInTime";
  switch (state.is) {
    case "built":
      return { ...asked, ...state.recipe };
    case "refused": {
      const params = { field, message: state.message };
      return hold(HOLDS.everything, "RestoreRefused", params, { until: view.now + ASKED_AGAIN_MS });
    }
    case "failed":
      return hold(HOLDS.everything, "PointNotBuilt", { field, snapshot: state.name, why: state.why });
    default:
      return hold(HOLDS.everything, "PointAwaited", { snapshot: state.name, why: state.why });
  }
}

function recipeOf(asked: Restore, known: RestoreRecipe | undefined): RestoreRecipe | undefined {
  const { source } = asked;
  return source === undefined ? known : { ...asked, source };
}

function create(
  view: View,
  ordinal: number,
  template: MemberTemplate,
  plan: NewMemberRecord["initialCluster"],
  restore?: RestoreRecipe,
): Outcome {
  const name = memberName(view.observation.cluster.name, ordinal);
  const address = offer(view, ordinal);
  const planned = plan.find((peer) => peer.name === name);
  if (!address || planned?.peerURL !== peerURLOf({ address, template })) return noAddress();
  const record: NewMemberRecord = {
    name,
    ordinal,
    role: "Voter",
    token: view.token,
    boot: "New",
    address,
    initialCluster: plan,
    joined: false,
    run: true,
    template,
    ...(restore && { restore: settleBump(restore, view.now) }),
  };
  const why = { member: name, count: plan.length, restored: restore !== undefined };
  return act("join", "FounderCreated", why, { kind: "CreateMember", member: name, record });
}
