/**
 * The conditions of a cluster: each a small function from what was seen to yes, no or unknown, with one word
 * for machines and a sentence for people. They look at the view themselves and not at which rule happened
 * to act, so that they are true on every path (I6).
 */
import type { Condition } from "../../api/metadata.ts";
import { modesInUse } from "../config/flags.ts";
import { exitOf } from "../assess/exit-causes.ts";
import { expiredPlanes } from "../assess/expired-authority.ts";
import { describeForeign, foreignMembers } from "../assess/foreign.ts";
import { shutOut } from "../assess/fencing.ts";
import { whyUnreachable } from "../assess/out-of-reach.ts";
import type { Wait } from "../action.ts";
import type { ConditionReason } from "../messages/condition-reasons.ts";
import { reasonOf, sentenceOf } from "../messages/table.ts";
import { quorum } from "../quorum.ts";
import type { Rule } from "../rule.ts";
import { sameWays } from "../template/client-ways.ts";
import { sayTokens } from "../assess/tokens.ts";
import { FULL_FILE, LOW_SPACE, ROOM_AGAIN, spaceOf } from "../assess/space.ts";
import { auth as authRule } from "../rules/auth.ts";
import { corrupt as corruptRule } from "../rules/corrupt.ts";
import { expiredAuthority } from "../rules/expired-authority.ts";
import { quorumLost } from "../rules/quorum-lost.ts";
import { regainAccess } from "../rules/regain-access.ts";
import { trouble } from "../assess/trouble.ts";
import { peerPhase } from "../template/peer-plane.ts";
import { runningTLS } from "../template/running-tls.ts";
import { isOrWasVoter, names, unhealthyVoters, type MemberView, type View } from "../view.ts";
import { no, unknown, yes, type Verdict } from "./condition.ts";
import { describeMember } from "./member.ts";
import { sayHold } from "./readiness.ts";

/** What only the platform knows. */
export interface Certificates {
  /** What is wrong with them, in words; empty when all are in place. */
  readonly problems: readonly string[];
  /** Of the first of them, where it has one of its own. */
  readonly reason?:
    | "SecretMissing"
    | "CertificateInvalid"
    | "CAChanged"
    | "CertManagerMissing"
    | "CertificatePending";
  /** When the first certificate of each member ends, in milliseconds. */
  readonly expiry: Readonly<Record<string, number>>;
  /** When each certificate ends, those of CAs, the operator and clients too. */
  readonly all?: readonly { readonly name: string; readonly expires: number }[];
  /** The time to hold that against, where the controller's own clock is known to be wrong. */
  readonly now?: number;
}

export function quorate(view: View): Verdict {
  if (view.hasQuorum) {
    const spare = view.healthyVoters - quorum(view.voters);
    const may = spare === 0 ? "none may fail now" : `${spare} more may fail`;
    const hidden = view.members.filter(({ isVoter, outOfReach }) => isVoter && outOfReach).length;
    const unseen = hidden === 0 ? "" : ` and ${hidden} cannot be reached`;
    return yes("Quorum", `${view.healthyVoters} of ${view.voters} voters are healthy${unseen}: ${may}`);
  }
  if (isServed(view))
    return yes(
      "Quorum",
      `etcd answers with a quorum, of which the operator sees ${view.healthyVoters} of ${view.voters} voters healthy: none may fail now`,
    );
  return whyNoQuorum(view, no);
}

/**
 * A read through quorum is answered, also where fewer Pods than a quorum count as ours and running: one that hangs in
 * termination, or that somebody took from the cluster, serves on.
 */
function isServed(view: View): boolean {
  const { etcd, cluster } = view.observation;
  if (view.hasQuorum || etcd.list?.linearizable !== true) return view.hasQuorum;
  const isOurs = etcd.list.clusterID === cluster.marks.established?.clusterID;
  const isMeantTo = !cluster.deleting && view.spec.replicas > 0 && view.established;
  return isOurs && isMeantTo && view.members.every(({ forgot }) => forgot === undefined);
}

/** Clients can read and write. */
export function available(view: View): Verdict {
  if (!isServed(view)) return whyNoQuorum(view, no);
  if (!view.open)
    return no("Booting", "the first members serve, and the client Service is about to be created");
  const { alarms } = view.observation.etcd;
  if (alarms.some(({ alarm }) => alarm === "CORRUPT"))
    return no("Corrupt", "etcd answers reads but refuses writes, since a CORRUPT alarm is armed");
  const fenced = shutOut(view);
  if (fenced) return no(reasonOf(fenced.code), sentenceOf(fenced));
  if (alarms.some(({ alarm }) => alarm === "NOSPACE"))
    return no("NoSpace", "etcd answers reads and deletes but refuses other writes, since its quota is full");
  const serving = view.members.filter(({ isVoter, healthy, fenced }) => isVoter && healthy && !fenced).length;
  return yes("Quorum", `${serving} of ${view.voters} voters serve clients`);
}

