/**
 * What time it is where members run: every answer of etcd over plain HTTP bears a Date, by the clock of the node, which
 * is held against the API server's. It is asked for seldom, and tells also where Nodes may not be read.
 */
import type { Pod } from "kubernetes-types/core/v1.d.ts";
import type { PlatformMember } from "../../control/platform.ts";
import { refOf } from "../../kube/resources.ts";
import { deadline, type Clock } from "../../seams/clock.ts";
import type { Stores } from "../cache/stores.ts";
import { PORTS } from "../names.ts";
import type { NodeClocks } from "../observe/node-clocks.ts";
import type { EtcdReach } from "./reach.ts";

/** As often as a kubelet writes its heartbeats. */
const ASK_EVERY_MS = 300_000;
/** One that did not answer may be starting. */
const AGAIN_MS = 15_000;
/** An answer that took longer says too little about when it was written. */
const ANSWER_MS = 1_000;
/** A Date has whole seconds: it was written half a second later, on average. */
const HALF_MS = 500;

export interface MemberClocksOptions {
  readonly stores: Pick<Stores, "pod">;
  /** The cluster, as `namespace/name`. */
  readonly key: string;
  readonly reach: Pick<EtcdReach, "date">;
  readonly clock: Clock;
  readonly serverNow: () => number;
  readonly nodeClocks: Pick<NodeClocks, "note">;
}

export class MemberClocks {
  readonly #options: MemberClocksOptions;
  /** By the UID of a Pod: when it is due, by the monotonic clock. */
  readonly #dueAt = new Map<string, number>();

  constructor(options: MemberClocksOptions) {
    this.#options = options;
  }

  /** Those that run; nothing is thrown. */
  async ask(members: readonly PlatformMember[]): Promise<void> {
    const { reach, stores, key } = this.#options;
    if (!reach.date) return;
    const pods = members
      .filter(({ workload }) => workload.state === "running")
      .map(({ record }) => stores.pod(`${refOf(key).namespace}/${record.name}`))
      .filter((pod) => pod !== undefined);
    const now = this.#options.clock.monotonic();
    const uids = new Set(pods.map(({ metadata }) => metadata?.uid ?? ""));
    for (const uid of this.#dueAt.keys()) if (!uids.has(uid)) this.#dueAt.delete(uid);
    const due = pods.filter(
      ({ metadata, spec, status }) =>
        spec?.nodeName !== undefined &&
        status?.podIP !== undefined &&
        now >= (this.#dueAt.get(metadata?.uid ?? "") ?? 0),
    );
    await Promise.all(due.map((pod) => this.#one(pod)));
  }

  async #one({ metadata, spec, status }: Pod): Promise<void> {
    const { reach, clock, serverNow, nodeClocks } = this.#options;
    const address = status?.podIP ?? "";
    const host = address.includes(":") ? `[${address}]` : address;
    using limit = deadline(clock, ANSWER_MS);
    const asked = clock.monotonic();
    const date = await reach.date?.(`http://${host}:${PORTS.metrics}/livez`, limit.signal);
    const answered = clock.monotonic();
    const isHeard = date !== undefined && answered - asked <= ANSWER_MS;
    if (isHeard) {
      const halfWay = serverNow() - (answered - asked) / 2;
      nodeClocks.note(spec?.nodeName ?? "", date + HALF_MS - halfWay);
    }
    this.#dueAt.set(metadata?.uid ?? "", answered + (isHeard ? ASK_EVERY_MS : AGAIN_MS));
  }
}
