/**
 * The status of a cluster, from what was seen and decided: written on every pass, needed by nobody to go on.
 * `previous` only serves to keep times of transition, the highest revision, and the start of a wait.
 */
import type { EtcdClusterStatus, MemberStatus, PlanStep } from "../../api/etcd-cluster-status.ts";
import { BACKED_UP, CLUSTER_CONDITIONS, type ClusterConditionType } from "../../api/status-words.ts";
import type { Decision } from "../action.ts";
import { backedUp } from "./backed-up.ts";
import { condition, findCondition, sentence, timestamp, type SeenAt } from "./condition.ts";
import {
  authReady,
  available,
  corrupt,
  degraded,
  quorate,
  spaceLow,
  tlsReady,
  type Certificates,
} from "./conditions.ts";
import { memberRole } from "./member.ts";
import { sayHealth } from "../messages/condition-verdicts.ts";
import { recoveryOf } from "./recovery.ts";
import { phaseOf } from "./phase.ts";
import { progressOf, readyOf, workingSince, workOf } from "./readiness.ts";
import { clientURLOf } from "../config/flags.ts";
import type { Observation } from "../observation.ts";
import { seemsHealthy } from "../assess/out-of-reach.ts";
import { answeredRevision } from "../assess/answered-revision.ts";
import { acceptingRevision } from "../assess/approvals.ts";
import { quotaFullAt } from "../assess/growth.ts";
import { targetOf } from "../template/target.ts";
import { effective } from "../template/effective.ts";
import { sameTemplate, templateFor } from "../template/template.ts";
import { compareVersions, parseVersion } from "../version/version.ts";
import { raftLag, viewOf, type MemberView, type View } from "../view.ts";

