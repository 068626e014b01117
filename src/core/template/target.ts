/**
 * What every member should be running now: the template that the spec asks for, at the version that is the
 * next step on the way. `learned` templates of siblings are the last known good.
 */
import type { EtcdClusterSpec } from "../../api/etcd-cluster-spec.ts";
import { downgradeTarget } from "../assess/downgrade-target.ts";
import { crosses, snapshotBefore, type AwaitedSnapshot } from "../assess/snapshot-before.ts";
import { unsupportedOptions } from "../config/flags.ts";
import { message, type Message, type WaitCode } from "../messages/table.ts";
import type { MemberTemplate } from "../record.ts";
import { effective, effectiveTLS, type Effective, type Locked } from "./effective.ts";
import { strandedPlane } from "./tls-source.ts";
import { isVolatile, sameTemplate, templateFor, templateHash } from "./template.ts";
import { versionStep, type VersionStep } from "../version/upgrade.ts";
import { compareVersions, minorNumber, version } from "../version/version.ts";
import { isStartedUnchecked, type MemberView, type View } from "../view.ts";

export interface Target {
  readonly step: VersionStep;
  /** What members may be given. Undefined when the version is refused, or etcd must be prepared first. */
  readonly template?: MemberTemplate;
  /**
   * The template of another minor version that follows once its snapshot is good. Until then `template` is what the
   * spec asks for at the version that members have: nobody crosses, and an edit that mends one need not wait.
   */
  readonly awaited?: { readonly template: MemberTemplate; readonly before: AwaitedSnapshot };
  /** Why it is not all of the TLS that the spec asks for. */
  readonly closing?: Effective["closing"];
  readonly locked?: Effective["locked"];
  readonly cutOff?: Effective["cutOff"];
  readonly awaitsClient?: Effective["awaitsClient"];
}

/** Views never change, and most rules ask for it. */
const targets = new WeakMap<View, Target>();

export function targetOf(view: View): Target {
  let target = targets.get(view);
  if (target === undefined) targets.set(view, (target = findTarget(view)));
  return target;
}

function findTarget(view: View): Target {
  const { etcd, cluster, platform } = view.observation;
  const step = versionStep(
    {
      members: view.staying.map((member) => member.record.template.version),
      clusterVersion: etcd.clusterVersion,
      downgradeTarget: downgradeTarget(view),
      batchJoined: cluster.marks.batchJoined === true,
      oldLog: cluster.marks.oldLog?.minor,
    },
    view.spec.version,
  );
  if (step.kind === "refused" || step.kind === "cancel-downgrade") return { step };
  // Against the version asked for: on the way there, members do without what theirs does not have.
  const [wrong] = unsupportedOptions(view.spec.options, view.spec.version);
  if (wrong) return refused(message("OptionUnsupported", { field: wrong.field, why: wrong.reason }));
  const { refusedWorkload, unverifiedWorkload, missingTokenKey } = platform;
  if (refusedWorkload !== undefined) return refused(message("PodRefused", { why: refusedWorkload }));
  // Neither a refusal nor a promise: whoever was stopped now might not come back.
  if (unverifiedWorkload !== undefined) return refused(message("PodUnverified", { why: unverifiedWorkload }));
  if (missingTokenKey !== undefined) return refused(message("TokenKeyMissing", { why: missingTokenKey }));
  if (step.kind !== "run") return { step };
  const arriving = platform.arrivingVersions?.[step.to];
  if (arriving !== undefined)
    return refused(message("VersionArriving", { version: step.to, progress: arriving }));
  const missing = platform.unavailableVersions[step.to];
  if (missing !== undefined)
    return refused(message("VersionUnavailable", { version: step.to, why: missing }));
  const spec = step.snapshots ? snapshotOften(view.spec) : view.spec;
  const running = view.staying.map(({ record }) => record.template.tls);
  const stranded = strandedPlane(running, view.spec.tls, platform.authorities);
  if (stranded) return refused(message("CertificatesAwaited", { plane: stranded }));
  const tls = effectiveTLS(view, templateFor(spec, step.to));
  if (tls.locked?.begun) return refused(whyLocked(tls.locked));
  if (!crosses(view, step.to)) return { step, ...tls };
  const before = snapshotBefore(view, step.to, templateHash(tls.template));
  if (before.is === "unneeded") return { step, ...tls };
  return { step, ...tls, template: atPresentVersion(view), awaited: { template: tls.template, before } };
}

