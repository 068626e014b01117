/**
 * What the Pods that record changes tell of themselves: asked over HTTP at their addresses, not more often than the status
 * can follow. One that does not answer is asked again; what it told before is not believed any longer.
 */
import type { Pod } from "kubernetes-types/core/v1.d.ts";
import type { FollowReport } from "../../core/snapshots/follower-facts.ts";
import { deadline, type Clock } from "../../seams/clock.ts";
import { parseReport } from "../../snapshot/changes/report.ts";
import { PORTS } from "../names.ts";
import { isOfSchedule } from "../observe/follower-facts.ts";
import type { EtcdReach } from "./reach.ts";

const ASK_EVERY_MS = 5_000;
const ANSWER_MS = 2_000;
/** One that serves answers in milliseconds. An observation does not wait for others: the next one sees what they said. */
const AWAIT_MS = 200;

interface Asked {
  readonly at: number;
  readonly report: FollowReport | undefined;
}

export class Followers {
  readonly #reach: Pick<EtcdReach, "read">;
  readonly #clock: Clock;
  /** By UID. */
  readonly #asked = new Map<string, Asked>();

  constructor(reach: Pick<EtcdReach, "read">, clock: Clock) {
    this.#reach = reach;
    this.#clock = clock;
  }

  readonly report = (uid: string): FollowReport | undefined => this.#asked.get(uid)?.report;

  /** Asks those of these schedules that run; nothing is thrown. */
  async ask(pods: readonly Pod[], schedules: readonly string[]): Promise<void> {
    const running = pods.filter(
      (pod) => schedules.some((uid) => isOfSchedule(pod, uid)) && addressOf(pod) !== undefined,
    );
    const uids = new Set(running.map(({ metadata }) => metadata?.uid ?? ""));
    for (const uid of this.#asked.keys()) if (!uids.has(uid)) this.#asked.delete(uid);
    const now = this.#clock.monotonic();
    const answers = running.flatMap((pod) => {
      const uid = pod.metadata?.uid ?? "";
      const before = this.#asked.get(uid);
      if (before && now - before.at < ASK_EVERY_MS) return [];
      // Until it answers, what it told before counts; after the deadline it does not.
      this.#asked.set(uid, { at: now, report: before?.report });
      return [this.#hear(uid, now, addressOf(pod) ?? "")];
    });
    if (answers.length === 0) return;
    using limit = deadline(this.#clock, AWAIT_MS);
    await Promise.race([Promise.all(answers), aborted(limit.signal)]);
  }

  async #hear(uid: string, at: number, address: string): Promise<void> {
    const report = await this.#one(address);
    // It may be gone, or have been asked again meanwhile.
    if (this.#asked.get(uid)?.at === at) this.#asked.set(uid, { at, report });
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

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
