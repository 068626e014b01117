/**
 * How far the clocks of nodes are off the API server's: a kubelet writes the time of its heartbeat into its Node and
 * sends it at once, so that when such a change is reported, that was now. What is reported late, because a watch was broken, looks
 * like a clock that is behind; so two heartbeats in a row have to agree.
 */
import type { Node } from "kubernetes-types/core/v1.d.ts";
import type { Change } from "../../kube/store.ts";
import { SkewSteps } from "./skew-steps.ts";

/** A heartbeat has whole seconds: it was half a second later, on average. */
const HALF_MS = 500;
const AGREE_MS = 5_000;
const REPORTED_MS = 30_000;

interface Heard {
  readonly sampleMs: number;
  /** Of two samples that agree. */
  readonly aheadMs: number | undefined;
  readonly steps: SkewSteps;
}

export class NodeClocks {
  readonly #serverNow: () => number;
  readonly #nodes = new Map<string, Heard>();

  constructor(serverNow: () => number) {
    this.#serverNow = serverNow;
  }

  /** Hears every change of a Node, at once. */
  hear({ key, before, after }: Change<Node>): void {
    if (after === undefined) {
      this.#nodes.delete(key);
      return;
    }
    const beat = heartbeatOf(after);
    if (before === undefined || beat === undefined || beat === heartbeatOf(before)) return;
    const sampleMs = Date.parse(beat) + HALF_MS - this.#serverNow();
    const known = this.#nodes.get(key);
    const agrees = known !== undefined && Math.abs(known.sampleMs - sampleMs) <= AGREE_MS;
    this.#nodes.set(key, {
      sampleMs,
      aheadMs: agrees ? sampleMs : undefined,
      steps: known?.steps ?? new SkewSteps(),
    });
  }

  /** Negative when it is behind; undefined while it is not known. */
  aheadMs(node: string): number | undefined {
    return this.#nodes.get(node)?.aheadMs;
  }

  /** What there is to tell of a node. */
  warning(node: string): string | undefined {
    const known = this.#nodes.get(node);
    const skew = known?.steps.of(known.aheadMs);
    return (
      skew &&
      `The clock of node ${node} is more than ${skew.said} ${skew.direction} the API server's. Check its time synchronization (NTP): members on it validate certificates by that clock`
    );
  }

  /** The nodes whose clocks are off by more than is reported. */
  *off(): Generator<readonly [node: string, aheadMs: number]> {
    for (const [node, { aheadMs }] of this.#nodes)
      if (aheadMs !== undefined && Math.abs(aheadMs) > REPORTED_MS) yield [node, aheadMs];
  }
}

function heartbeatOf({ status }: Node): string | undefined {
  return status?.conditions?.find(({ type }) => type === "Ready")?.lastHeartbeatTime;
}
