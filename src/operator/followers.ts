/**
 * What the Pods that record changes tell of themselves: asked over HTTP at their addresses, not more often than the status
 * can follow. One that does not answer is asked again; what it told before is not believed any longer.
 */
import type { Pod } from "kubernetes-types/core/v1.d.ts";
import type { FollowReport } from "../core/snapshots/follower-facts.ts";
import { deadline, type Clock } from "../seams/clock.ts";
import { parseReport } from "../snapshot/changes/report.ts";
import { PORTS } from "./names.ts";
import { isFollower } from "./observe/follower-facts.ts";
import type { EtcdReach } from "./reach.ts";

const ASK_EVERY_MS = 5_000;
const ANSWER_MS = 2_000;

interface Asked {
  readonly at: number;
  readonly report: FollowReport | undefined;
}

export class Followers {
  readonly #reach: Pick<EtcdReach, "read">;
  readonly #clock: Clock;
  /** By UID. */
  #asked = new Map<string, Asked>();

  constructor(reach: Pick<EtcdReach, "read">, clock: Clock) {
    this.#reach = reach;
    this.#clock = clock;
  }

  readonly report = (uid: string): FollowReport | undefined => this.#asked.get(uid)?.report;

  /** Asks those that run; nothing is thrown. */
  async ask(pods: readonly Pod[]): Promise<void> {
    const running = pods.filter((pod) => isFollower(pod) && addressOf(pod) !== undefined);
    const now = this.#clock.monotonic();
    const asked = await Promise.all(
      running.map(async (pod): Promise<[string, Asked]> => {
        const uid = pod.metadata?.uid ?? "";
        const before = this.#asked.get(uid);
        if (before && now - before.at < ASK_EVERY_MS) return [uid, before];
        return [uid, { at: now, report: await this.#one(addressOf(pod) ?? "") }];
      }),
    );
    this.#asked = new Map(asked);
  }

  async #one(address: string): Promise<FollowReport | undefined> {
    using limit = deadline(this.#clock, ANSWER_MS);
    const host = address.includes(":") ? `[${address}]` : address;
    return parseReport(await this.#reach.read(`http://${host}:${PORTS.metrics}/`, limit.signal));
  }
}

function addressOf({ status, metadata }: Pod): string | undefined {
  return metadata?.deletionTimestamp === undefined && status?.phase === "Running" ? status.podIP : undefined;
}
