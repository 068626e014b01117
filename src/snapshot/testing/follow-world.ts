/** For tests: a follower of a cluster in memory with its store, and what can be rebuilt from what it wrote. */
import assert from "node:assert/strict";
import { ManualClock } from "../../etcd/testing.ts";
import { systemRandom } from "../../seams/random.ts";
import { follow, type FollowEvent } from "../changes/follow.ts";
import type { EncryptionKey } from "../codec/key.ts";
import type { LeaseKeeper } from "../changes/lease-keeper.ts";
import { findPoint } from "../changes/point.ts";
import { readSteps } from "../changes/reader.ts";
import { replay } from "../changes/replay.ts";
import { manifestName, writeManifest } from "../manifest.ts";
import { StoreError, type PutOptions } from "../store/store.ts";
import { manifestOf, never } from "./fixtures.ts";
import { FaultyStore } from "./memory-store.ts";
import { ModelEtcd, type State } from "./model-etcd.ts";

/** Writes that fail before or after they have had their effect, as the test says. */
class UnreliableStore extends FaultyStore {
  fails: () => "no" | "before" | "after" = () => "no";

  override async put(name: string, body: AsyncIterable<Uint8Array>, options: PutOptions): Promise<void> {
    const how = this.fails();
    if (how === "before") throw new StoreError("unreachable", "the store does not answer");
    await super.put(name, body, options);
    if (how === "after") throw new StoreError("interrupted", "the answer was lost");
  }
}

export class World {
  readonly clock = new ManualClock();
  readonly etcd = new ModelEtcd();
  readonly store = new UnreliableStore();
  readonly events: FollowEvent[] = [];
  bases = 0;
  failure: Error | undefined;
  #stop = new AbortController();
  #running: Promise<void> = Promise.resolve();

  /** As `snapshot save` would: what matters of it is its manifest. */
  async takeBase(): Promise<void> {
    const object = `base-${this.bases++}.db`;
    const { revision, authRevision, authEnabled } = this.etcd;
    const at = new Date(this.clock.now()).toISOString();
    const stored = { size: 1, sha256: "0".repeat(64) };
    const manifest = manifestOf({
      object,
      revision,
      authRevision: Number(authRevision),
      authEnabled,
      stored,
      startedAt: at,
      completedAt: at,
    });
    this.store.objects.set(object, { bytes: Buffer.alloc(1), modifiedAt: new Date(0) });
    const bytes = Buffer.from(writeManifest(manifest));
    this.store.objects.set(manifestName(object), { bytes, modifiedAt: new Date(0) });
    await Promise.resolve();
  }

  start(options: { segmentBytes?: number; takeBase?: undefined; key?: EncryptionKey } = {}): void {
    this.#stop = new AbortController();
    this.#running = follow({
      client: this.etcd.client(this.clock),
      store: this.store,
      compression: "none",
      clock: this.clock,
      random: systemRandom,
      signal: this.#stop.signal,
      intervalMs: 1000,
      takeBase: () => this.takeBase(),
      progress: (event) => this.events.push(event),
      ...options,
    });
    this.#running.catch((error: Error) => (this.failure = error));
  }

  /** With notice; a crash is the same without the last write, which the store then refuses. */
  async stop(): Promise<void> {
    this.#stop.abort();
    for (let i = 0; i < 40; i++) await this.clock.advance(500);
    await this.#running;
  }

  async crash(): Promise<void> {
    const { fails } = this.store;
    this.store.fails = () => "before";
    await this.stop();
    this.store.fails = fails;
  }

  async until(what: string, look: () => boolean, seconds = 300): Promise<void> {
    for (let i = 0; i < 4 * seconds; i++) {
      if (look()) return;
      if (this.failure !== undefined) throw this.failure;
      await this.clock.advance(250);
    }
    const told = this.events
      .slice(-5)
      .map((event) => (event.kind === "retry" ? event.error.message : event.kind));
    assert.fail(`${what}: not within ${seconds} s (last: ${told.join("; ")})`);
  }

  async recorded(): Promise<void> {
    await this.until("the log to be complete", () =>
      this.events.some((event) => event.kind === "complete" && event.revision === this.etcd.revision),
    );
  }

  get reasons(): string[] {
    return this.events.flatMap((event) => (event.kind === "base" ? [event.reason] : []));
  }

  /** The state at a revision, from the base and the log alone, by a second etcd. */
  async rebuilt(revision: number): Promise<{ state: State; leases: ReadonlyMap<bigint, number> }> {
    const options = { store: this.store, clusterId: "abc", target: { revision }, signal: never };
    const point = await findPoint(options);
    const copy = new ModelEtcd();
    const after = point.base.manifest.revision;
    copy.revision = after;
    copy.states.set(after, this.etcd.states.get(after) ?? new Map());
    const leases = {
      has: (id: bigint) => copy.leases.has(id),
      grant: (id: bigint, ttl: number) => Promise.resolve(void copy.leases.set(id, ttl)),
      check: () => undefined,
    } satisfies Pick<LeaseKeeper, "has" | "grant" | "check">;
    const { authRevision = 0, authEnabled = false } = point.base.manifest;
    const steps = readSteps({ ...options, ...point, after, auth: { authRevision, authEnabled } });
    await replay({ client: copy.client(this.clock), leases, steps, signal: never });
    assert.equal(copy.revision, revision);
    return { state: copy.state, leases: copy.leases };
  }
}
