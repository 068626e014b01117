/**
 * The last look before an effect: what must never happen, said again and independently of the rules that
 * decided it (I1, I2, I4, I5). A violation is a fault in our rules; it is told, and nothing is done.
 */
import { millisecondsOf } from "../api/duration.ts";
import type { Action, NewMemberRecord } from "../core/action.ts";
import { NO_VOLUME, type AdoptionMark } from "../core/facts/adoption-facts.ts";
import type { AuthChange } from "../core/auth/facts.ts";
import { own } from "../core/auth/own.ts";
import { isAutomatic, isProvenGone } from "../core/assess/automatic-recovery.ts";
import { isApproved } from "../core/assess/out-of-reach.ts";
import { isSamePeer, isSecure } from "../core/config/flags.ts";
import type { Plane, RotationPhase } from "../core/observation.ts";
import { waysOf } from "../core/template/client-ways.ts";
import { closingWord, needsTrust } from "../core/template/effective.ts";
import { quorum, survivesPromotion, survivesRemoval } from "../core/quorum.ts";
import type { MemberTemplate } from "../core/record.ts";
import { triedBy } from "../core/assess/trial.ts";
import { hasLeft, healthyVotersBut, isOrWasVoter, type MemberView, type View } from "../core/view.ts";

export class InvariantViolation extends Error {
  override name = "InvariantViolation";
  readonly invariant: Invariant;

  constructor(invariant: Invariant, message: string) {
    super(message);
    this.invariant = invariant;
  }
}

/** In the order of docs/rules.md: I1, I3, I4, I5, H16; and who may lead (R10). */
type Invariant =
  | "healthy-leader"
  | "quorum"
  | "bootstrap-once"
  | "one-volume"
  | "volume-in-use"
  | "data-given-up"
  | "untried-template"
  | "trust"
  | "clients"
  | "peers"
  | "auth-lockout";
type Violation = readonly [Invariant, string];

/** Throws when carrying out the action would break an invariant, as far as the observation can tell. */
export function assertSafe(view: View, action: Action): void {
  const broken = violation(view, action);
  if (broken !== undefined) {
    const [invariant, why] = broken;
    throw new InvariantViolation(
      invariant,
      `${action.kind} was decided but would break an invariant: ${why}`,
    );
  }
}

function violation(view: View, action: Action): Violation | undefined {
  switch (action.kind) {
    case "RemoveFromEtcd":
      return removal(view, action.memberID);
    case "Promote":
      return survivesPromotion(view.voters, view.healthyVoters)
        ? undefined
        : [
            "quorum",
            `${view.healthyVoters} of ${view.voters} voters are healthy, too few to promote another member`,
          ];
    case "UpdatePeerURL":
      return newURL(view, find(view, action.member), action.memberID, action.peerURL);
    case "MoveLeader":
      return leadership(find(view, action.member), action.memberID);
    case "StopWorkload":
      return stop(view, find(view, action.member));
    case "DeleteVolume":
      return volume(view, find(view, action.member), action.volumeUID);
    case "CreateOperation":
      return givenUp(view);
    case "CreateMember":
      return action.record.boot === "New" && view.established
        ? ["bootstrap-once", "the cluster exists, so no member may bootstrap a new one"]
        : given(view, action.record);
    case "MarkCluster":
      return adoption(view, action.change.adopting);
    case "UpdateMember":
      return (
        volumeChange(find(view, action.member), action.change.volumeUID) ??
        templateChange(view, find(view, action.member), action.change.template) ??
        shutOut(view, find(view, action.member), action.change.template)
      );
    case "RotateAuthority":
      if (action.turn === "Replace") return replacement(view, action.plane);
      // Everybody was seen to accept both before it was turned around for the first time; and what is aborted has
      // given nobody a certificate.
      return action.turn === "Reverse" || action.turn === "Abort"
        ? undefined
        : rotation(view, action.plane, action.to);
    case "ChangeAuth":
      return lockout(view, action.change);
    default:
      return undefined;
  }
}

/** Whoever begins with data gets what was settled for it before, and nothing else (I4). */
function given({ observation: { cluster } }: View, record: NewMemberRecord): Violation | undefined {
  if (!record.joined) return undefined;
  const settled = cluster.marks.adopting?.members.find(({ name }) => name === record.name);
  const isSame =
    settled?.memberID === record.memberID && (settled?.volumeUID ?? NO_VOLUME) === record.volumeUID;
  return isSame ? undefined : ["one-volume", `${record.name} was not given the volume ${record.volumeUID}`];
}

