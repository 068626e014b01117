/** The plan of a recovery as the status tells it. */
import type { RecoveryStatus } from "../../api/etcd-cluster-status.ts";
import { recoveryPlan, type RecoveryPlan } from "../assess/recovery-plan.ts";
import { names, type MemberView, type View } from "../view.ts";
import { sentence } from "./condition.ts";

const MOST_MEMBERS = 64;

export function recoveryOf(view: View): RecoveryStatus | undefined {
  const plan = recoveryPlan(view);
  if (!plan) return undefined;
  return {
    plan: plan.hash,
    survivor: plan.survivor.name,
    message: sentence(sayPlan(plan)),
    revision: plan.revisions,
    ...(plan.lost && { lostRevisions: plan.lost }),
    ...alternative(view, plan),
    members: plan.members.slice(0, MOST_MEMBERS).map(({ member, data, unreachable }) => ({
      name: member.name,
      data: data ? ("Found" as const) : unreachable ? ("Unreachable" as const) : ("Lost" as const),
      ...(data && { term: data.term, index: data.index }),
    })),
  };
}

/** Of this cluster's data alone: revisions of another life are not compared with it. */
function alternative({ observation }: View, plan: RecoveryPlan): Pick<RecoveryStatus, "snapshot"> {
  const { cluster, etcd, snapshots } = observation;
  const clusterID = cluster.marks.established?.clusterID;
  const taken = (snapshots?.snapshots ?? []).flatMap(({ name, deleting, status }) => {
    const { phase, revision, completedAt: takenAt, verifiedAt } = status;
    if (phase !== "Succeeded" || deleting || revision === undefined || status.clusterID !== clusterID)
      return [];
    return [{ name, revision, ...(takenAt && { takenAt }), ...(verifiedAt && { verifiedAt }) }];
  });
  const [newest] = taken.toSorted((a, b) => b.revision - a.revision);
  if (!newest) return {};
  const lost = Math.max(0, (etcd.highestRevision ?? 0) - newest.revision);
  return { snapshot: { ...newest, ...(plan.lost && { lostRevisions: lost }) } };
}

function sayPlan({ survivor, members, revisions, lost }: RecoveryPlan): string {
  const gone = members.filter(({ data }) => !data).map(({ member }) => member);
  const away = members.filter(({ unreachable }) => unreachable).map(({ member }) => member);
  const unknown = away
    .map((member) => `; what ${member.name} holds is not known: ${whyAway(member)}`)
    .join("");
  const reach =
    revisions.least === revisions.most
      ? `revision ${revisions.least}`
      : `a revision from ${revisions.least} to ${revisions.most}`;
  return `${survivor.name} would be taken as the whole cluster, with ${reach}, and the other members rebuilt from it; ${sayLoss(lost, names(gone))}${unknown}`;
}

function sayLoss(lost: RecoveryPlan["lost"], gone: string): string {
  const only = `writes that only ${gone} had are lost`;
  if (lost === undefined) return only;
  if (lost.most === 0) return `${only}; none is known of`;
  const count = lost.least === lost.most ? `${lost.most}` : `${lost.least} to ${lost.most}`;
  return `${only}: ${count} of the revisions that were seen`;
}

/** The words of what could not look into it, or of its volume. */
function whyAway({ directory, volume }: MemberView): string {
  if (directory?.state === "unreachable") return directory.why;
  return volume.state === "unreachable" ? volume.reason : "its volume cannot be reached";
}
