/**
 * Which version a cluster's members should run next on the way to the version asked for (R10–R15).
 * Minors are crossed one at a time, from a patch that is known to be able to, or not at all.
 */
import { message, type Message, type ParamsOf, type WaitCode } from "../messages/table.ts";
import { RELEASES, releaseOf } from "./releases.ts";
import { compareVersions, minorNumber, minorOf, parseVersion, version } from "./version.ts";

export interface VersionFacts {
  /** What the records of the present members say, in any order. */
  readonly members: readonly string[];
  /** What the whole cluster speaks, e.g. "3.6"; undefined while nobody answers. */
  readonly clusterVersion?: string;
  /** The minor of a downgrade that etcd has been told of. */
  readonly downgradeTarget?: string;
  /** Two learners once joined together (H1). */
  readonly batchJoined: boolean;
  /** The minor whose requests may still be in somebody's log (H5). */
  readonly oldLog?: string;
}

export type VersionStep =
  /**
   * Every member should run `to`; `final` when that is what was asked for. `snapshots`: it is only passed
   * through, and the next minor needs the log behind a snapshot (H5), so that they had better be frequent.
   */
  | { readonly kind: "run"; readonly to: string; readonly final: boolean; readonly snapshots?: "often" }
  /** etcd must be reported first: the storage is brought down before any binary (R15, H13). */
  | { readonly kind: "enable-downgrade"; readonly to: string }
  /** etcd still prepares a downgrade that nobody wants any more; it blocks upgrades. */
  | { readonly kind: "cancel-downgrade" }
  /** Members have to snapshot their logs first: the next minor cannot replay what is in them (H5). */
  | { readonly kind: "leave-old-log" }
  | { readonly kind: "refused"; readonly why: Message<WaitCode> };

const known = () => RELEASES.filter((r) => r.startFloor).map((r) => r.minor);

function refused<Code extends WaitCode>(code: Code, params: ParamsOf<Code>): VersionStep {
  return { kind: "refused", why: message(code, params) };
}

/** May a new cluster start with `target`? */
export function startStep(target: string): VersionStep {
  const wanted = parseVersion(target);
  if (!wanted) return refused("NotARelease", { version: target });
  const release = releaseOf(minorOf(target));
  if (!release) return refused("MinorUnknown", { minor: minorOf(target), known: known() });
  const { minor, startFloor, knownGood } = release;
  if (!startFloor) return refused("EndOfLife", { minor, known: known() });
  if (compareVersions(wanted, version(startFloor)) < 0)
    return refused("BelowStartFloor", { version: target, minor, floor: startFloor, good: knownGood });
  return { kind: "run", to: target, final: true };
}

/** What should the members of a running cluster run now, on the way to `target`? */
export function versionStep(facts: VersionFacts, target: string): VersionStep {
  const wanted = parseVersion(target);
  if (!wanted) return refused("NotARelease", { version: target });
  const targetMinor = minorOf(target);
  if (!releaseOf(targetMinor)) return refused("MinorUnknown", { minor: targetMinor, known: known() });
  const lowest = lowestOf(facts.members);
  if (!lowest) return startStep(target);
  // The cluster version lags behind a finished roll; the members' own minors bound it from below.
  const base = facts.clusterVersion ?? minorOf(lowest);
  const distance = minorNumber(targetMinor) - minorNumber(base);

  if (facts.downgradeTarget && facts.downgradeTarget !== targetMinor) return { kind: "cancel-downgrade" };
  const refusal = unsafe(lowest, target, distance);
  if (refusal) return refusal;
  if (distance < 0) return downgrade(facts, base, target, distance);
  if (distance === 0) return { kind: "run", to: target, final: true };
  return upgrade(facts, lowest, base, target, distance);
}

/** Below the floor only who is there already may still move, upwards. */
function unsafe(lowest: string, target: string, distance: number): VersionStep | undefined {
  const minor = minorOf(target);
  const floor = releaseOf(minor)?.startFloor;
  if (distance < -1 || !floor || compareVersions(version(target), version(floor)) >= 0) return undefined;
  if (minorOf(lowest) === minor && compareVersions(version(target), version(lowest)) >= 0) return undefined;
  return refused("BelowSafe", { version: target, minor, floor });
}

function lowestOf(members: readonly string[]): string | undefined {
  return members.reduce<string | undefined>(
    (least, next) =>
      least === undefined || compareVersions(version(next), version(least)) < 0 ? next : least,
    undefined,
  );
}

function upgrade(
  facts: VersionFacts,
  lowest: string,
  base: string,
  target: string,
  distance: number,
): VersionStep {
  const here = releaseOf(base);
  if (!here) return refused("RunningUnknown", { minor: base });
  const stillOnBase = minorOf(lowest) === base;
  if (stillOnBase && here.upgradeFloor && compareVersions(version(lowest), version(here.upgradeFloor)) < 0) {
    return { kind: "run", to: here.knownGood, final: false };
  }
  const nextMinor = RELEASES[RELEASES.indexOf(here) + 1];
  if (!nextMinor) return refused("NoNextMinor", { minor: base });
  const { oldLog } = facts;
  if (oldLog !== undefined && minorNumber(nextMinor.minor) - minorNumber(oldLog) > 1)
    return { kind: "leave-old-log" };
  return distance === 1
    ? { kind: "run", to: target, final: true }
    : { kind: "run", to: nextMinor.knownGood, final: false, ...(here.v2Requests && { snapshots: "often" }) };
}

function downgrade(facts: VersionFacts, base: string, target: string, distance: number): VersionStep {
  const targetMinor = minorOf(target);
  if (distance < -1) {
    const first = RELEASES[RELEASES.findIndex((r) => r.minor === base) - 1]?.knownGood ?? base;
    return refused("DowngradeTooFar", { from: base, to: targetMinor, minors: -distance, first });
  }
  if (!releaseOf(base)?.downgrades) return refused("NoOnlineDowngrade", { minor: base });
  // H1.
  if (targetMinor === "3.5" && facts.batchJoined) return refused("BatchBlocksDowngrade", {});
  return { kind: "enable-downgrade", to: target };
}
