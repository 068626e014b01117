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
import { conditionVerdict as said } from "../messages/condition-verdicts.ts";
import { reasonOf, sentenceOf } from "../messages/table.ts";
import { quorum } from "../quorum.ts";
import type { Rule } from "../rule.ts";
import { sameWays } from "../template/client-ways.ts";
import { tokensOf } from "../assess/tokens.ts";
import { FULL_FILE, LOW_SPACE, ROOM_AGAIN, spaceOf } from "../assess/space.ts";
import { auth as authRule } from "../rules/auth.ts";
import { corrupt as corruptRule } from "../rules/corrupt.ts";
import { expiredAuthority } from "../rules/expired-authority.ts";
import { quorumLost } from "../rules/quorum-lost.ts";
import { regainAccess } from "../rules/regain-access.ts";
import { trouble } from "../assess/trouble.ts";
import { peerPhase } from "../template/peer-plane.ts";
import { runningTLS } from "../template/running-tls.ts";
import { isOrWasVoter, namesOf, unhealthyVoters, type MemberView, type View } from "../view.ts";
import { isFalse, isTrue, isUnknown, no, unknown, yes, type Verdict } from "./condition.ts";
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
    const unseen = view.members.filter(({ isVoter, outOfReach }) => isVoter && outOfReach).length;
    return isTrue(said("VotersHealthy", { healthy: view.healthyVoters, voters: view.voters, unseen, spare }));
  }
  if (isServed(view))
    return isTrue(said("QuorumAnswers", { healthy: view.healthyVoters, voters: view.voters }));
  return whyNoQuorum(view, isFalse);
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
  if (!isServed(view)) return whyNoQuorum(view, isFalse);
  if (!view.open) return isFalse(said("ServiceAwaited", {}));
  const { alarms } = view.observation.etcd;
  if (alarms.some(({ alarm }) => alarm === "CORRUPT")) return isFalse(said("AlarmRefusesWrites", {}));
  const fenced = shutOut(view);
  if (fenced) return no(reasonOf(fenced.code), sentenceOf(fenced));
  if (alarms.some(({ alarm }) => alarm === "NOSPACE")) return isFalse(said("OnlyReads", {}));
  const serving = view.members.filter(({ isVoter, healthy, fenced }) => isVoter && healthy && !fenced).length;
  return isTrue(said("VotersServe", { serving, voters: view.voters }));
}

/** Less is well than should be, for whatever cause. A cluster that sleeps because it was told to is well. */
export function degraded(view: View, problems: readonly string[]): Verdict {
  if (view.observation.cluster.deleting) return isFalse(said("IsDeleted", {}));
  if (view.spec.replicas === 0) return isFalse(said("Sleeps", {}));
  if (!isServed(view)) {
    const why = whyNoQuorum(view, isTrue);
    if (view.established || why.status === "Unknown") return why;
  }
  const bad = corrupt(view);
  if (bad.status === "True") return yes(bad.reason, bad.message);
  if (view.observation.etcd.alarms.some(({ alarm }) => alarm === "NOSPACE"))
    return isTrue(said("WritesRefused", {}));
  const fenced = shutOut(view);
  if (fenced) return yes(reasonOf(fenced.code), sentenceOf(fenced));
  const down = unhealthyMembers(view);
  if (down.length > 0) return yes(reasonOfDown(down), down.map(describeMember).join("; "));
  const foreign = foreignMembers(view);
  if (foreign.length > 0)
    return yes("ForeignMember", foreign.map((entry) => describeForeign(view, entry)).join("; "));
  const [problem] = problems;
  if (problem !== undefined) return yes("PlatformProblem", problems.join("; "));
  if (!view.established) return isFalse(said("FirstStart", {}));
  const hidden = view.staying.filter(({ outOfReach }) => outOfReach);
  if (hidden.length > 0) return unknown("MemberUnreachable", whyUnreachable(hidden));
  return starting(view) ?? isFalse(said("AllHealthy", { members: view.members.length }));
}

/** Members on their first way in are no loss, and are not healthy yet either. */
function starting(view: View): Verdict | undefined {
  const coming = view.staying.filter(({ healthy, record }) => !healthy && !record.joined);
  if (coming.length === 0) return undefined;
  const healthy = view.staying.filter((member) => member.healthy).length;
  const waits = coming.map((member) => ({ member: member.name, trouble: trouble(member) }));
  return isFalse(said("SomeStart", { healthy, members: view.staying.length, starting: waits }));
}

