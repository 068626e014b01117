/** The plan of a recovery as the status reports it. */
import type { RecoveryStatus } from "../../api/etcd-cluster-status.ts";
import {
  pointInstead,
  preferredInstead,
  snapshotInstead,
  type Alternative,
} from "../assess/recovery-alternative.ts";
import { recoveryPlan, type PlannedMember, type RecoveryPlan } from "../assess/recovery-plan.ts";
import { sayNodeSilent, sayRecovery, VOLUME_AWAY, type PlannedRecovery } from "../messages/recovery-words.ts";
import { namesOf, type View } from "../view.ts";
import { sentence, timestamp } from "./condition.ts";

const MOST_MEMBERS = 64;

export function recoveryOf(view: View): RecoveryStatus | undefined {
  const plan = recoveryPlan(view);
  if (!plan) return undefined;
  return {
    plan: plan.hash,
    survivor: plan.survivor.name,
    message: sentence(sayRecovery(toSay(plan))),
    revision: plan.revisions,
    ...(plan.lost && { lostRevisions: plan.lost }),
    ...(plan.lostSeconds !== undefined && { lostSeconds: plan.lostSeconds }),
    ...nodesOf(view, plan),
    preferred: preferredInstead(view, plan)?.is ?? "Survivor",
    ...snapshotOf(view, plan),
    ...pointOf(view, plan),
    members: plan.members.slice(0, MOST_MEMBERS).map(({ member, data, unreachable }) => ({
      name: member.name,
      data: data ? ("Found" as const) : unreachable ? ("Unreachable" as const) : ("Lost" as const),
      ...(data && { term: data.term, index: data.index }),
    })),
  };
}

function nodesOf({ members }: View, { nodesOff }: RecoveryPlan): Pick<RecoveryStatus, "nodesOff"> {
  if (nodesOff.length === 0) return {};
  const on = (name: string) => members.filter(({ node }) => node?.name === name);
  const found = nodesOff.slice(0, MOST_MEMBERS).map((name) => {
    const since = on(name).flatMap(({ node }) => (node?.kubelet === "silent" ? [node.since] : []));
    return {
      name,
      ...(since.length > 0 && { silentSince: timestamp(Math.min(...since)) }),
      members: namesOf(on(name)).slice(0, MOST_MEMBERS),
    };
  });
  return { nodesOff: found };
}

function snapshotOf(view: View, plan: RecoveryPlan): Pick<RecoveryStatus, "snapshot"> {
  const found = snapshotInstead(view, plan);
  if (!found) return {};
  const { name, revision, at, verifiedAt } = found;
  return {
    snapshot: {
      name,
      revision,
      ...planAndLoss(found),
      ...(at && { takenAt: at }),
      ...(verifiedAt && { verifiedAt }),
    },
  };
}

function pointOf(view: View, plan: RecoveryPlan): Pick<RecoveryStatus, "pointInTime"> {
  const [point, snapshot] = [pointInstead(view, plan), snapshotInstead(view, plan)];
  // A snapshot that cannot be restored stands in front of nothing.
  const isBehind = snapshot?.plan !== undefined && snapshot.revision >= (point?.revision ?? 0);
  if (!point || isBehind) return {};
  const { name: schedule, revision, at } = point;
  return { pointInTime: { schedule, revision, ...planAndLoss(point), ...(at && { time: at }) } };
}

const planAndLoss = ({ plan, lost, lostSeconds }: Alternative) => ({
  ...(plan !== undefined && { plan }),
  ...(lost !== undefined && { lostRevisions: lost }),
  ...(lostSeconds !== undefined && { lostSeconds }),
});

function toSay(plan: RecoveryPlan): PlannedRecovery {
  const { survivor, members, nodesOff, revisions, lost, lostSeconds } = plan;
  const gone = members.filter(({ data }) => !data).map(({ member }) => member);
  const away = members.filter(({ unreachable }) => unreachable);
  return {
    survivor: survivor.name,
    nodesOff,
    revisions,
    gone: namesOf(gone),
    lost,
    lostSeconds,
    unread: away.map((planned) => ({ member: planned.member.name, why: whyAway(planned) })),
  };
}

/** The words of what could not look into it, or of its volume. */
function whyAway({ member: { directory, volume }, onNode }: PlannedMember): string {
  if (onNode !== undefined) return sayNodeSilent(onNode);
  if (directory?.state === "unreachable") return directory.why;
  return volume.state === "unreachable" ? volume.reason : VOLUME_AWAY;
}
