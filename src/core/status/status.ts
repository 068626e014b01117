/**
 * The status of a cluster, from what was seen and decided: written on every pass, needed by nobody to go on.
 * `previous` only serves to keep times of transition, the highest revision, and the start of a wait.
 */
import type { EtcdClusterStatus, MemberStatus, PlanStep } from "../../api/etcd-cluster-status.ts";
import type { Condition } from "../../api/metadata.ts";
import type { Decision } from "../action.ts";
import {
  available,
  condition,
  corrupt,
  degraded,
  mainHold,
  progressing,
  quorate,
  sayHold,
  sentence,
  spaceLow,
  timestamp,
  tlsReady,
  type Certificates,
} from "./conditions.ts";
import { clientURLOf } from "../config/flags.ts";
import type { Observation } from "../observation.ts";
import { seemsWell } from "../assess/out-of-reach.ts";
import { targetOf } from "../template/target.ts";
import { sameTemplate, templateFor } from "../template/template.ts";
import { compareVersions, parseVersion } from "../version/version.ts";
import { raftLag, viewOf, type MemberView, type View } from "../view.ts";

/** What core cannot see: it is passed through, or told in conditions. */
export interface GivenStatus {
  readonly plan?: readonly PlanStep[];
  readonly lastDisruption?: EtcdClusterStatus["lastDisruption"];
  readonly notApplicable?: readonly string[];
  /** Of the Pods that vote, where there are any. */
  readonly selector?: string;
  /** What of the spec is allowed but seldom meant. */
  readonly warnings?: readonly string[];
  readonly clientSecret?: string;
  /** Client URLs from outside, where the platform has such. */
  readonly externalEndpoints?: readonly string[];
  readonly certificates?: Certificates;
  /** Nodes by member name. */
  readonly nodes?: Readonly<Record<string, string>>;
  /** What the platform could not make. */
  readonly problems?: readonly string[];
  /** Why the decided step failed the last time it was tried. */
  readonly failure?: string;
}

const MOST_MEMBERS = 64;
const MOST_STEPS = 64;
const MOST_ENDPOINTS = 32;
const MOST_WARNINGS = 32;

export function statusOf(
  observation: Observation,
  decision: Decision,
  previous: EtcdClusterStatus | undefined,
  given: GivenStatus = {},
): EtcdClusterStatus {
  const view = viewOf(observation);
  const { cluster, etcd } = observation;
  const conditions = conditionsOf(view, decision, previous, given);
  const voters = votersOf(view);
  const revision = highestRevision(view, previous);
  const clusterID =
    etcd.list?.clusterID ?? (view.established ? cluster.marks.established?.clusterID : undefined);
  return {
    observedGeneration: cluster.generation,
    phase: phaseOf(view, decision),
    conditions,
    ...(clusterID !== undefined && { clusterID }),
    ...(view.leader && { leader: view.leader.name }),
    version: versionOf(view),
    replicas: etcd.list ? view.voters : voters.filter(({ record }) => record.run).length,
    readyReplicas: voters.filter(seemsWell).length,
    updatedReplicas: voters.filter((member) => isUpdated(view, member)).length,
    ...(given.selector !== undefined && { selector: given.selector }),
    endpoints: voters.map(({ record }) => clientURLOf(record)).slice(0, MOST_ENDPOINTS),
    ...(given.externalEndpoints?.length && { externalEndpoints: [...given.externalEndpoints] }),
    ...(given.clientSecret !== undefined && { clientSecret: given.clientSecret }),
    members: view.members.slice(0, MOST_MEMBERS).map((member) => memberStatus(view, member, given)),
    ...(revision > 0 && { revision }),
    ...(given.lastDisruption && { lastDisruption: given.lastDisruption }),
    plan: (given.plan ?? []).slice(0, MOST_STEPS),
    ...(given.warnings?.length && { warnings: given.warnings.slice(0, MOST_WARNINGS) }),
    ...(given.notApplicable?.length && { notApplicable: [...given.notApplicable] }),
  };
}

function conditionsOf(
  view: View,
  decision: Decision,
  previous: EtcdClusterStatus | undefined,
  given: GivenStatus,
): Condition[] {
  const before = (type: string) => previous?.conditions?.find((known) => known.type === type);
  const since = workingSince(view, before("Progressing"));
  const verdicts = {
    Available: available(view),
    Progressing: progressing(view, decision, since, given.failure),
    Degraded: degraded(view, given.problems ?? []),
    Quorate: quorate(view),
    TLSReady: tlsReady(view, given.certificates),
    SpaceLow: spaceLow(view, before("SpaceLow")?.status),
    Corrupt: corrupt(view),
  } as const;
  return (Object.keys(verdicts) as (keyof typeof verdicts)[]).map((type) =>
    condition(type, verdicts[type], before(type), view),
  );
}

/**
 * When the work that goes on now began or last moved. A step that succeeded long ago, before the cluster was at
 * rest, says nothing about work that begins now; neither does a wait for an older spec.
 */