export function tlsReady(view: View, certificates: Certificates | undefined): Verdict {
  const records = view.staying.map(({ record }) => record);
  const planes = (["client", "peer"] as const).filter((plane) =>
    modesInUse(plane, view.spec.tls, records).some((mode) => mode !== "Disabled"),
  );
  if (planes.length === 0) return isFalse(said("Plaintext", {}));
  if (certificates === undefined) return isUnknown(said("CertificatesUnread", {}));
  const [problem] = certificates.problems;
  if (problem !== undefined)
    return no(certificates.reason ?? "CertificateProblem", certificates.problems.join("; "));
  const expired = Object.entries(certificates.expiry).filter(
    ([, at]) => at <= (certificates.now ?? view.now),
  );
  if (expired.length > 0)
    return isFalse(said("CertificateExpired", { members: expired.map(([name]) => name) }));
  const behind = view.staying.filter((member) => {
    const tls = runningTLS(member);
    return !sameWays(tls, view.spec.tls) || peerPhase(tls, view.spec.tls) !== undefined;
  });
  if (behind.length > 0) return isFalse(said("TlsRollsOut", { members: namesOf(behind) }));
  return isTrue(said("Issued", { planes }));
}

/** Undefined where nobody asked for auth and etcd has none: most clusters have nothing to say about it. */
export function authReady(view: View): Verdict | undefined {
  const { auth: facts } = view.observation;
  const wanted = view.spec.auth;
  if (wanted === undefined && !facts?.etcd?.enabled) return undefined;
  const [outcome] = authRule(view);
  const wait = outcome && "hold" in outcome ? outcome.hold : undefined;
  if (wanted === undefined)
    return wait ? no("AuthEnabledByHand", sayHold(wait)) : isFalse(said("EnabledByHand", {}));
  const [regained] = regainAccess(view);
  if (regained && "act" in regained) return no("RegainingAccess", regained.act.message);
  const etcd = view.hasQuorum ? facts?.etcd : undefined;
  if (!etcd) return isUnknown(said("AuthUnread", {}));
  if (!wanted.enabled) return isFalse(etcd.enabled ? said("AuthDisabling", {}) : said("AuthOff", {}));
  if (wait) return no(wait.reason, sayHold(wait));
  if (!etcd.enabled) return isFalse(said("AuthPrepared", {}));
  if (outcome) return isFalse(said("AuthApplied", {}));
  const users = Object.keys(etcd.users).length;
  const { self = "" } = facts ?? {};
  return isTrue(said("AuthOn", { users, self, tokens: tokensOf(view) }));
}

export function spaceLow(view: View, before: Condition["status"] | undefined): Verdict {
  if (view.observation.etcd.alarms.some(({ alarm }) => alarm === "NOSPACE"))
    return isTrue(said("QuotaFull", {}));
  const shares = view.members.flatMap((member) => {
    const space = spaceOf(member);
    return space ? [{ name: member.name, ...space }] : [];
  });
  if (shares.length === 0) return isUnknown(said("SpaceUnseen", {}));
  const limit = before === "True" ? ROOM_AGAIN : LOW_SPACE;
  const full = shares.filter(({ used, quota }) => used > limit * quota);
  if (full.length > 0) return isTrue(said("DataNearQuota", { members: namesOf(full), limit }));
  const bloated = shares.filter(({ file, quota }) => file > FULL_FILE * quota);
  if (bloated.length > 0) return isTrue(said("FileNearQuota", { members: namesOf(bloated) }));
  return isFalse(said("Room", { limit: LOW_SPACE }));
}

export function corrupt(view: View): Verdict {
  const [outcome] = corruptRule(view);
  if (outcome && "hold" in outcome) return yes("Corrupt", sayHold(outcome.hold));
  const unreadable = view.members.filter((member) => exitOf(member)?.data === "unreadable");
  if (unreadable.length > 0) return isTrue(said("DataUnreadable", { members: namesOf(unreadable) }));
  // A comparison that is due says nothing yet.
  if (outcome && outcome.act.class !== "maintain")
    return isTrue(said("CorruptReported", { step: outcome.act.message }));
  if (!view.hasQuorum) return isUnknown(said("NotCompared", {}));
  return isFalse(said("NoDifference", {}));
}

/** `reported` is what the lack of a quorum means for the condition; where only we do not see one, nothing is known. */
function whyNoQuorum(view: View, reported: typeof isTrue): Verdict {
  if (view.observation.cluster.deleting) return reported(said("IsDeleted", {}));
  if (view.spec.replicas === 0) return reported(said("Sleeps", {}));
  const wait = waitOf(quorumLost, view);
  const expired = wait && expiredInstead(view, wait);
  if (wait?.reason === "EtcdUnreachable") {
    const cause = expired ?? wait;
    return unknown(cause.reason, sayHold(cause));
  }
  if (!view.established) return reported(said("NotThereYet", {}));
  if (!wait) return reported(said("NoneAnswers", {}));
  if (wait.reason !== "Waking") return reported({ reason: wait.reason, message: sayHold(wait) });
  return expired
    ? reported({ reason: expired.reason, message: sayHold(expired) })
    : reported({ reason: "NoQuorum", message: sayHold(wait) });
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