/** Of every volume that is taken over, its files were read, or what is written on it says whose it was (I9). */
function adoption({ observation }: View, mark: AdoptionMark | undefined): Violation | undefined {
  for (const { name, memberID, volumeUID } of mark?.members ?? []) {
    if (volumeUID === undefined) continue;
    const volume = observation.platform.adoption?.volumes.find(({ uid }) => uid === volumeUID);
    const { directory, identity } = volume ?? {};
    const isIts =
      directory?.state === "data"
        ? directory.clusterID === mark?.clusterID && directory.memberID === memberID
        : identity?.memberID === memberID;
    if (!isIts) return ["one-volume", `${volume?.object ?? volumeUID} does not hold the data of ${name}`];
  }
  return undefined;
}

/** Nobody is shown a certificate that it does not accept: said of every member that etcd has not removed (R45). */
function rotation(view: View, plane: Plane, to: RotationPhase): Violation | undefined {
  const { other, current } = view.observation.platform.authorities?.[plane] ?? {};
  const present = view.members.filter((member) => !hasLeft(view, member));
  for (const { name, record, trust, upToDate } of present) {
    const { client, peer } = record.template.tls.effective ?? {};
    const recorded = (plane === "client" ? client : peer)?.trust ?? [];
    const { accepts, shows } = trust?.[plane] ?? {};
    if (to === "Reissue" && needsTrust(record.template, plane) && accepts !== other)
      return ["trust", `${name} was not seen to accept certificates of the new ${plane} CA`];
    if (to === "Drop" && isSecure(record.template.tls, plane) && shows !== current)
      return ["trust", `${name} was not seen to serve a certificate of the new ${plane} CA`];
    if (to === "Steady" && other !== undefined && (recorded.includes(other) || !upToDate))
      return ["trust", `${name} still trusts the old ${plane} CA`];
  }
  return undefined;
}

/** Who still runs would accept nobody any more, and nobody it. */
function replacement({ observation, members, now }: View, plane: Plane): Violation | undefined {
  const running = members.filter(({ record, workload }) => record.run || workload.state !== "absent");
  if (running.length > 0) return ["trust", `${running.map(({ name }) => name).join(", ")} may run`];
  const { expiresAt = Infinity } = observation.platform.authorities?.[plane] ?? {};
  return expiresAt < now ? undefined : ["trust", `the ${plane} CA has not expired`];
}

/** With auth on, whoever lacks the role root can undo nothing (R39, R40): root and we ourselves keep it. */
function lockout({ observation: { auth } }: View, change: AuthChange): Violation | undefined {
  const keepers = ["root", auth?.self];
  const takes =
    change.do === "DeleteUser" ||
    (change.do === "RevokeRole" && change.role === "root") ||
    change.do === "EnableAuth";
  if (!takes) return undefined;
  if (change.do !== "EnableAuth")
    // Before auth is on, nobody needs a right: then it may be added again with the password that it should have.
    return keepers.includes(change.user) && auth?.etcd?.enabled !== false
      ? ["auth-lockout", `user ${change.user} is needed to administer auth`]
      : undefined;
  const lacking = keepers.filter((user) => !own(auth?.etcd?.users ?? {}, user ?? "")?.includes("root"));
  if (lacking.length > 0) return ["auth-lockout", `user ${lacking.join(", ")} does not have the role root`];
  const unset = keepers.filter((user) => own(auth?.etcd?.passwords ?? {}, user ?? "") === undefined);
  if (auth?.canActAsRoot === false && unset.length > 0)
    return ["auth-lockout", `the password of user ${unset.join(", ")} was not set, so it may be another one`];
  return auth?.etcd?.predicted
    ? ["auth-lockout", "users and roles were not read back after the last change"]
    : undefined;
}

/** Without a person nothing is given up that somebody may still have (R22). */
function givenUp(view: View): Violation | undefined {
  const others = view.staying.filter((one) => isOrWasVoter(view, one));
  const doubtful = others.find((one) => one.directory?.state !== "data" && !isProvenGone(one));
  if (view.hasQuorum || !isAutomatic(view))
    return ["data-given-up", "a recovery without a person was not asked for, or there is quorum"];
  return doubtful && ["data-given-up", `it is not proven that the data of ${doubtful.name} is gone`];
}

function find(view: View, name: string): MemberView | undefined {
  return view.members.find((member) => member.name === name);
}

/** Leadership of a member that does not serve ends in an election at best. */
function leadership(member: MemberView | undefined, memberID: string): Violation | undefined {
  const { isVoter = false, healthy = false, entry, name = "the member" } = member ?? {};
  if (entry?.id !== memberID || !isVoter)
    return ["healthy-leader", `${name} is not a voter with ID ${memberID}`];
  return healthy ? undefined : ["healthy-leader", `${name} is not healthy, so it must not be made leader`];
}

