/**
 * What Pods that we made tell of their work: asked over HTTP at their addresses, not more often than the status can
 * follow. One that does not answer is asked again; what it told before is not believed any longer.
 */
import type { Pod } from "kubernetes-types/core/v1.d.ts";
import { deadline, type Clock } from "../../seams/clock.ts";
import { FETCH_CONTAINER, FOLLOW_CONTAINER, PORTS, RESTORE_CONTAINERS, VERIFY_CONTAINERS } from "../names.ts";
import { SNAPSHOT_CONTAINER } from "../render/snapshot-job.ts";
import { containersOf } from "../observe/helper-pod.ts";
import type { EtcdReach } from "./reach.ts";

const ASK_EVERY_MS = 5_000;
const ANSWER_MS = 2_000;
/** One that serves answers in milliseconds. An observation does not wait for others: the next one sees what they said. */
const AWAIT_MS = 200;

interface Asked<Report> {
  readonly at: number;
  readonly report: Report | undefined;
}

export class PodReports<Report> {
  readonly #reach: Pick<EtcdReach, "read">;
  readonly #clock: Clock;
  readonly #parse: (text: string | undefined) => Report | undefined;
  /** By UID. */
  readonly #asked = new Map<string, Asked<Report>>();

  /** `parse`: undefined for anything that is no report, since what answers may be anybody. */
  constructor(
    reach: Pick<EtcdReach, "read">,
    clock: Clock,
    parse: (text: string | undefined) => Report | undefined,
  ) {
    this.#reach = reach;
    this.#clock = clock;
    this.#parse = parse;
  }

  /** What the Pod of this UID told last. */
  readonly report = (uid: string): Report | undefined => this.#asked.get(uid)?.report;

  /** Asks those that have something to tell, and forgets all others; nothing is thrown. */
  async ask(pods: readonly Pod[]): Promise<void> {
    const telling = pods.filter((pod) => addressOf(pod) !== undefined);
    const uids = new Set(telling.map(({ metadata }) => metadata?.uid ?? ""));
    for (const uid of this.#asked.keys()) if (!uids.has(uid)) this.#asked.delete(uid);
    const now = this.#clock.monotonic();
    const answers = telling.flatMap((pod) => {
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

  async #one(address: string): Promise<Report | undefined> {
    using limit = deadline(this.#clock, ANSWER_MS);
    const host = address.includes(":") ? `[${address}]` : address;
    return this.#parse(await this.#reach.read(`http://${host}:${PORTS.metrics}/`, limit.signal));
  }
}

/** Those that serve a report while they run. */
const TELLING: ReadonlySet<string> = new Set([
  FOLLOW_CONTAINER,
  SNAPSHOT_CONTAINER,
  FETCH_CONTAINER,
  VERIFY_CONTAINERS.fetch,
  RESTORE_CONTAINERS.stage,
]);

function addressOf(pod: Pod): string | undefined {
  const isTelling = containersOf(pod).some(({ name, state }) => state?.running && TELLING.has(name));
  return isTelling && pod.metadata?.deletionTimestamp === undefined ? pod.status?.podIP : undefined;
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
