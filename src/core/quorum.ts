/** Quorum arithmetic (R1–R3). Tiny on purpose: everything about safety is built on these lines. */

/** How many of `voters` must agree. */
export function quorum(voters: number): number {
  return Math.floor(voters / 2) + 1;
}

/** How many voters may fail before `voters` can no longer agree. */
export function tolerance(voters: number): number {
  return Math.max(0, voters - quorum(voters));
}

/** May one voter leave, when `healthyOthers` of the other `voters - 1` are healthy? */
export function survivesRemoval(voters: number, healthyOthers: number): boolean {
  return voters > 1 && healthyOthers >= quorum(voters - 1);
}

/** May one healthy voter be down for a while, when `healthyOthers` of the other `voters - 1` are healthy? */
export function survivesRestart(voters: number, healthyOthers: number): boolean {
  return healthyOthers >= quorum(voters);
}

/** May one more voter be counted in, when it and `healthy` of the present `voters` are healthy? */
export function survivesPromotion(voters: number, healthy: number): boolean {
  return healthy + 1 >= quorum(voters + 1);
}
