/**
 * The catalog of etcd releases the operator knows: what may be started, what upgrades pass through, and
 * the floors below which a step has lost data for others (R11). One entry per minor, oldest first.
 */

export interface MinorRelease {
  readonly minor: string;
  /** The patch that multi-minor upgrades pass through. */
  readonly knownGood: string;
  /** The oldest patch a new cluster may start with; undefined: no new clusters at all. */
  readonly startFloor?: string;
  /** The oldest patch from which the next minor may be rolled. */
  readonly upgradeFloor?: string;
  /** Below this, known security faults are open (R43): a warning, not a refusal. */
  readonly securityFloor?: string;
  /** `Maintenance.Downgrade` works from here to the previous minor (R15). */
  readonly downgrades: boolean;
  /** Keeps requests of the v2 store in its log, which the second minor after it cannot replay (R12, H5). */
  readonly v2Requests?: boolean;
}

export const RELEASES: readonly MinorRelease[] = [
  // End of life: only a source to upgrade from.
  { minor: "3.4", knownGood: "3.4.45", upgradeFloor: "3.4.0", downgrades: false, v2Requests: true },
  // Below 3.5.26 members can come back as zombies from v2/v3 store drift; upgrade docs ask for 3.5.32.
  {
    minor: "3.5",
    knownGood: "3.5.35",
    startFloor: "3.5.26",
    upgradeFloor: "3.5.32",
    securityFloor: "3.5.33",
    downgrades: false,
    v2Requests: true,
  },
  {
    minor: "3.6",
    knownGood: "3.6.16",
    startFloor: "3.6.11",
    upgradeFloor: "3.6.11",
    securityFloor: "3.6.14",
    downgrades: true,
  },
  { minor: "3.7", knownGood: "3.7.3", startFloor: "3.7.0", securityFloor: "3.7.1", downgrades: true },
];

export function releaseOf(minor: string): MinorRelease | undefined {
  return RELEASES.find((release) => release.minor === minor);
}
