/**
 * What a volume holds, also on its PersistentVolume: a claim goes with its namespace, and a volume that is retained does
 * not. It is written when a member starts on it and noted on the claim, so that nothing is asked at rest. An operator
 * that may not write there does without it, and so do clusters: nobody waits for this.
 */
import type { PersistentVolumeClaim } from "kubernetes-types/core/v1.d.ts";
import type { KubeClient } from "../../kube/client.ts";
import { isReason } from "../../kube/errors.ts";
import type { Clock } from "../../seams/clock.ts";
import type { VolumeIdentity } from "../render/volume-identity.ts";
import { volumes } from "../resources.ts";

/** The right may be given meanwhile; a volume that is gone or another's seldom comes back. */
const ASK_AGAIN_MS = 10 * 60_000;

export class VolumeMarks {
  readonly #client: KubeClient;
  readonly #clock: Pick<Clock, "monotonic">;
  /** Until when none is asked for, since the operator may not. */
  #deniedUntil = 0;
  /** By name, until when a volume is left alone, by the monotonic clock. */
  readonly #leftUntil = new Map<string, number>();

  constructor(client: KubeClient, clock: Pick<Clock, "monotonic">) {
    this.#client = client;
    this.#clock = clock;
  }

  /** True when it is written: the claim is to say so. */
  async mark(claim: PersistentVolumeClaim, identity: VolumeIdentity): Promise<boolean> {
    const { volumeName = "" } = claim.spec ?? {};
    const { uid = "" } = claim.metadata ?? {};
    const now = this.#clock.monotonic();
    if (now < Math.max(this.#deniedUntil, this.#leftUntil.get(volumeName) ?? 0)) return false;
    this.#leftUntil.delete(volumeName);
    try {
      const volume = await this.#client.get(volumes, { name: volumeName });
      const { uid: volumeUID = "", resourceVersion = "" } = volume.metadata ?? {};
      if (volume.spec?.claimRef?.uid !== uid) return this.#leave(volumeName, now);
      if (
        says(volume.metadata?.labels, identity.labels) &&
        says(volume.metadata?.annotations, identity.annotations)
      )
        return true;
      const patch = { metadata: { labels: identity.labels, annotations: identity.annotations } };
      await this.#client.patch(volumes, { name: volumeName }, patch, { uid: volumeUID, resourceVersion });
      return true;
    } catch (error) {
      // Denied, gone, or changed by the volume controller just now.
      if (!isReason(error, "Forbidden", "NotFound", "Conflict", "Invalid")) throw error;
      if (isReason(error, "Forbidden")) this.#deniedUntil = now + ASK_AGAIN_MS;
      return this.#leave(volumeName, now);
    }
  }

  #leave(volume: string, now: number): false {
    this.#leftUntil.set(volume, now + ASK_AGAIN_MS);
    return false;
  }
}

/** An operator that died before the claim said so has written it. */
function says(
  found: Readonly<Record<string, string>> = {},
  wanted: Readonly<Record<string, string>>,
): boolean {
  return Object.entries(wanted).every(([name, value]) => found[name] === value);
}
