/**
 * decide(): from what was seen to the one step to take, or to the reasons to wait. Pure and total.
 *
 * The order of RULES is the safety policy. Each rule looks at the view and returns steps and holds; the
 * first step whose class nobody before it holds wins. A hold names the classes that must wait for it, so
 * that, say, a learner that never catches up cannot keep a bad edit from being reverted.
 */
import type { Act, Decision, Hold, StepClass } from "./action.ts";
import type { Observation } from "./observation.ts";
import { actOf, holdOf } from "./steps/outcome.ts";
import type { Rule } from "./rule.ts";
import { adopt } from "./rules/adopt.ts";
import { auth } from "./rules/auth.ts";
import { changeTLS } from "./rules/change-tls.ts";
import { regainAccess } from "./rules/regain-access.ts";
import { expiredAuthority } from "./rules/expired-authority.ts";
import { deletion } from "./rules/deletion.ts";
import { fence } from "./rules/fence.ts";
import { holdAll } from "./rules/hold-all.ts";
import { recover } from "./rules/recover.ts";
import { recoverAutomatically } from "./rules/recover-automatically.ts";
import { restoreInPlace } from "./rules/restore-in-place.ts";
import { hibernate } from "./rules/hibernate.ts";
import { establish } from "./rules/establish.ts";
import { finishRemovals } from "./rules/finish-removals.ts";
import { unrecordedMembers } from "./rules/unrecorded-members.ts";
import { stay } from "./rules/stay.ts";
import { finishJoins } from "./rules/finish-joins.ts";
import { corrupt } from "./rules/corrupt.ts";
import { noSpace } from "./rules/no-space.ts";
import { peerURLs } from "./rules/peer-urls.ts";
import { retemplate } from "./rules/retemplate.ts";
import { replaceBroken } from "./rules/replace-broken.ts";
import { quorumLost } from "./rules/quorum-lost.ts";
import { firstBoot } from "./rules/first-boot.ts";
import { learners } from "./rules/learners.ts";
import { recreateEnded } from "./rules/recreate-ended.ts";
import { restartOutdated } from "./rules/restart-outdated.ts";
import { operations } from "./rules/operations.ts";
import { rotateAuthorities } from "./rules/rotate-authorities.ts";
import { rotateTokenKey } from "./rules/rotate-token-key.ts";
import { scaleIn } from "./rules/scale-in.ts";
import { scaleOut } from "./rules/scale-out.ts";
import { rollout } from "./rules/rollout.ts";
import { outgrown } from "./rules/outgrown.ts";
import { compareHashes } from "./rules/compare-hashes.ts";
import { defragment } from "./rules/defragment.ts";
import { viewOf } from "./view.ts";

export const RULES: readonly (readonly [name: string, rule: Rule])[] = [
  ["deletion", deletion],
  ["hold-all", holdAll],
  // Before anybody is founded, slept or missed: until its members are recorded, nobody knows who they are.
  ["adopt", adopt],
  // Before members that it has stopped are woken.
  ["recover-automatically", recoverAutomatically],
  ["recover", recover],
  ["restore-in-place", restoreInPlace],
  ["hibernate", hibernate],
  // Before anybody is given up or restarted who could not come back.
  ["expired-authority", expiredAuthority],
  ["establish", establish],
  ["regain-access", regainAccess],
  ["finish-removals", finishRemovals],
  ["unrecorded-members", unrecordedMembers],
  ["stay", stay],
  ["finish-joins", finishJoins],
  ["corrupt", corrupt],
  ["no-space", noSpace],
  // Before anybody restarts: nobody is to listen by another scheme than others dial.
  ["peer-urls", peerURLs],
  ["retemplate", retemplate],
  ["recreate-ended", recreateEnded],
  ["restart-outdated", restartOutdated],
  ["replace-broken", replaceBroken],
  // A founder that was not permitted yet may be just what quorum is waiting for.
  ["first-boot", firstBoot],
  ["quorum-lost", quorumLost],
  ["learners", learners],
  ["operations", operations],
  ["scale-in", scaleIn],
  ["scale-out", scaleOut],
  // Before the rollout: a CA that advances changes what is rolled out.
  ["rotate-authorities", rotateAuthorities],
  ["rotate-token-key", rotateTokenKey],
  ["change-tls", changeTLS],
  ["rollout", rollout],
  ["fence", fence],
  ["auth", auth],
  ["outgrown", outgrown],
  ["compare-hashes", compareHashes],
  ["defragment", defragment],
];

export function decide(observation: Observation): Decision {
  const view = viewOf(observation);
  const holds: Hold[] = [];
  const heldBack: Act[] = [];
  for (const [name, rule] of RULES) {
    for (const outcome of rule(view)) {
      if ("hold" in outcome) {
        holds.push(holdOf(name, outcome.hold));
        continue;
      }
      const act = actOf(name, outcome.act);
      if (!isHeld(act.class, holds)) return { act, holds, heldBack, converged: false };
      heldBack.push(act);
    }
    if (holds.some((hold) => hold.classes === "all")) break;
  }
  const untils = holds.flatMap((hold) => (hold.until === undefined ? [] : [hold.until]));
  return {
    holds,
    heldBack,
    converged: holds.every(isAtRest),
    lookAgainAt: untils.length > 0 ? Math.min(...untils) : undefined,
  };
}

/** A note that keeps nothing back, or a cluster that sleeps because it was told to. */
function isAtRest(hold: Hold): boolean {
  return (hold.classes.length === 0 && !hold.unfinished) || hold.reason === "Hibernated";
}

function isHeld(wanted: StepClass, holds: readonly Hold[]): boolean {
  return holds.some((hold) => hold.classes === "all" || hold.classes.includes(wanted));
}
