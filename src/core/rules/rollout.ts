/**
 * Brings members to the target template one at a time, all healthy before each step, followers first and
 * the leader last (R10). Versions cross one minor at a time; a downgrade is told to etcd before any binary
 * changes (R15, H13). Changes that the volume cannot follow are swaps: a newcomer, then the old one goes.
 */
import { approvable } from "../assess/approvals.ts";
import { snapshotBefore, withoutSnapshot } from "../assess/snapshot-before.ts";
import { awaitSnapshot } from "../assess/await-snapshot.ts";
import { needsComparison } from "../assess/compared.ts";
import { canonical } from "../template/hash.ts";
import { asBefore } from "../template/later-fields.ts";
import { sayChange, type TemplateChange } from "../messages/rollouts.ts";
import { act, hold, holdFor, update } from "../steps/outcome.ts";
import type { Outcome } from "../action.ts";
import { HOLDS } from "../steps/hold-classes.ts";
import type { Rule } from "../rule.ts";
import type { MemberTemplate } from "../record.ts";
import { closingWord } from "../template/effective.ts";
import { hasFailed, targetOf, type Target } from "../template/target.ts";
import { movesPeer } from "../template/peer-plane.ts";
import { sameTemplate, templateHash, transition } from "../template/template.ts";
import { compareVersions, minorNumber, minorOf, parseVersion, version } from "../version/version.ts";
import { isResizable, namesOf, type MemberView, type View } from "../view.ts";
import { closeOldLog, leaveOldLog, rememberOldLog } from "../assess/old-log.ts";
import { successor } from "../assess/successor.ts";

/** A canary has to stay healthy for this long before the others follow. */
const CANARY_MS = 3_000;

export const rollout: Rule = (view) => {
  if (!view.established || !view.hasQuorum) return [];
  const target = targetOf(view);
  const { step } = target;
  const template = target.awaited?.template ?? target.template;
  if (step.kind === "refused") return [holdFor(HOLDS.rollouts, step.why)];
  const unhealthy = view.staying.filter((member) => !member.healthy);
  if (unhealthy.length > 0) {
    if (outdatedThan(view, template).length === 0 && step.kind === "run") return [];
    const code = unhealthy.every((member) => member.outOfReach)
      ? "RolloutAwaitsUnreachable"
      : "RolloutAwaitsMembers";
    return [hold(HOLDS.disruptions, code, { members: namesOf(unhealthy) })];
  }
  if (step.kind === "cancel-downgrade") {
    return [act("revert", "DowngradeCancelled", {}, { kind: "CancelDowngrade" })];
  }
  if (step.kind === "enable-downgrade") return [prepareDowngrade(view, step.to)];
  if (step.kind === "leave-old-log") return [leaveOldLog(view)];
  return template ? roll(view, template, step.to, target) : [];
};

function outdatedThan(view: View, template: MemberTemplate | undefined): MemberView[] {
  return template
    ? view.staying.filter(
        (member) => !member.record.retiring && !sameTemplate(member.record.template, template),
      )
    : [];
}

function roll(
  view: View,
  template: MemberTemplate,
  to: string,
  { closing, awaited }: Target,
): readonly Outcome[] {
  const { failedTarget } = view.observation.cluster.marks;
  // What is to follow this template is still asked for: forgotten, it would be tried again and again.
  const isWanted = [templateHash(template), closing?.then].includes(failedTarget?.hash);
  if (failedTarget && !isWanted) {
    return [
      act(
        "record",
        "FailedTargetForgotten",
        {},
        { kind: "MarkCluster", purpose: "forget-failed-target", change: { failedTarget: undefined } },
      ),
    ];
  }
  const other = runsAnotherVersion(view, template);
  if (other) return [other];
  const outdated = outdatedThan(view, template);
  if (outdated.length === 0) {
    const close = closeOldLog(view);
    return close ? [close] : awaitClusterVersion(view, to);
  }
  if (failedTarget && hasFailed(view, template)) {
    const { member, reason } = failedTarget;
    return [hold(HOLDS.rollouts, "RolledBack", { member, why: reason })];
  }
  const approval = awaitApproval(view, template);
  if (approval) return [approval];
  const storage = awaitStorageVersion(view, to);
  if (storage) return [storage];
  const canary = awaitCanary(view, template);
  if (canary) return [canary];
  // Beside a corrupt peer nobody passes etcd's check at the start: find it before anybody restarts (R33).
  if (needsComparison(view)) {
    return [act("roll", "ComparedBeforeRollout", {}, { kind: "CompareHashes" })];
  }
  if (awaited) return [awaitSnapshot(view, to, awaited)];
  return [rememberOldLog(view, outdated, to) ?? rollNext(view, outdated, template)];
}

