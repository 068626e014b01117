/**
 * Whether a recovery plan may be carried out without a person (`recovery.quorumLoss: Automatic`). A person can find out
 * more than we can: whether a disk is only not mounted, whether somebody else has the data. So it takes proof that the
 * data of the lost members is gone, time for it to come back, a loss within its bound, and no other recovery before.
 */
import { millisecondsOf } from "../../api/duration.ts";
import type { ManualBecause } from "../messages/automatic.ts";
import { namesOf, type MemberView, type View } from "../view.ts";
import { exitOf } from "./exit-causes.ts";
import type { RecoveryPlan } from "./recovery-plan.ts";

/** One that follows so soon on another has a cause that a person has to find. */
const APART_MS = 60 * 60_000;

export function isAutomatic({ spec }: View): boolean {
  return spec.recovery?.quorumLoss === "Automatic";
}

/** What keeps it from being carried out by itself; undefined when nothing does. */
export function manualBecause(view: View, plan: RecoveryPlan): ManualBecause | undefined {
  const lost = plan.members.filter(({ data }) => !data).map(({ member }) => member);
  const doubtful = lost.filter((member) => !isProvenGone(member));
  if (doubtful.length > 0) return { kind: "doubt", members: namesOf(doubtful) };
  const most = view.spec.recovery?.maxLostRevisions ?? 0;
  if (plan.lost === undefined) return { kind: "unknown-loss" };
  if (plan.lost.most > most) return { kind: "loss", lost: plan.lost.most, most };
  const last = lastRecovery(view);
  if (last !== undefined && view.now - last < APART_MS) return { kind: "recent", until: last + APART_MS };
  const until = Math.max(...lost.map((member) => givenUpAt(view, member)));
  return view.now < until ? { kind: "early", until } : undefined;
}

/** Its volume is gone, is another one or is empty: not merely out of reach, damaged, or served by somebody else. */
export function isProvenGone(member: MemberView): boolean {
  const { record, volume, directory, workload, answer, forgot } = member;
  if (forgot !== undefined || answer.reachable) return false;
  // Its node was deleted, or its PersistentVolume.
  if (volume.state === "absent" || volume.state === "unreachable") return true;
  if (volume.state === "ready" && volume.uid !== record.volumeUID) return true;
  const isWriting = workload.state === "running" || workload.state === "stopping";
  return (directory?.state === "empty" && !isWriting) || exitOf(member)?.data === "gone";
}

/** Until then what looks empty may be mounted again. */
function givenUpAt({ now, spec }: View, { unhealthySince = now }: MemberView): number {
  return unhealthySince + millisecondsOf(spec.repair.memberLostAfter);
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