/** What the spec asks for, but for the version, and for an image that is pinned to another one. */
function atPresentVersion(view: View): MemberTemplate {
  const [newest] = view.staying
    .map(({ record }) => record.template)
    .toSorted((a, b) => compareVersions(version(b.version), version(a.version)));
  if (!newest) throw new RangeError("no member has a version");
  const asked = templateFor(view.spec, newest.version);
  return effective(view, view.spec.image.digest === undefined ? asked : { ...asked, image: newest.image });
}

export function whyLocked({ unread, begun }: Locked): Message<WaitCode> {
  return unread ? message("ChangeAwaitsAuthRead", {}) : message("ChangeAwaitsNoAuth", { begun });
}

/** For a minor that is only passed through: few enough that the log is soon behind one, not so few as to hurt. */
const OFTEN = 500;
const often = new WeakMap<EtcdClusterSpec, EtcdClusterSpec>();

function snapshotOften(spec: EtcdClusterSpec): EtcdClusterSpec {
  let known = often.get(spec);
  if (!known) {
    const snapshotCount = Math.min(OFTEN, spec.options.snapshotCount ?? OFTEN);
    known = { ...spec, options: { ...spec.options, snapshotCount } };
    often.set(spec, known);
  }
  return known;
}

function refused(why: Message<WaitCode>): Target {
  return { step: { kind: "refused", why } };
}

/**
 * What most healthy members run: the template that is known to work here. Without quorum nobody is healthy; then
 * it is what those run that answer, for one that does not.
 */
export function lastGood(view: View, except: MemberView): MemberTemplate | undefined {
  const others = view.staying.filter(
    (member) => member !== except && member.upToDate && !isStartedUnchecked(view, member),
  );
  const well = others.filter(({ healthy }) => healthy);
  if (well.length > 0) return mostCommon(well);
  return except.answer.reachable ? undefined : mostCommon(others.filter(({ answer }) => answer.reachable));
}

function mostCommon(members: readonly MemberView[]): MemberTemplate | undefined {
  const counts = new Map<string, { count: number; template: MemberTemplate }>();
  for (const member of members) {
    const { template } = member.record;
    const key = templateHash(template);
    const known = counts.get(key);
    counts.set(key, { count: (known?.count ?? 0) + 1, template });
  }
  return [...counts.values()].toSorted((a, b) => b.count - a.count)[0]?.template;
}

/**
 * May a member's data, as it is now, be started with `version`? Never below what the whole cluster speaks
 * (R13), never more than one minor above it (R10, H5). While nobody can say what it speaks, the records only
 * bound it from above: then no minor is crossed upwards, or an edit during an outage would step by step move
 * everybody past their data; only what another member runs, on data of the same cluster, is at most one minor
 * away. A step back is etcd's to refuse, and it does so without touching the data.
 */
export function dataAllows(view: View, version: string): boolean {
  const { clusterVersion } = view.observation.etcd;
  if (clusterVersion !== undefined) {
    const distance = minorNumber(version) - minorNumber(clusterVersion);
    return distance === 0 || distance === 1;
  }
  const minors = view.staying.map((member) => minorNumber(member.record.template.version));
  const distance = minorNumber(version) - Math.min(...minors);
  const runs = view.staying.some(
    ({ answer }) => answer.reachable && minorNumber(answer.version) === minorNumber(version),
  );
  return distance === 0 || distance === -1 || (distance === 1 && runs);
}

/** A target that a canary could not run: not tried again until the spec changes. */
export function hasFailed(view: View, template: MemberTemplate): boolean {
  return view.observation.cluster.marks.failedTarget?.hash === templateHash(template);
}

/** The template for a newcomer: the target, unless it failed; then what the siblings run. */
export function newcomerTemplate(view: View): MemberTemplate | undefined {
  const { template } = targetOf(view);
  const siblings = view.staying
    .filter((member) => member.record.joined && member.healthy)
    .map((m) => m.record.template);
  const [sibling] = siblings;
  if (!sibling) return template;
  // Where a restart loses data, the newcomer is the rollout: nobody could roll it afterwards (H4).
  const swaps = view.staying.some((member) => member.record.retiring);
  if (swaps && template && isVolatile(template) && !hasFailed(view, template)) return template;
  // A newcomer runs what the siblings run now and is rolled with them; only its storage is the wanted one.
  const common = siblings.toSorted((a, b) => minorNumber(a.version) - minorNumber(b.version))[0] ?? sibling;
  const wanted = effective(view, templateFor(view.spec, common.version));
  return template && !hasFailed(view, template) && sameTemplate(template, wanted)
    ? template
    : { ...common, storage: wanted.storage };
}