/** An image need not hold what its name says: nobody follows a member that runs something else than asked for. */
function runsAnotherVersion(view: View, template: MemberTemplate): Outcome | undefined {
  for (const { name, answer, upToDate, record } of view.staying) {
    if (!answer.reachable || !upToDate || !sameTemplate(record.template, template)) continue;
    const runs = parseVersion(answer.version);
    if (!runs || compareVersions(runs, version(template.version)) === 0) continue;
    return hold(HOLDS.rollouts, "OtherVersionRuns", {
      member: name,
      runs: answer.version,
      wanted: template.version,
    });
  }
  return undefined;
}

function rollNext(view: View, outdated: readonly MemberView[], template: MemberTemplate): Outcome {
  // Youngest first among followers, so that the oldest members, which clients know best, move last.
  const followers = outdated.filter((member) => !member.isLeader).toReversed();
  const next = followers[0] ?? outdated[0];
  if (!next) throw new RangeError("nothing to roll");
  const change = changeOf(next.record.template, template);
  const why = { member: next.name, change };
  if (next.entry?.isLearner && movesPeer(next.record.template, template)) {
    const retiring = { reason: sayChange(change) };
    return act("roll", "LearnerMoves", { member: next.name }, update(next, "retire", { retiring }));
  }
  const kind = transition(next.record.template, template, { resizable: isResizable(next) });
  if (kind === "swap") {
    const retiring = { reason: sayChange(change) };
    return act("roll", "VolumeCannotFollow", why, update(next, "retire", { retiring }));
  }
  const nextLeader = next.isLeader
    ? successor(view, next, (member) => sameTemplate(member.record.template, template))
    : undefined;
  if (nextLeader?.entry && kind === "restart") {
    return act(
      "roll",
      "LeaderRollsLast",
      { member: next.name },
      { kind: "MoveLeader", member: nextLeader.name, memberID: nextLeader.entry.id },
    );
  }
  return act("roll", "MemberRolled", why, update(next, "roll", { template }));
}

function changeOf(from: MemberTemplate, to: MemberTemplate): TemplateChange {
  if (from.version !== to.version) return { from: from.version, to: to.version };
  const parts = (["options", "storage", "tls", "image", "pod", "auth"] as const).filter(
    // Values, not texts: the API server keeps fields in another order than a spec is written in.
    (part) => canonical(asBefore({ [part]: from[part] })) !== canonical(asBefore({ [part]: to[part] })),
  );
  return { parts };
}

function awaitClusterVersion(view: View, to: string): readonly Outcome[] {
  const { clusterVersion } = view.observation.etcd;
  if (clusterVersion === undefined || minorNumber(clusterVersion) === minorNumber(to)) return [];
  return [
    hold(
      HOLDS.disruptions,
      "ClusterVersionBehind",
      { members: minorOf(to), cluster: minorOf(clusterVersion) },
      { until: view.now + 1000 },
    ),
  ];
}

function awaitApproval(view: View, template: MemberTemplate): Outcome | undefined {
  const hash = templateHash(template);
  const { cluster } = view.observation;
  // Whoever let ways of clients end by this template let it be rolled out.
  const words = [hash, closingWord(cluster, template), withoutSnapshot(template.version, hash)];
  const isApproved = words.includes(cluster.approved ?? "");
  if (view.spec.update.strategy !== "OnApproval" || isApproved) return undefined;
  return hold(HOLDS.rollouts, "ApprovalAwaited", { approval: approvable(view.observation, hash) });
}

/** The storage must have been brought down to the target minor before an older binary opens it (R13, R15). */
function awaitStorageVersion(view: View, to: string): Outcome | undefined {
  const ahead = view.staying.filter(
    ({ answer }) =>
      answer.reachable &&
      answer.storageVersion !== "" &&
      minorNumber(answer.storageVersion) > minorNumber(to),
  );
  return ahead.length === 0
    ? undefined
    : hold(
        HOLDS.disruptions,
        "StorageVersionAhead",
        { members: namesOf(ahead), to: minorOf(to) },
        { until: view.now + 1000 },
      );
}

function awaitCanary(view: View, template: MemberTemplate): Outcome | undefined {
  if (!view.spec.update.canary) return undefined;
  const done = view.staying.filter((member) => sameTemplate(member.record.template, template));
  const [first] = done;
  if (done.length !== 1 || first?.workload.state !== "running") return undefined;
  const until = first.workload.since + CANARY_MS;
  return view.now >= until
    ? undefined
    : hold(HOLDS.disruptions, "CanaryWatched", { member: first.name }, { until });
}

function prepareDowngrade(view: View, to: string): Outcome {
  const reported = view.members.some(({ answer }) => answer.reachable && answer.downgrade?.enabled);
  const minor = { to: minorOf(to) };
  if (reported) return hold(HOLDS.disruptions, "DowngradePreparing", minor, { until: view.now + 1000 });
  const before = snapshotBefore(view, to);
  if (before.is !== "unneeded") return awaitSnapshot(view, to, { before });
  return act("roll", "DowngradeEnabled", minor, {
    kind: "EnableDowngrade",
    version: `${minorOf(to)}.0`,
  });
}
