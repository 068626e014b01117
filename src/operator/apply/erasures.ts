/**
 * The directories of members that have left, deleted on their nodes by a Pod each. What is remembered here is when it was
 * first tried and what was in the way: losing it costs time, never data.
 */
import type { Pod } from "kubernetes-types/core/v1.d.ts";
import type { EtcdMember } from "../../api/etcd-member.ts";
import { Conflict } from "../../control/platform.ts";
import type { ClusterFacts } from "../../core/observation.ts";
import type { KubeClient } from "../../kube/client.ts";
import { isReason, KubeError } from "../../kube/errors.ts";
import { isOwnedBy, pods } from "../../kube/resources.ts";
import type { Clock } from "../../seams/clock.ts";
import { ANNOTATIONS } from "../names.ts";
import type { ClockSkew } from "../observe/clock-skew.ts";
import { erasureOf, type Erasure } from "../observe/erasure.ts";
import { recordOf } from "../records/member-object.ts";
import { erasePod, erasePodName } from "../render/erase-pod.ts";
import { hostDirectory } from "../render/volumes.ts";
import { findOne } from "./keep.ts";

export interface ErasureOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly skew: Pick<ClockSkew, "serverNow">;
  /** Our own. */
  readonly image?: string | undefined;
}

interface Attempt {
  /** By the monotonic clock. */
  readonly at: number;
  readonly why?: string;
  /** Another attempt would be refused as well. */
  readonly definite?: boolean;
}

export class Erasures {
  readonly #options: ErasureOptions;
  /** By the UID of the record. */
  readonly #attempts = new Map<string, Attempt>();

  constructor(options: ErasureOptions) {
    this.#options = options;
  }

  /** `pod`: what the caches have under the name of the Pod that deletes it. */
  of(object: EtcdMember, pod: Pod | undefined): Erasure {
    const { image, clock, skew } = this.#options;
    const { uid } = recordOf(object);
    if (image === undefined)
      return {
        is: "impossible",
        why: "the operator does not know its own image, which deletes directories: start it with --image or QUORATE_IMAGE",
      };
    const attempt = this.#attempts.get(uid);
    const triedMs = attempt ? clock.monotonic() - attempt.at : 0;
    if (pod && isOwnedBy(pod, uid)) {
      const madeMs =
        skew.serverNow() - (Date.parse(pod.metadata?.creationTimestamp ?? "") || skew.serverNow());
      return erasureOf(pod, clock.now() - Math.max(triedMs, madeMs));
    }
    if (attempt?.definite && attempt.why !== undefined) return { is: "impossible", why: attempt.why };
    if (!attempt) return { is: "wanted" };
    const { why } = attempt;
    return { is: "wanted", begun: { since: clock.now() - triedMs, ...(why !== undefined && { why }) } };
  }

  /** Makes the Pod; one that is there already counts. */
  async begin(cluster: ClusterFacts, object: EtcdMember): Promise<void> {
    const { client, image, clock } = this.#options;
    const { [ANNOTATIONS.node]: node, [ANNOTATIONS.directory]: beginning } =
      object.metadata.annotations ?? {};
    const record = recordOf(object);
    if (image === undefined || node === undefined) return;
    const at = this.#attempts.get(record.uid)?.at ?? clock.monotonic();
    this.#attempts.set(record.uid, { at });
    const directory = hostDirectory(cluster, record, beginning);
    try {
      await client.create(pods, erasePod(cluster, record, { image, node, directory }));
    } catch (error) {
      if (isReason(error, "AlreadyExists")) return await this.#found(cluster, record.uid, error);
      if (!(error instanceof KubeError)) throw error;
      const definite = isReason(error, "Forbidden", "Invalid", "BadRequest", "NotFound");
      const why = `the Pod that deletes it could not be created: ${error.message}`;
      this.#attempts.set(record.uid, { at, why, definite });
      // What is definite is told with the next step; the rest is tried again.
      if (!definite) throw error;
    }
  }

  /** A cache whose watch lags would have it made again on every pass. */
  async #found({ namespace }: ClusterFacts, uid: string, cause: unknown): Promise<void> {
    const name = erasePodName({ uid });
    const found = await findOne(this.#options.client, pods, { name, namespace });
    if (found && isOwnedBy(found, uid)) return this.#options.client.found(pods, found);
    throw new Conflict(`Pod ${namespace}/${name} exists and belongs to another owner`, { cause });
  }

  forget(uid: string): void {
    this.#attempts.delete(uid);
  }
}
