/**
 * When the end of a container was first seen, and whether its member had joined by then: by our own monotonic clock and
 * our own order of events. The time that its kubelet wrote is by the clock of a node, which may be off by anything, and
 * is known only where Nodes can be read.
 */
import type { ContainerStateTerminated, Pod } from "kubernetes-types/core/v1.d.ts";
import type { Clock } from "../../seams/clock.ts";

export interface EndSeen {
  readonly agoMs: number;
  /** It was seen before the member was recorded as joined, so that it says nothing of what it has held since. */
  readonly beforeJoining: boolean;
}

interface First {
  readonly end: string;
  readonly at: number;
  readonly beforeJoining: boolean;
}

export class EndsSeen {
  readonly #clock: Pick<Clock, "monotonic">;
  /** The last end of each Pod, by its UID. Forgotten with the process, which costs a moment. */
  readonly #first = new Map<string, First>();

  constructor(clock: Pick<Clock, "monotonic">) {
    this.#clock = clock;
  }

  /** To be called with every look at a Pod, also before its member has joined. */
  see({ metadata }: Pod, { containerID, finishedAt }: ContainerStateTerminated, joined: boolean): EndSeen {
    const uid = metadata?.uid ?? "";
    const end = `${containerID} ${finishedAt}`;
    const now = this.#clock.monotonic();
    const known = this.#first.get(uid);
    const first = known?.end === end ? known : { end, at: now, beforeJoining: !joined };
    this.#first.set(uid, first);
    return { agoMs: now - first.at, beforeJoining: first.beforeJoining };
  }

  /** Of the Pods of a cluster, those that still exist. */
  keepOnly(uids: ReadonlySet<string>): void {
    for (const uid of this.#first.keys()) if (!uids.has(uid)) this.#first.delete(uid);
  }
}
