/**
 * Everything that simply has to exist for a cluster, from its records: Services, budget, Secrets, claims, Pods.
 * What does not depend on each other is made at the same time, and what cannot be made, because an object of somebody
 * else's has its name (I9), say, keeps nothing else from being made.
 */
import type { Applied } from "../../control/platform.ts";
import type { View } from "../../core/view.ts";
import { refOf } from "../../kube/resources.ts";
import { restoreRecord, restoreUnseen } from "./apply-identity.ts";
import { applyClaim, applyPod } from "./apply-members.ts";
import { applyNetwork, applyPeerServices } from "./apply-network.ts";
import { applySecrets } from "./apply-secrets.ts";
import { sizeNote } from "../records/last-understood.ts";
import { ANNOTATIONS } from "../names.ts";
import { partsOf } from "./not-made.ts";
import { etcdClusters } from "../resources.ts";
import { Tally, type ApplyContext } from "./tally.ts";

export async function applyObjects(context: ApplyContext, view: View): Promise<Applied> {
  const { waits } = context;
  waits.follow(view.observation.cluster.generation);
  const tally = new Tally(waits);
  await tally.part("objects with the operator's names", async () => {
    if (!(await context.clashes.recheck())) return;
    // What waited for one of them need not any more.
    waits.clear();
    tally.changed = true;
  });
  await applyAll(context, view, tally);
  tally.problems.push(...context.contests.problems());
  waits.keepOnly(tally.parts);
  const { certificates, latches } = context;
  const times = [certificates.lookAgainAt, waits.lookAgainAt, latches.lookAgainAt].filter(
    (at) => at !== undefined,
  );
  return {
    changed: tally.changed,
    problems: [...new Set(tally.problems)],
    ...(times.length > 0 && { lookAgainAt: Math.min(...times) }),
  };
}

/** Should the next spec not be understood, this is how many members are kept. Before the latch there is nobody to keep. */
async function noteSize({ client, stores, key }: ApplyContext, view: View, tally: Tally): Promise<void> {
  const { metadata } = stores.cluster(key) ?? {};
  const note = sizeNote(view.spec);
  if (!metadata?.uid || !view.established || view.observation.cluster.invalid !== undefined) return;
  // The view is of another spec than the object that its size would be noted on.
  if (
    metadata.annotations?.[ANNOTATIONS.size] === note ||
    metadata.generation !== view.observation.cluster.generation
  )
    return;
  await client.patch(
    etcdClusters,
    refOf(key),
    { metadata: { annotations: { [ANNOTATIONS.size]: note } } },
    { uid: metadata.uid },
  );
  tally.changed = true;
}

async function applyAll(context: ApplyContext, view: View, tally: Tally): Promise<void> {
  const { cluster } = view.observation;
  const [ready] = await Promise.all([
    applySecrets(context, view, tally),
    // What a spec asks of them that cannot be understood is not known; they stay as they are.
    ...(cluster.invalid === undefined ? [applyNetwork(context, view, tally)] : []),
    applyPeerServices(context, view, tally),
    tally.part("the recorded size", () => noteSize(context, view, tally)),
    ...view.members.map((member) =>
      tally.part(partsOf.claim(member.name), () => applyClaim(context, view, member, tally)),
    ),
    ...view.members.map((member) =>
      tally.part(partsOf.record(member.name), () => restoreRecord(context, view, member, tally)),
    ),
    ...context.live.unseen.map((unseen) =>
      tally.part(partsOf.labels(unseen.member), () => restoreUnseen(context, view, unseen, tally)),
    ),
  ]);
  // A Pod that finds no Secret waits for it longer than we need to make it.
  await Promise.all(
    view.members.map((member) =>
      tally.part(partsOf.pod(member.name), () =>
        applyPod(context, view, member, ready.has(member.name), tally),
      ),
    ),
  );
}
