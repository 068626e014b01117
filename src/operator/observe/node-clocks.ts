/**
 * How far the clocks of nodes are off the API server's: a kubelet writes the time of its heartbeat into its Node and
 * sends it at once, so that when such a change is reported, that was now. What is reported late, because a watch was broken, looks
 * like a clock that is behind; so two heartbeats in a row have to agree. Where Nodes may not be read, or until then, the
 * members on a node report; but their image was chosen by a user, so that what a kubelet says counts more.
 */
import type { Node } from "kubernetes-types/core/v1.d.ts";
import type { Change } from "../../kube/store.ts";
import { SkewSteps } from "./skew-steps.ts";

/** A heartbeat has whole seconds: it was half a second later, on average. */
const HALF_MS = 500;
const AGREE_MS = 5_000;
const REPORTED_MS = 30_000;
/** Heartbeats come every five minutes at least. */
const FORGOTTEN_MS = 3_600_000;

interface Heard {
  readonly sampleMs: number;
  /** Of two samples that agree. */
  readonly aheadMs: number | undefined;
  readonly by: "kubelet" | "member";
  /** By the API server's clock. */
  readonly at: number;
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
    const at = this.#serverNow();
    const sampleMs = Date.parse(beat) + HALF_MS - at;
    const known = this.#nodes.get(key);
    const agrees = known !== undefined && Math.abs(known.sampleMs - sampleMs) <= AGREE_MS;
    this.#nodes.set(key, {
      sampleMs,
      // One that disagrees may have been reported late: it takes back nothing that is known.
      aheadMs: agrees ? sampleMs : known?.aheadMs,
      by: agrees || known === undefined ? "kubelet" : known.by,
      at,
      steps: known?.steps ?? new SkewSteps(),
    });
  }

  /** By a member that runs on it, in an answer that took no time. */
  note(node: string, aheadMs: number): void {
    const at = this.#serverNow();
    for (const [name, heard] of this.#nodes)
      if (Math.abs(at - heard.at) > FORGOTTEN_MS) this.#nodes.delete(name);
    const known = this.#nodes.get(node);
    if (known?.by === "kubelet" && known.aheadMs !== undefined) return;
    const steps = known?.steps ?? new SkewSteps();
    this.#nodes.set(node, {
      sampleMs: known?.by === "kubelet" ? known.sampleMs : aheadMs,
      aheadMs,
      by: "member",
      at,
      steps,
    });
  }

  /** Negative when it is behind; undefined while it is not known. */
  aheadMs(node: string): number | undefined {
    return this.#nodes.get(node)?.aheadMs;
  }

  /** What there is to report of a node. */
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
