/**
 * Whether a recovery plan may be carried out without a person (`recovery.quorumLoss: Automatic`). A person can find out
 * more than we can: whether a disk is only not mounted, whether somebody else has the data. So it takes proof that the
 * data of the lost members is gone, time for it to come back, a loss within its bound, and no other recovery before.
 */
import { millisecondsOf } from "../../api/duration.ts";
import type { ManualBecause } from "../messages/automatic.ts";
import { namesOf, type MemberView, type View } from "../view.ts";
import { exitOf, meaningOf } from "./exit-causes.ts";
import { ENDS_WITHIN_MS } from "./lost-data.ts";
import type { RecoveryPlan } from "./recovery-plan.ts";
import { wrongVersion } from "./recovery-version.ts";

/** One that follows so soon on another has a cause that a person has to find. */
const APART_MS = 60 * 60_000;

/** What failed so often for one plan would only leave more failed operations behind. */
const MOST_TRIES = 3;

export function isAutomatic({ spec }: View): boolean {
  return spec.recovery?.quorumLoss === "Automatic";
}

/** What keeps it from being carried out by itself; undefined when nothing does. */
export function manualBecause(view: View, plan: RecoveryPlan): ManualBecause | undefined {
  const hindrance = view.observation.platform.recoveryRefused ?? wrongVersion(view, plan);
  if (hindrance !== undefined) return { kind: "hindered", why: hindrance };
  const lost = plan.members.filter(({ data }) => !data).map(({ member }) => member);
  const doubtful = lost.filter((member) => !isProvenGone(member));
  if (doubtful.length > 0) return { kind: "doubt", members: namesOf(doubtful) };
  if (plan.strangers === undefined) return { kind: "unlisted" };
  if (plan.strangers.length > 0) return { kind: "strangers", members: plan.strangers };
  const most = view.spec.recovery?.maxLostRevisions ?? 0;
  if (plan.lost === undefined) return { kind: "unknown-loss" };
  if (plan.lost.most > most) return { kind: "loss", lost: plan.lost.most, most };
  const times = automaticTries(view, plan).length;
  if (times >= MOST_TRIES) return { kind: "tried", times };
  const last = lastRecovery(view);
  if (last !== undefined && view.now - last < APART_MS) return { kind: "recent", until: last + APART_MS };
  const until = Math.max(...lost.map((member) => givenUpAt(view, member)));
  return view.now < until ? { kind: "early", until } : undefined;
}

/**
 * Its own volume was looked into, by us or by etcd, and is empty. That an object of Kubernetes is gone proves nothing: on
 * a node whose Node was deleted etcd may serve on, and of a deleted claim the PersistentVolume may be retained.
 */
export function isProvenGone(member: MemberView): boolean {
  const { record, volume, directory, workload, answer, forgot } = member;
  if (forgot !== undefined || answer.reachable) return false;
  if (volume.state !== "ready" || volume.uid !== record.volumeUID) return false;
  if (workload.state === "running" || workload.state === "stopping") return false;
  if (directory?.state === "empty") return true;
  // What was read since counts for more than how its process ended.
  const isRead = directory !== undefined && directory.state !== "reading";
  return !isRead && exitOf(member)?.data === "gone";
}

/** A kubelet has started it once more, and it has not ended yet: nothing new is known of its data. */
export function isTriedAgain({ now }: Pick<View, "now">, { workload, answer }: MemberView): boolean {
  if (workload.state !== "running" || answer.reachable || !workload.lastEnd) return false;
  return now - workload.since < ENDS_WITHIN_MS && meaningOf(workload.lastEnd.cause).data === "gone";
}

/** Until then what looks empty may be mounted again. It counts from the proof, however long the member was down before. */
function givenUpAt({ now, spec }: View, { goneSince = now }: MemberView): number {
  return goneSince + millisecondsOf(spec.repair.memberLostAfter);
}

/** The numbers of those that were made for this plan, of whatever outcome. */
export function automaticTries({ observation }: View, plan: RecoveryPlan): number[] {
  const prefix = automaticName(observation.cluster.name, plan);
  return observation.operations.flatMap(({ name }) => {
    const number = name.startsWith(prefix) ? name.slice(prefix.length) : "";
    return /^[1-9][0-9]{0,8}$/.test(number) ? [Number(number)] : [];
  });
}

/** What the name of its operations begins with; a number follows. */
export function automaticName(cluster: string, { hash }: Pick<RecoveryPlan, "hash">): string {
  return `${cluster}-auto-${hash}-`;
}

/** Of whatever outcome: also one that failed is not tried again and again. */
function lastRecovery({ observation }: View): number | undefined {
  const times = observation.operations.flatMap(({ task, status }) => {
    const at = Date.parse(status.completedAt ?? status.startedAt ?? "");
    return task.kind === "recoverQuorum" && !Number.isNaN(at) ? [at] : [];
  });
  const { at } = observation.cluster.marks.recovered ?? {};
  const known = [...times, ...(at === undefined ? [] : [at])];
  return known.length === 0 ? undefined : Math.max(...known);
}
