/** The Pod that records changes for a schedule, made and stopped. A second attempt finds what the first one made. */
import type { SnapshotEffect } from "../../core/snapshots/effect.ts";
import { isReason } from "../../kube/errors.ts";
import { isControlledBy, pods } from "../../kube/resources.ts";
import { followPod } from "../render/follow-pod.ts";
import type { SnapshotContext } from "./snapshot-context.ts";
import { findOne } from "./keep.ts";
import { ensureServiceAccount } from "./snapshot-account.ts";

type FollowerEffect = Extract<SnapshotEffect, { kind: "StartFollower" | "StopFollower" }>;

export async function executeFollower(context: SnapshotContext, effect: FollowerEffect): Promise<void> {
  const { client, namespace } = context;
  if (effect.kind === "StopFollower") {
    await client.delete(pods, { name: effect.follower, namespace }, { uid: effect.uid });
    return;
  }
  const { schedule, attempt, recipe, endpoints } = effect;
  const { image, secret } = context;
  if (image === undefined)
    throw new TypeError("a follower was decided on without knowing the operator's image");
  const pod = followPod(schedule, { namespace, image, attempt, recipe, endpoints, secret });
  const name = pod.metadata?.name ?? "";
  await ensureServiceAccount(context, schedule.spec.serviceAccountName);
  try {
    await client.create(pods, pod);
  } catch (error) {
    if (!isReason(error, "AlreadyExists")) throw error;
    const found = await findOne(client, pods, { name, namespace });
    if (found && !isControlledBy(found, schedule.uid))
      throw new Error(`Pod ${namespace}/${name} exists and belongs to another owner; delete it`, {
        cause: error,
      });
    // The cache was behind, and shows it from now on.
    if (found) client.found(pods, found);
  }
}
