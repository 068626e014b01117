/**
 * Members whose workload could not be made, because the API server, an admission webhook, a quota, a missing authority,
 * a wrong clock or another owner's object is in the way. Their data is intact as far as anybody knows, so they wait, however long,
 * and nobody new is begun who could not be made either (H16).
 */
import type { Outcome, StepClass } from "../action.ts";
import { HOLDS } from "../steps/hold-classes.ts";
import { hold } from "../steps/outcome.ts";
import type { MemberView, View } from "../view.ts";

/** The wait for a member that has no workload; without a reason it is about to be made. */
export function unmade(
  { name: member, workload, volume }: MemberView,
  classes: readonly StepClass[],
): Outcome {
  const notMade = workload.state === "absent" ? workload.notMade : undefined;
  if (notMade) return hold(classes, `Start${notMade.reason}`, { member, why: notMade.message });
  return volume.state === "pending"
    ? hold(classes, "StartAwaitsVolume", { member, why: volume.reason })
    : hold(classes, "StartAwaited", { member });
}

/** Why nobody new may be begun now: the platform says so, or somebody who was begun could not be made. */
export function newcomersBlocked(view: View): Outcome | undefined {
  const { newcomersBlocked: byPlatform } = view.observation.platform;
  if (byPlatform) {
    const { reason, message: why } = byPlatform;
    // A restart of one of two would lose quorum, and the third cannot come before certificates are given for it.
    const isShort = view.voters === 2 && view.spec.replicas > view.voters;
    const classes = isShort && reason === "CertificateNotGiven" ? HOLDS.joinsAndRollouts : HOLDS.joins;
    return hold(classes, `Join${reason}`, { why });
  }
  for (const { name: member, workload } of view.staying) {
    if (workload.state !== "absent" || !workload.notMade) continue;
    const { reason, message: why } = workload.notMade;
    return hold(HOLDS.joins, `Join${reason}`, { member, why });
  }
  return undefined;
}