/** What core cannot see: it is passed through, or told in conditions. */
export interface GivenStatus {
  readonly plan?: readonly PlanStep[];
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
const MOST_CERTIFICATES = 64;
const MOST_STEPS = 64;
const MOST_ENDPOINTS = 32;
const MOST_WARNINGS = 32;
const MOST_APPROVALS = 16;

export function statusOf(
  observation: Observation,
  decision: Decision,
  previous: EtcdClusterStatus | undefined,
  given: GivenStatus = {},
): EtcdClusterStatus {
  const view = viewOf(observation);
  const { cluster, etcd } = observation;
  const voters = votersOf(view);
  const revision = highestRevision(view, previous);
  const fullAt = quotaFullAt(view, timeOf(previous?.quotaFullAt));
  const approvals = approvalsOf(decision);
  const recovery = recoveryOf(view);
  const clusterID =
    etcd.list?.clusterID ?? (view.established ? cluster.marks.established?.clusterID : undefined);
  return {
    observedGeneration: cluster.generation,
    ...judgedOf(view, decision, previous, given),
    ...(clusterID !== undefined && { clusterID }),
    ...(view.leader && { leader: view.leader.name }),
    version: versionOf(view),
    replicas: etcd.list ? view.voters : voters.filter(({ record }) => record.run).length,
    readyReplicas: voters.filter(seemsHealthy).length,
    updatedReplicas: updatedOf(view, voters).length,
    ...(given.selector !== undefined && { selector: given.selector }),
    endpoints: voters
      .filter(({ fenced }) => !fenced)
      .map(({ record }) => clientURLOf(record))
      .slice(0, MOST_ENDPOINTS),
    ...(given.externalEndpoints?.length && { externalEndpoints: [...given.externalEndpoints] }),
    ...(given.clientSecret !== undefined && { clientSecret: given.clientSecret }),
    ...(given.certificates?.all?.length && {
      certificates: given.certificates.all
        .slice(0, MOST_CERTIFICATES)
        .map(({ name, expires }) => ({ name, expires: timestamp(expires) })),
    }),
    members: view.members.slice(0, MOST_MEMBERS).map((member) => memberStatus(view, member, given)),
    ...(revision > 0 && { revision }),
    ...(fullAt !== undefined && { quotaFullAt: timestamp(fullAt) }),
    ...(recovery && { recovery }),
    plan: (given.plan ?? []).slice(0, MOST_STEPS),
    ...(approvals.length > 0 && { approvals }),
    ...(given.warnings?.length && { warnings: given.warnings.slice(0, MOST_WARNINGS) }),
    ...(given.notApplicable?.length && { notApplicable: [...given.notApplicable] }),
  };
}

function timeOf(text: string | undefined): number | undefined {
  const at = Date.parse(text ?? "");
  return Number.isNaN(at) ? undefined : at;
}

/** What waits for a person's word; one word may be what several wait for. */
function approvalsOf({ holds }: Decision): NonNullable<EtcdClusterStatus["approvals"]> {
  const found = new Map<string, string>();
  for (const { approval, message } of holds)
    if (approval && !found.has(approval.word)) found.set(approval.word, sentence(message));
  return [...found].slice(0, MOST_APPROVALS).map(([approval, message]) => ({ approval, message }));
}

/** The conditions, and what follows from them: the phase, and the sentence that explains it. */
function judgedOf(
  view: View,
  decision: Decision,
  previous: EtcdClusterStatus | undefined,
  given: GivenStatus,
): Pick<EtcdClusterStatus, "phase" | "message" | "conditions"> {
  const before = (type: ClusterConditionType) => findCondition(previous?.conditions, type);
  const problems = given.problems ?? [];
  const work = workOf(decision, problems, given.failure);
  const since = workingSince(view, { reconciling: before("Reconciling"), stalled: before("Stalled") });
  const Quorate = quorate(view);
  const judged = {
    ...progressOf(view, work, since, Quorate),
    Available: available(view),
    Degraded: degraded(view, problems),
    Quorate,
    TLSReady: tlsReady(view, given.certificates),
    AuthReady: authReady(view),
    SpaceLow: spaceLow(view, before("SpaceLow")?.status),
    Corrupt: corrupt(view),
  };
  const verdicts = { Ready: readyOf(view, judged, work, healthOf(view)), ...judged };
  const seenAt: SeenAt = { now: view.now, generation: view.observation.cluster.generation };
  const backups = backedUp(view);
  const conditions = [
    ...CLUSTER_CONDITIONS.flatMap((type) => {
      const verdict = verdicts[type];
      return verdict ? [condition(type, verdict, before(type), seenAt)] : [];
    }),
    ...(backups
      ? [condition(BACKED_UP, backups, findCondition(previous?.conditions, BACKED_UP), seenAt)]
      : []),
  ];
  const voters = votersOf(view);
  const allUpdated = updatedOf(view, voters).length === voters.length;
  return {
    phase: phaseOf(view, decision, verdicts, work, allUpdated),
    message: findCondition(conditions, "Ready")?.message,
    conditions,
  };
}

function healthOf(view: View): string {
  const voters = votersOf(view);
  const version = versionOf(view).current ?? view.spec.version;
  return sayHealth({ healthy: voters.filter(seemsHealthy).length, voters: voters.length, version });
}

/** Records that vote, or, while nobody can be asked, that are known to have joined to vote. */
function votersOf(view: View): MemberView[] {
  return view.observation.etcd.list
    ? view.members.filter((member) => member.isVoter)
    : view.staying.filter(({ record }) => record.role === "Voter" && record.joined);
}

function updatedOf(view: View, voters: readonly MemberView[]): MemberView[] {
  const wanted = effective(view, templateFor(view.spec, view.spec.version));
  return voters.filter(
    ({ upToDate, record }) => upToDate && record.run && sameTemplate(record.template, wanted),
  );
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

/**
 * A high-water mark: after a restore the next revision must be above everything a watcher has ever seen. Where a person
 * accepted older data it begins again, or the next operator would take that data for a loss.
 */
function highestRevision(view: View, previous: EtcdClusterStatus | undefined): number {
  const { approved } = view.observation.cluster;
  const before = previous?.revision ?? 0;
  const isAccepted = approved === acceptingRevision(before) && view.hasQuorum;
  return Math.max(isAccepted ? 0 : before, answeredRevision(view));
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
    role: memberRole(view, member),
    healthy: member.healthy && alarms.length === 0,
    ...(member.fenced && { fenced: true }),
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