/** Less is well than should be, for whatever cause. A cluster that sleeps because it was told to is well. */
export function degraded(view: View, problems: readonly string[]): Verdict {
  if (view.observation.cluster.deleting) return no("Deleting", "the cluster is being deleted");
  if (view.spec.replicas === 0) return no("Hibernated", "spec.replicas is 0: no member is meant to run");
  if (!isServed(view)) {
    const why = whyNoQuorum(view, yes);
    if (view.established || why.status === "Unknown") return why;
  }
  const bad = corrupt(view);
  if (bad.status === "True") return yes(bad.reason, bad.message);
  if (view.observation.etcd.alarms.some(({ alarm }) => alarm === "NOSPACE"))
    return yes("NoSpace", "etcd refuses writes, since its quota is full");
  const fenced = shutOut(view);
  if (fenced) return yes(reasonOf(fenced.code), sentenceOf(fenced));
  const down = unhealthyMembers(view);
  if (down.length > 0) return yes(reasonOfDown(down), down.map(describeMember).join("; "));
  const foreign = foreignMembers(view);
  if (foreign.length > 0)
    return yes("ForeignMember", foreign.map((entry) => describeForeign(view, entry)).join("; "));
  const [problem] = problems;
  if (problem !== undefined) return yes("PlatformProblem", problems.join("; "));
  if (!view.established) return no("Booting", "the first members start");
  const hidden = view.staying.filter(({ outOfReach }) => outOfReach);
  if (hidden.length > 0) return unknown("MemberUnreachable", whyUnreachable(hidden));
  return starting(view) ?? no("AllHealthy", `all ${view.members.length} members are healthy`);
}

/** Members on their first way in are no loss, and are not healthy yet either. */
function starting(view: View): Verdict | undefined {
  const coming = view.staying.filter(({ healthy, record }) => !healthy && !record.joined);
  if (coming.length === 0) return undefined;
  const well = view.staying.filter(({ healthy }) => healthy).length;
  const waits = coming.map((member) => `${member.name} is starting (${trouble(member)})`).join("; ");
  return no("MemberStarting", `${well} of ${view.staying.length} members are healthy; ${waits}`);
}

export function tlsReady(view: View, certificates: Certificates | undefined): Verdict {
  const records = view.staying.map(({ record }) => record);
  const planes = (["client", "peer"] as const).filter((plane) =>
    modesInUse(plane, view.spec.tls, records).some((mode) => mode !== "Disabled"),
  );
  if (planes.length === 0) return no("Disabled", "spec.tls turns encryption off on both planes");
  if (certificates === undefined) return unknown("NotObserved", "the certificates could not be read");
  const [problem] = certificates.problems;
  if (problem !== undefined)
    return no(certificates.reason ?? "CertificateProblem", certificates.problems.join("; "));
  const expired = Object.entries(certificates.expiry).filter(
    ([, at]) => at <= (certificates.now ?? view.now),
  );
  if (expired.length > 0)
    return no("Expired", `a certificate of ${expired.map(([name]) => name).join(", ")} has expired`);
  const behind = view.staying.filter((member) => {
    const tls = runningTLS(member);
    return !sameWays(tls, view.spec.tls) || peerPhase(tls, view.spec.tls) !== undefined;
  });
  if (behind.length > 0) return no("RollingOut", `${names(behind)} do not run with spec.tls yet`);
  const off =
    planes.length === 1 ? `; the ${planes[0] === "client" ? "peer" : "client"} plane uses plaintext` : "";
  return yes("Issued", `certificates are in place on the ${planes.join(" and ")} plane${off}`);
}

/** Undefined where nobody asked for auth and etcd has none: most clusters have nothing to say about it. */
export function authReady(view: View): Verdict | undefined {
  const { auth: facts } = view.observation;
  const wanted = view.spec.auth;
  if (wanted === undefined && !facts?.etcd?.enabled) return undefined;
  const [outcome] = authRule(view);
  const wait = outcome && "hold" in outcome ? outcome.hold : undefined;
  if (wanted === undefined)
    return no("AuthEnabledByHand", wait ? sayHold(wait) : "etcd has auth enabled, and spec.auth is absent");
  const [regained] = regainAccess(view);
  if (regained && "act" in regained) return no("RegainingAccess", regained.act.message);
  const etcd = view.hasQuorum ? facts?.etcd : undefined;
  if (!etcd) return unknown("NotObserved", "users and roles could not be read from etcd");
  if (!wanted.enabled)
    return etcd.enabled
      ? no("Disabling", "auth is being disabled")
      : no("Disabled", "spec.auth.enabled is false");
  if (wait) return no(wait.reason, sayHold(wait));
  if (!etcd.enabled) return no("Enabling", "users and roles are being prepared; auth is not enabled yet");
  if (outcome) return no("Applying", "users and roles are being changed in etcd");
  const users = Object.keys(etcd.users).length;
  const { self = "" } = facts ?? {};
  const enabled = `auth is enabled with ${users} users; the operator works as user ${self}`;
  return yes("Enabled", `${enabled}; ${sayTokens(view)}`);
}

