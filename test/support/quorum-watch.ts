/**
 * How many members of a cluster answered at the least while a test did something to it: each is asked all the time at its
 * metrics port, which is plaintext whatever TLS is.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { PORTS } from "../../src/operator/names.ts";
import type { ClusterOnBed } from "./operator.ts";

const EVERY_MS = 200;
/** One that is slow is there; one that ended refuses at once. */
const ANSWERED_MS = 5_000;

export class QuorumWatch {
  least = Infinity;
  looks = 0;
  readonly #cluster: ClusterOnBed;
  readonly #looking: Promise<void>;
  #stopped = false;

  /** From now on, while all answer. */
  constructor(cluster: ClusterOnBed) {
    this.#cluster = cluster;
    this.#looking = this.#look();
    this.#looking.catch(() => undefined);
  }

  async #look(): Promise<void> {
    for (; !this.#stopped; this.looks++) {
      const pods = await this.#cluster.pods();
      const answers = await Promise.all(pods.map(({ status }) => answersAt(status?.podIP)));
      this.least = Math.min(this.least, answers.filter(Boolean).length);
      await sleep(EVERY_MS);
    }
  }

  /** Rejects if it could not look. */
  async stop(): Promise<this> {
    this.#stopped = true;
    await this.#looking;
    return this;
  }
}

/** In whatever way: without a leader for a moment it says that it is not well. */
async function answersAt(host: string | undefined): Promise<boolean> {
  if (host === undefined) return false;
  try {
    const answer = await fetch(`http://${host}:${PORTS.metrics}/health?serializable=true`, {
      signal: AbortSignal.timeout(ANSWERED_MS),
    });
    await answer.arrayBuffer();
    return true;
  } catch {
    return false;
  }
}
