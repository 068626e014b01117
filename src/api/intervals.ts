/** Intervals that are not in a spec: what holds where it does not say one. */

/** How often changes are written to the store, without `spec.incremental.interval`. */
export const CHANGES_INTERVAL = "30s";