export function spaceLow(view: View, before: Condition["status"] | undefined): Verdict {
  if (view.observation.etcd.alarms.some(({ alarm }) => alarm === "NOSPACE"))
    return yes("NoSpace", "the quota is full; delete keys or raise spec.options.quotaBackendBytes");
  const shares = view.members.flatMap((member) => {
    const space = spaceOf(member);
    return space ? [{ name: member.name, ...space }] : [];
  });
  if (shares.length === 0) return unknown("NotObserved", "no member answers");
  const limit = before === "True" ? ROOM_AGAIN : LOW_SPACE;
  const full = shares.filter(({ used, quota }) => used > limit * quota);
  if (full.length > 0)
    return yes(
      "DataNearQuota",
      `the data of ${names(full)} fills more than ${limit * 100} % of the quota; delete keys or raise spec.options.quotaBackendBytes`,
    );
  const bloated = shares.filter(({ file, quota }) => file > FULL_FILE * quota);
  if (bloated.length > 0)
    return yes("FileNearQuota", `the database file of ${names(bloated)} is nearly as large as the quota`);
  return no("Room", `less than ${LOW_SPACE * 100} % of the quota is used`);
}

export function corrupt(view: View): Verdict {
  const [outcome] = corruptRule(view);
  if (outcome && "hold" in outcome) return yes("Corrupt", sayHold(outcome.hold));
  const unreadable = view.members.filter((member) => exitOf(member)?.data === "unreadable");
  if (unreadable.length > 0) return yes("Unreadable", `the data of ${names(unreadable)} cannot be read`);
  // A comparison that is due says nothing yet.
  if (outcome && outcome.act.class !== "maintain")
    return yes("Corrupt", `members report corrupt data: ${outcome.act.message}`);
  if (!view.hasQuorum) return unknown("NotObserved", "without quorum the members cannot be compared");
  return no("NoDifference", "no alarm is armed, and the newest comparison found no difference");
}

/** `told` is what the lack of a quorum means for the condition; where only we do not see one, nothing is known. */
function whyNoQuorum(view: View, reported: typeof yes): Verdict {
  if (view.observation.cluster.deleting) return reported("Deleting", "the cluster is being deleted");
  if (view.spec.replicas === 0)
    return reported("Hibernated", "spec.replicas is 0: no member is meant to run");
  const wait = waitOf(quorumLost, view);
  const expired = wait && expiredInstead(view, wait);
  if (wait?.reason === "EtcdUnreachable") {
    const cause = expired ?? wait;
    return unknown(cause.reason, sayHold(cause));
  }
  if (!view.established) return reported("Booting", "the cluster does not exist yet");
  if (!wait) return reported("NoQuorum", "no quorum answers");
  if (wait.reason !== "Waking") return reported(wait.reason, sayHold(wait));
  return expired ? reported(expired.reason, sayHold(expired)) : reported("NoQuorum", sayHold(wait));
}

/**
 * The hold of an expired CA, where that is why nobody is seen to serve: it is the client CA that we are not let in by, or
 * all members that are awaited run. Anything else that is in the way is told first, and so is a pause, which has to end
 * before the way out can begin.
 */
function expiredInstead(view: View, wait: Wait): Wait | undefined {
  if (view.spec.paused) return undefined;
  const awaited = view.members.filter((member) => isOrWasVoter(view, member) && !member.healthy);
  const isCause =
    wait.reason === "EtcdUnreachable"
      ? expiredPlanes(view).some(({ plane }) => plane === "client")
      : wait.code === "QuorumAwaited" && awaited.every(({ workload }) => workload.state === "running");
  return isCause ? waitOf(expiredAuthority, view) : undefined;
}

function waitOf(rule: Rule, view: View): Wait | undefined {
  const [outcome] = rule(view);
  return outcome && "hold" in outcome ? outcome.hold : undefined;
}

/** Members that should serve and do not. Newcomers on their first way in are no loss. */
function unhealthyMembers(view: View): MemberView[] {
  const known = view.staying.filter(({ healthy, outOfReach, record, workload }) => {
    if (healthy || outOfReach) return false;
    return record.joined || workload.state === "exited";
  });
  const voters = unhealthyVoters(view).filter((member) => !known.includes(member) && !member.outOfReach);
  return [...known, ...voters.filter(({ record }) => record.joined)];
}

function reasonOfDown(down: readonly MemberView[]): ConditionReason {
  return down.every(({ workload }) => workload.state !== "exited" && workload.state !== "waiting")
    ? "MemberRestarting"
    : "MemberDown";
}
