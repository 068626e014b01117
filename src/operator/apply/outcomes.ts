/** What carrying out the wanted objects came to so far, and what all of it shares. */
import { problemOf, type Problem } from "../../control/problem.ts";
import type { View } from "../../core/view.ts";
import type { KubeClient } from "../../kube/client.ts";
import { keyOf, type KubeObject, type Resource } from "../../kube/resources.ts";
import type { Random } from "../../seams/random.ts";
import type { LiveReads } from "../cache/live-reads.ts";
import type { Stores } from "../cache/stores.ts";
import type { OperatorPods } from "../render/network-policy.ts";
import type { Certificates } from "./certificates.ts";
import type { Clashes } from "./clashes.ts";
import type { Contests } from "./contests.ts";
import type { GivenSecrets } from "./given-secrets.ts";
import type { Kept } from "./keep.ts";
import type { PartWaits } from "./part-waits.ts";
import type { PeerServices } from "./peer-services.ts";
import type { Reissues } from "./reissues.ts";
import type { Resizing } from "./resizing.ts";
import type { Wanted } from "./wanted-object.ts";
import type { VolumeMarks } from "./volume-marks.ts";
import type { StartLatches } from "./start-latch.ts";

export interface ApplyContext {
  readonly client: KubeClient;
  readonly random: Random;
  readonly stores: Stores;
  /** `namespace/name` of the cluster. */
  readonly key: string;
  readonly certificates: Certificates;
  readonly given: GivenSecrets;
  readonly reissues: Reissues;
  readonly clashes: Clashes;
  readonly live: LiveReads;
  readonly contests: Contests;
  readonly latches: StartLatches;
  readonly waits: PartWaits;
  readonly resizing: Resizing;
  readonly peerServices: PeerServices;
  readonly volumeMarks: VolumeMarks;
  /** What recoveries from quorum loss and restores in place want beside all that. */
  readonly helpers?: readonly { wanted(view: View): Wanted[] }[];
  /** Our own image. */
  readonly image?: string;
  readonly operatorPods?: OperatorPods;
}

/** It was deleted since it was read: no failure (H9), and what becomes of it is decided when the caches say so. */
export class ObjectGone extends Error {}

export class Outcomes {
  readonly problems: Problem[] = [];
  changed = false;
  /** The parts that were asked for. */
  readonly parts = new Set<string>();
  readonly #context: Pick<ApplyContext, "waits" | "clashes">;

  constructor(context: Pick<ApplyContext, "waits" | "clashes">) {
    this.#context = context;
  }

  /** Takes note of one object; true when it is there and ours. One of somebody else's ends the part that wanted it. */
  note<T extends KubeObject>(resource: Resource, kept: Kept<T>): boolean {
    if (kept.done === "changed") this.changed = true;
    if (kept.done === "foreign") {
      if (this.#context.clashes.add(resource, kept.object)) this.changed = true;
      throw new Error(`${resource.kind} ${keyOf(kept.object)} exists and belongs to another owner`);
    }
    return kept.done === "changed" || kept.done === "unchanged";
  }

  /** Runs one part, unless it failed just before; what it throws is a problem of that part and of no other. */
  async part(what: string, work: () => Promise<void>): Promise<void> {
    const { waits } = this.#context;
    this.parts.add(what);
    const waiting = waits.waiting(what);
    if (waiting !== undefined) {
      if (waiting.problem !== undefined) this.problems.push(waiting.problem);
      return;
    }
    try {
      await work();
      waits.succeeded(what);
    } catch (error) {
      const problem = error instanceof ObjectGone ? undefined : problemOf(what, error);
      waits.failed(what, problem);
      if (problem !== undefined) this.problems.push(problem);
    }
  }
}
