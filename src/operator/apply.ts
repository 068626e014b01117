/**
 * Everything that simply has to exist for a cluster, from its records: Services, budget, Secrets, claims, Pods.
 * What does not depend on each other is made at the same time. A pause makes nothing, a Pod that dies included;
 * beside an object of somebody else's that has our name nothing is made either (I9).
 */
import type { Applied } from "../control/platform.ts";
import type { View } from "../core/view.ts";
import { applyClaim, applyPod } from "./apply-members.ts";
import { applyNetwork } from "./apply-network.ts";
import { applySecrets } from "./apply-secrets.ts";
import { Tally, type ApplyContext } from "./tally.ts";

export async function applyObjects(context: ApplyContext, view: View): Promise<Applied> {
  const { waits } = context;
  waits.follow(view.observation.cluster.generation);
  const tally = new Tally(waits);
  if (view.observation.platform.clashes.length > 0) {
    await tally.part("objects of our names", async () => {
      tally.changed = await context.clashes.recheck();
    });
  } else if (!view.spec.paused) await applyAll(context, view, tally);
  waits.keepOnly(tally.parts);
  const times = [context.certificates.lookAgainAt, waits.lookAgainAt].filter((at) => at !== undefined);
  const lookAgainAt = view.spec.paused || times.length === 0 ? undefined : Math.min(...times);
  return {
    changed: tally.changed,
    problems: [...new Set(tally.problems)],
    ...(lookAgainAt !== undefined && { lookAgainAt }),
  };
}

async function applyAll(context: ApplyContext, view: View, tally: Tally): Promise<void> {
  const [ready] = await Promise.all([
    applySecrets(context, view, tally),
    applyNetwork(context, view, tally),
    ...view.members.map((member) =>
      tally.part(`the claim of ${member.name}`, () => applyClaim(context, view, member, tally)),
    ),
  ]);
  // A Pod that finds no Secret waits for it longer than we need to make it.
  await Promise.all(
    view.members.map((member) =>
      tally.part(`the Pod of ${member.name}`, () =>
        applyPod(context, view, member, ready.has(member.name), tally),
      ),
    ),
  );
}
