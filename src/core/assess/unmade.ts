/**
 * Members whose workload could not be made, because the API server, an admission webhook, a quota, a missing authority,
 * a wrong clock or another owner's object is in the way. Their data is intact as far as anybody knows, so they wait, however long,
 * and nobody new is begun who could not be made either (H16).
 */
import type { Outcome, StepClass } from "../action.ts";
import type { NotMade } from "../observation.ts";
import { hold } from "../outcome.ts";
import type { MemberView, View } from "../view.ts";

const NEXT: Readonly<Record<NotMade["reason"], string>> = {
  PodRefused:
    "See what refuses the Pod (quota, admission webhook or policy, RBAC); the operator retries, and the member returns with its data.",
  ObjectRefused:
    "See what refuses the object (quota, admission webhook or policy, RBAC); the operator retries, and the member returns with its data.",
  AuthorityMissing: "Restore the Secret of the certificate authority from a backup.",
  CertificateNotIssued:
    "Correct the clock of the operator's node (NTP); certificates are then issued without further action.",
  NameClash: "Rename or delete the other object.",
};

/** The wait for a member that has no workload; without a reason it is about to be made. */
export function unmade({ name, workload, volume }: MemberView, classes: readonly StepClass[]): Outcome {
  const notMade = workload.state === "absent" ? workload.notMade : undefined;
  if (!notMade && volume.state === "pending")
    return hold({
      classes,
      reason: "VolumePending",
      message: `${name} cannot be started before its volume is ready: ${volume.reason}. It is kept with its data`,
    });
  if (!notMade)
    return hold({ classes, reason: "MemberStarting", message: `waiting for ${name} to be started again` });
  return hold({
    classes,
    reason: notMade.reason,
    message: `${name} cannot be started: ${notMade.message}. It is kept with its data`,
    next: NEXT[notMade.reason],
  });
}

/** Why nobody new may be begun now: the platform says so, or somebody who was begun could not be made. */
export function newcomersBlocked(view: View): Outcome | undefined {
  const stopped = view.staying.flatMap(({ name, workload }) =>
    workload.state === "absent" && workload.notMade ? [{ name, ...workload.notMade }] : [],
  );
  const [first] = stopped;
  const blocked = view.observation.platform.newcomersBlocked ?? first;
  if (!blocked) return undefined;
  const who = blocked === first ? `${first.name} cannot be started: ` : "";
  return hold({
    classes: ["join"],
    reason: blocked.reason,
    message: `not adding a member, because it could not be started: ${who}${blocked.message}`,
    next: NEXT[blocked.reason],
  });
}
