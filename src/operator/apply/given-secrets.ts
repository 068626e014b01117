/**
 * Secrets that somebody else keeps and a spec only names. No cache holds them, since they need not have our label; so
 * they are read by their names, again after a while, and at once where one of them has the label and changed.
 */
import type { Secret } from "kubernetes-types/core/v1.d.ts";
import type { KubeClient } from "../../kube/client.ts";
import type { Clock } from "../../seams/clock.ts";
import { knownFiles } from "../cache/slim.ts";
import { secrets } from "../resources.ts";
import { findOne } from "./keep.ts";

/** As late as this a change is seen; kubelets take about as long to bring it to a member. */
const REREAD_MS = 30_000;
/** One that is missing, or cannot be used, is waited for. */
const RETRY_MS = 5_000;

interface Read {
  readonly secret: Secret | undefined;
  readonly until: number;
}

export class GivenSecrets {
  readonly #client: KubeClient;
  readonly #clock: Pick<Clock, "monotonic" | "now">;
  /** By name, of the one namespace of a cluster. */
  readonly #read = new Map<string, Read>();

  constructor(client: KubeClient, clock: Pick<Clock, "monotonic" | "now">) {
    this.#client = client;
    this.#clock = clock;
  }

  /** `known` is as a cache has it, where it has the label. Of its data only what a certificate consists of is kept. */
  async read(namespace: string, name: string, known: Secret | undefined): Promise<Secret | undefined> {
    const before = this.#read.get(name);
    // One that the cache had and has no more has lost the label, or is gone: no event tells of it from now on.
    const isNewer =
      known === undefined
        ? before?.until === Infinity
        : known.metadata?.resourceVersion !== before?.secret?.metadata?.resourceVersion;
    if (before && !isNewer && this.#clock.monotonic() < before.until) return before.secret;
    const found = await findOne(this.#client, secrets, { namespace, name });
    const secret = found && { ...found, data: knownFiles(found.data) };
    // Of one with our label every change is seen; of one that the cache lacks yet, soon.
    const laterMs = secret === undefined ? RETRY_MS : known === undefined ? REREAD_MS : Infinity;
    this.#read.set(name, { secret, until: this.#clock.monotonic() + laterMs });
    return secret;
  }

  /** What is in it cannot be used, so that somebody is about to change it. */
  expect(names: readonly string[]): void {
    const soon = this.#clock.monotonic() + RETRY_MS;
    for (const name of names) {
      const read = this.#read.get(name);
      if (read && read.until > soon) this.#read.set(name, { ...read, until: soon });
    }
  }

  keepOnly(names: ReadonlySet<string>): void {
    for (const name of this.#read.keys()) if (!names.has(name)) this.#read.delete(name);
  }

  /** When the next one has to be read again. */
  get lookAgainAt(): number | undefined {
    const due = [...this.#read.values()].map(({ until }) => until).filter((at) => at < Infinity);
    return due.length === 0 ? undefined : this.#clock.now() + Math.min(...due) - this.#clock.monotonic();
  }
}