function workingSince(view: View, before: Condition | undefined): number {
  const { cluster, platform } = view.observation;
  const moved = platform.progressAt;
  if (!before) return moved ?? view.now;
  if (before.observedGeneration !== cluster.generation) return view.now;
  const changed = Date.parse(before.lastTransitionTime);
  // Written by a clock that was ahead: it says nothing about when that was.
  if (changed > view.now) return moved ?? view.now;
  if (before.status === "True") return Math.max(moved ?? 0, changed);
  // Exceeded before: it stays so until something moves.
  if (before.reason === "DeadlineExceeded") {
    return moved !== undefined && moved > changed
      ? moved
      : changed - view.spec.progressDeadlineSeconds * 1000;
  }
  return view.now;
}

function phaseOf(view: View, decision: Decision): string {
  const { cluster } = view.observation;
  const wait = mainHold(decision.holds);
  const doing = decision.act?.message ?? (wait && sayHold(wait));
  const healthy = `${view.healthyVoters} of ${votersOf(view).length} voters are healthy`;
  if (cluster.deleting) return `Being deleted${doing ? `: ${doing}` : ""}.`;
  if (wait?.reason === "Paused") return `Paused; ${healthy}.`;
  if (decision.act) return `${WORK[decision.act.class]}: ${decision.act.message}.`;
  if (decision.converged) {
    if (wait?.reason === "Hibernated") return sentence(wait.message);
    const foreign = decision.holds.find(({ reason }) => reason === "ForeignMember");
    if (foreign) return `Needs attention: ${sayHold(foreign)}.`;
    return `Healthy: ${healthy}, all run etcd ${versionOf(view).current ?? view.spec.version}.`;
  }
  if (!wait) return `Waiting; ${healthy}.`;
  return wait.next === undefined ? `Waiting: ${wait.message}.` : `Needs attention: ${sayHold(wait)}.`;
}

const WORK = {
  life: "Changing state",
  record: "Working",
  heal: "Healing",
  revert: "Setting right",
  join: "Growing",
  promote: "Growing",
  shrink: "Shrinking",
  roll: "Rolling out",
  maintain: "Maintaining",
} as const;

/** Records that vote, or, while nobody can be asked, that are known to have joined to vote. */
function votersOf(view: View): MemberView[] {
  return view.observation.etcd.list
    ? view.members.filter((member) => member.isVoter)
    : view.staying.filter(({ record }) => record.role === "Voter" && record.joined);
}

function isUpdated(view: View, member: MemberView): boolean {
  const wanted = templateFor(view.spec, view.spec.version);
  return member.upToDate && member.record.run && sameTemplate(member.record.template, wanted);
}

function versionOf(view: View): NonNullable<EtcdClusterStatus["version"]> {
  const running = view.staying
    .map(({ answer, record }) => (answer.reachable ? answer.version : record.template.version))
    .flatMap((text) => parseVersion(text) ?? [])
    .toSorted(compareVersions);
  const [lowest] = running;
  const current = lowest && `${lowest.major}.${lowest.minor}.${lowest.patch}`;
  const { step } = targetOf(view);
  const target = step.kind === "run" || step.kind === "enable-downgrade" ? step.to : undefined;
  const reached =
    view.staying.every(({ record }) => record.template.version === target) && current === target;
  return {
    ...(current !== undefined && { current }),
    ...(target !== undefined && !reached && { target }),
  };
}

/** A high-water mark: after a restore the next revision must be above everything a watcher has ever seen. */
function highestRevision(view: View, previous: EtcdClusterStatus | undefined): number {
  const clusterID = view.observation.cluster.marks.established?.clusterID;
  const isOfThis = ({ answer }: MemberView) =>
    answer.reachable && (clusterID === undefined || answer.clusterID === clusterID);
  const seen = view.members.map((member) =>
    isOfThis(member) && member.answer.reachable ? member.answer.revision : 0,
  );
  return Math.max(0, previous?.revision ?? 0, ...seen);
}

function memberStatus(view: View, member: MemberView, given: GivenStatus): MemberStatus {
  const { answer, entry, record, name } = member;
  const id = entry?.id ?? record.memberID;
  const alarms = view.observation.etcd.alarms
    .filter(({ memberID }) => memberID === id)
    .map(({ alarm }) => alarm);
  const lag = raftLag(view, member);
  const node = given.nodes?.[name];
  const expiry = given.certificates?.expiry[name];
  return {
    name,
    ...(id !== undefined && { id }),
    role: roleOf(view, member),
    healthy: member.healthy && alarms.length === 0,
    ...(answer.reachable && {
      version: answer.version,
      dbSize: answer.dbSize,
      dbSizeInUse: answer.dbSizeInUse,
    }),
    ...(lag !== undefined && { raftLag: lag }),
    ...(alarms.length > 0 && { alarms }),
    ...(node !== undefined && { node }),
    ...(expiry !== undefined && { certExpiry: timestamp(expiry) }),
  };
}

function roleOf(view: View, { entry, isLeader }: MemberView): MemberStatus["role"] {
  if (!entry) return "Unknown";
  if (entry.isLearner) return "Learner";
  if (isLeader) return "Leader";
  return view.leader ? "Follower" : "Unknown";
}
