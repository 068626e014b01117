/**
 * Keeps all leases of a scratch etcd alive while changes are replayed into it: one that expired there would delete its
 * keys, which the original did at another revision or never.
 */
import type { EtcdClient } from "../../etcd/client.ts";
import { sleep, type Clock } from "../../seams/clock.ts";
import type { Endpoint } from "../../seams/etcd-transport.ts";
import { ChangeLogError } from "./errors.ts";

const ROUND_MS = 100;
const ANSWER_MS = 10_000;

export class LeaseKeeper implements AsyncDisposable {
  readonly #client: EtcdClient;
  readonly #endpoint: Endpoint;
  readonly #clock: Clock;
  readonly #stop = new AbortController();
  /** When each is to be renewed. */
  readonly #due = new Map<bigint, number>();
  #failure: Error | undefined;
  #running: Promise<void> = Promise.resolve();

  private constructor(client: EtcdClient, endpoint: Endpoint, clock: Clock) {
    this.#client = client;
    this.#endpoint = endpoint;
    this.#clock = clock;
  }

  static async start(client: EtcdClient, endpoint: Endpoint, clock: Clock): Promise<LeaseKeeper> {
    const keeper = new LeaseKeeper(client, endpoint, clock);
    for (const id of await client.lease.list({ timeoutMs: ANSWER_MS })) keeper.#due.set(id, 0);
    await keeper.#round();
    keeper.#running = keeper.#run();
    return keeper;
  }

  has(id: bigint): boolean {
    return this.#due.has(id);
  }

  /** Grants it with the ID that it had. */
  async grant(id: bigint, ttl: number): Promise<void> {
    const granted = await this.#client.lease.grant(ttl, { id, timeoutMs: ANSWER_MS });
    if (granted.id !== id || granted.ttl !== ttl)
      throw new ChangeLogError(
        "differs",
        `the scratch etcd granted lease ${id.toString(16)} with ${granted.ttl} s instead of ${ttl} s. Nothing was restored.`,
      );
    this.#due.set(id, this.#clock.monotonic() + (1000 * ttl) / 3);
  }

  /** Throws where one was lost. */
  check(): void {
    if (this.#failure !== undefined) throw this.#failure;
  }

  async #run(): Promise<void> {
    try {
      while (!this.#stop.signal.aborted) {
        await sleep(this.#clock, ROUND_MS, this.#stop.signal);
        await this.#round();
      }
    } catch (error) {
      if (!this.#stop.signal.aborted)
        this.#failure = error instanceof Error ? error : new Error(String(error));
    }
  }

  async #round(): Promise<void> {
    const now = this.#clock.monotonic();
    const due = [...this.#due].flatMap(([id, at]) => (at <= now ? [id] : []));
    const options = { timeoutMs: ANSWER_MS, signal: this.#stop.signal };
    const left = await this.#client.lease.keepAliveAll(due, this.#endpoint, options);
    for (const [id, ttl] of left) {
      if (ttl <= 0)
        throw new ChangeLogError(
          "expired",
          `lease ${id.toString(16)} expired in the scratch etcd during the replay: this machine is too busy. Try again.`,
        );
      this.#due.set(id, now + (1000 * ttl) / 3);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }
}