/** Everybody else can dial it then (R52), and nobody becomes a voter by it (R9). */
function newURL(
  { staying }: View,
  member: MemberView | undefined,
  memberID: string,
  peerURL: string,
): Violation | undefined {
  const { entry, isVoter = false, name = "the member" } = member ?? {};
  if (entry?.id !== memberID || !isVoter) return ["peers", `${name} is not a voter with ID ${memberID}`];
  if (!entry.peerURLs.some((url) => isSamePeer(url, peerURL)))
    return ["peers", `${peerURL} is another place than that of ${name}`];
  const plain = staying.find(({ record }) => !isSecure(record.template.tls, "peer"));
  return peerURL.startsWith("https:") && plain
    ? ["peers", `${plain.name} has no certificates to reach ${name} by`]
    : undefined;
}

function removal(view: View, memberID: string): Violation | undefined {
  const entry = view.observation.etcd.list?.members.find((candidate) => candidate.id === memberID);
  if (entry === undefined || entry.isLearner) return undefined;
  const member = view.members.find((candidate) => candidate.entry?.id === memberID);
  const others = member ? healthyVotersBut(view, member) : view.healthyVoters;
  if (survivesRemoval(view.voters, others)) return undefined;
  return [
    "quorum",
    `without ${entry.name || memberID} only ${others} of ${view.voters - 1} voters would be healthy`,
  ];
}

/**
 * Stopping a voter that serves, of a cluster that is meant to. Sizes 1 and 2 cannot restart without a gap (R2). Whether it
 * serves is not only for us to say: one whose container is ready does, and so do the others, whether we see them or not (H16).
 */
function stop(view: View, member: MemberView | undefined): Violation | undefined {
  const meantToServe = !view.observation.cluster.deleting && view.spec.replicas > 0;
  if (!meantToServe || !member || member.record.token !== view.token) return undefined;
  if (!isOrWasVoter(view, member) || !serves(member) || isReplaced(view)) return undefined;
  const voters = view.members.filter((other) => isOrWasVoter(view, other));
  const size = view.voters || voters.length;
  const others = voters.filter((other) => other !== member && serves(other)).length;
  if (size <= 2 || others >= quorum(size)) return undefined;
  return ["quorum", `without ${member.name} only ${others} of ${size} voters are healthy`];
}

/** All members are stopped for a restore that a person approved, once its snapshot is at hand and until it has begun. */
function isReplaced({ observation: { operations, platform, cluster } }: View): boolean {
  const { fetched } = platform;
  return operations.some(
    ({ task, status, uid }) =>
      task.kind === "restore" &&
      task.approve === fetched?.plan &&
      fetched !== undefined &&
      status.phase === "Running" &&
      cluster.marks.recovered?.operation !== uid,
  );
}

function serves({ healthy, outOfReach }: MemberView): boolean {
  return healthy || outOfReach;
}

function volume(view: View, member: MemberView | undefined, uid: string): Violation | undefined {
  if (!member) return undefined;
  if (member.entry)
    return ["volume-in-use", `${member.name} is in etcd's member list, so its volume ${uid} is in use`];
  const { record, workload } = member;
  if (!record.leaving && !view.observation.cluster.deleting) {
    return ["volume-in-use", `${member.name} is not leaving, so its volume ${uid} is kept`];
  }
  if (workload.state === "running")
    return ["volume-in-use", `${member.name} still runs on its volume ${uid}`];
  return undefined;
}

/** A template that nobody was seen well with goes to one running member, not to two (H16). */
function templateChange(
  view: View,
  member: MemberView | undefined,
  template: MemberTemplate | undefined,
): Violation | undefined {
  if (!template || !member || isApproved(view, "restart", member)) return undefined;
  const first = triedBy(view, member, template);
  return (
    first && ["untried-template", `${first.name} has this template and has not been healthy with it yet`]
  );
}

/** The first member that no longer serves clients in some way shuts them out: only when that was decided (R56). */
function shutOut(
  view: View,
  member: MemberView | undefined,
  template: MemberTemplate | undefined,
): Violation | undefined {
  if (!template || !member || !view.established) return undefined;
  const { cluster, platform } = view.observation;
  const ends = waysOf(member.record.template.tls).filter((way) => !waysOf(template.tls).includes(way));
  const others = view.staying.filter((other) => other !== member);
  const [first] = ends.filter((way) =>
    others.every(({ record }) => waysOf(record.template.tls).includes(way)),
  );
  if (first === undefined || cluster.approved === closingWord(cluster, template)) return undefined;
  const { proceed, after = "0s" } = cluster.spec.tls.transition ?? {};
  const since = platform.clientsChooseSince ?? Infinity;
  return proceed === "After" && view.now >= since + millisecondsOf(after)
    ? undefined
    : [
        "clients",
        `clients that come to ${member.name} by ${first} would be shut out before that was approved`,
      ];
}

function volumeChange(member: MemberView | undefined, uid: string | undefined): Violation | undefined {
  const before = member?.record.volumeUID;
  if (uid === undefined || before === undefined || before === uid) return undefined;
  return ["one-volume", `${member?.name} may only ever use the volume ${before}, not ${uid}`];
}
