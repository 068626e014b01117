import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "../../etcd/testing.ts";
import { systemRandom } from "../../seams/random.ts";
import { StoreError, type PutOptions } from "../store/store.ts";
import { manifestName, writeManifest } from "../manifest.ts";
import { manifestOf, never } from "../testing/fixtures.ts";
import { MemoryStore } from "../testing/memory-store.ts";
import { ModelEtcd, randomOps, seeded, type State } from "../testing/model-etcd.ts";
import { follow, type FollowEvent } from "./follow.ts";
import type { LeaseKeeper } from "./lease-keeper.ts";
import { readLog } from "./log.ts";
import { findPoint } from "./point.ts";
import { readSteps } from "./reader.ts";
import { replay } from "./replay.ts";
import { readSegment } from "./segment.ts";

/** Writes that fail before or after they have had their effect, as the test says. */
class UnreliableStore extends MemoryStore {
  fails: () => "no" | "before" | "after" = () => "no";

  override async put(name: string, body: AsyncIterable<Uint8Array>, options: PutOptions): Promise<void> {
    const how = this.fails();
    if (how === "before") throw new StoreError("unreachable", "the store does not answer");
    await super.put(name, body, options);
    if (how === "after") throw new StoreError("interrupted", "the answer was lost");
  }
}

class World {
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
    const { revision, authRevision } = this.etcd;
    const at = new Date(this.clock.now()).toISOString();
    const stored = { size: 1, sha256: "0".repeat(64) };
    const manifest = manifestOf({
      object,
      revision,
      authRevision: Number(authRevision),
      stored,
      startedAt: at,
      completedAt: at,
    });
    this.store.objects.set(object, { bytes: Buffer.alloc(1), modifiedAt: new Date(0) });
    const bytes = Buffer.from(writeManifest(manifest));
    this.store.objects.set(manifestName(object), { bytes, modifiedAt: new Date(0) });
    await Promise.resolve();
  }

  start(options: { segmentBytes?: number } = {}): void {
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
    const authRevision = point.base.manifest.authRevision ?? 0;
    const steps = readSteps({ ...options, ...point, after, authRevision });
    await replay({ client: copy.client(this.clock), leases, steps, signal: never });
    assert.equal(copy.revision, revision);
    return { state: copy.state, leases: copy.leases };
  }
}

test("whatever breaks, every revision is in the log once, and every state can be rebuilt from it", async () => {
  for (let seed = 0; seed < 12; seed++) {
    const world = new World();
    const pick = seeded(seed);
    const { etcd, store } = world;
    etcd.cut = () => ({ events: 1 + pick(6), breaks: pick(12) === 0 });
    store.fails = () => (pick(5) === 0 ? (pick(2) === 0 ? "before" : "after") : "no");
    for (let i = 0; i < 5; i++) etcd.write(randomOps(etcd, pick));
    world.start({ segmentBytes: 400 });
    await world.until("the follower to begin", () => world.events.some(({ kind }) => kind === "start"));
    for (let i = 0; i < 60; i++) {
      etcd.write(randomOps(etcd, pick));
      if (pick(4) === 0) await world.clock.advance(pick(1500));
      if (pick(20) === 0) {
        await (pick(2) === 0 ? world.stop() : world.crash());
        world.start({ segmentBytes: 400 });
      }
    }
    await world.recorded();
    await world.stop();
    assert.deepEqual(world.reasons, ["none"], `seed ${seed}`);
    for (let i = 0; i < 8; i++) {
      const from = 6;
      const revision = from + pick(etcd.revision - from + 1);
      const { state, leases } = await world.rebuilt(revision);
      assert.deepEqual(state, etcd.states.get(revision), `seed ${seed}, revision ${revision}`);
      for (const [id, ttl] of leases) assert.equal(ttl, etcd.leases.get(id));
    }
  }
});

test("two followers of one cluster write one log", async () => {
  const world = new World();
  const other = new World();
  const pick = seeded(7);
  Object.assign(other, { clock: world.clock, etcd: world.etcd, store: world.store });
  world.etcd.cut = () => ({ events: 1 + pick(3), breaks: false });
  await world.takeBase();
  world.start();
  other.start();
  for (let i = 0; i < 50; i++) {
    world.etcd.write(randomOps(world.etcd, pick));
    await world.clock.advance(pick(800));
  }
  await world.recorded();
  await Promise.all([world.stop(), other.stop()]);
  const { state } = await world.rebuilt(world.etcd.revision);
  assert.deepEqual(state, world.etcd.state);
});

test("a change of users or roles ends the stretch before it, and a new base begins the next", async () => {
  const world = new World();
  world.start();
  await world.until("the base", () => world.bases === 1);
  world.etcd.write([{ put: "a", value: "1" }]);
  await world.recorded();
  const before = world.etcd.revision;
  world.etcd.write([{ put: "a", value: "2" }]);
  world.etcd.authRevision = 5n;
  world.etcd.write([{ put: "a", value: "3" }]);
  await world.until("the new base", () => world.bases === 2);
  await world.clock.advance(2000);
  world.etcd.write([{ put: "a", value: "4" }]);
  await world.recorded();
  await world.stop();
  assert.deepEqual(world.reasons, ["none", "auth"]);
  const { stretches } = await readLog(world.store, "abc", never);
  assert.deepEqual(
    stretches.map(({ end }) => end && [end.reason, end.revision]),
    [["auth", before], undefined],
  );
  assert.equal((await world.rebuilt(world.etcd.revision)).state.get("a")?.value, "4");
  // Nobody knows with which users the changes around it were made.
  await assert.rejects(world.rebuilt(before + 1), { fault: "unreachable" });
});

test("changes that etcd has compacted make a new base, and one that continues in time does not", async () => {
  const world = new World();
  world.start();
  await world.until("the base", () => world.bases === 1);
  world.etcd.write([{ put: "a", value: "1" }]);
  await world.recorded();
  await world.stop();
  world.etcd.write([{ put: "a", value: "2" }]);
  world.start();
  await world.recorded();
  assert.equal(world.bases, 1);
  await world.stop();
  for (let i = 0; i < 5; i++) world.etcd.write([{ put: "a", value: `x${i}` }]);
  world.etcd.compacted = world.etcd.revision;
  world.start();
  await world.until("the new base", () => world.bases === 2);
  world.etcd.write([{ put: "a", value: "after" }]);
  await world.recorded();
  await world.stop();
  assert.deepEqual(world.reasons, ["none", "compacted"]);
  assert.equal((await world.rebuilt(world.etcd.revision)).state.get("a")?.value, "after");
});

test("events that etcd does not send are noticed: the watch begins again, and then a new base is taken", async () => {
  const world = new World();
  world.start();
  await world.until("the base", () => world.bases === 1);
  let swallowed = 0;
  world.etcd.swallow = ({ revision }) => revision === 4 && swallowed++ < 1;
  for (let i = 0; i < 5; i++) world.etcd.write([{ put: "a", value: `${i}` }]);
  await world.recorded();
  assert.equal(world.bases, 1);
  const at = world.etcd.revision + 2;
  world.etcd.swallow = ({ revision }) => revision === at;
  for (let i = 0; i < 5; i++) world.etcd.write([{ put: "a", value: `again ${i}` }]);
  await world.until("the new base", () => world.bases === 2);
  world.etcd.write([{ put: "a", value: "after" }]);
  await world.recorded();
  await world.stop();
  assert.deepEqual(world.reasons, ["none", "gap"]);
  assert.equal((await world.rebuilt(world.etcd.revision)).state.get("a")?.value, "after");
});

test("a lease that is gone before it could be read keeps its ID", async () => {
  const world = new World();
  world.start();
  await world.until("the base", () => world.bases === 1);
  world.etcd.leases.set(7n, 30);
  world.etcd.write([{ put: "a", value: "1", lease: 7n }]);
  world.etcd.write([{ put: "b", value: "1", lease: 8n }]);
  await world.recorded();
  await world.stop();
  const { state, leases } = await world.rebuilt(world.etcd.revision);
  assert.deepEqual([state.get("a")?.lease, state.get("b")?.lease], [7n, 8n]);
  assert.deepEqual(
    [...leases],
    [
      [7n, 30],
      [8n, 60],
    ],
  );
});

test("bases are taken three times in a quarter of an hour at most", async () => {
  const world = new World();
  world.start();
  for (let i = 0; i < 60; i++) {
    world.etcd.authRevision++;
    world.etcd.write([{ put: "a", value: `${i}` }]);
    await world.clock.advance(10_000);
  }
  assert.equal(world.bases, 3);
  await world.stop();
});

test("another cluster behind the same endpoints gets a log of its own", async () => {
  const world = new World();
  world.start();
  await world.until("the base", () => world.bases === 1);
  world.etcd.write([{ put: "a", value: "1" }]);
  await world.recorded();
  world.etcd.clusterId = 0xdefn;
  let broken = false;
  world.etcd.cut = () => {
    const breaks = !broken;
    broken = true;
    return { events: 10, breaks };
  };
  world.etcd.write([{ put: "a", value: "2" }]);
  await world.until("a base of the other cluster", () => world.bases > 1);
  await world.stop();
  const { stretches } = await readLog(world.store, "abc", never);
  const last = stretches.at(-1)?.segments.at(-1);
  const { header } = await readSegment({ store: world.store, name: last?.name ?? "", signal: never });
  assert.equal(header.last, 2);
});

test("a time means what had been received by then, and times that nothing is known of are refused", async () => {
  const world = new World();
  const at = async (time: number) =>
    await findPoint({ store: world.store, clusterId: "abc", target: { time }, signal: never });
  await world.clock.advance(10_000);
  world.start();
  await world.until("the follower", () => world.events.some(({ kind }) => kind === "start"));
  // Nothing has changed yet, and that is known.
  await world.clock.advance(5_000);
  assert.equal((await at(12_000)).revision, 1);
  await assert.rejects(at(20_000), { fault: "unreachable" });
  const times: { revision: number; time: number }[] = [];
  for (let i = 0; i < 12; i++) {
    world.etcd.write([{ put: "a", value: `${i}` }]);
    await world.clock.advance(700);
    times.push({ revision: world.etcd.revision, time: world.clock.now() - 1 });
  }
  await world.recorded();
  await world.clock.advance(30_000);
  for (const { revision, time } of times) assert.equal((await at(time)).revision, revision);
  // Idle, and known to be.
  assert.equal((await at(world.clock.now() - 5000)).revision, world.etcd.revision);
  assert.equal((await at(10_000)).revision, 1);
  await assert.rejects(at(9_000), { fault: "unreachable" });
  await assert.rejects(at(world.clock.now() + 60_000), /what was received by .* is \(revision 13\)/);
  await world.stop();
  // Away for a minute: the point is what was received before, and says so.
  const left = world.clock.now();
  world.etcd.write([{ put: "a", value: "late" }]);
  await world.clock.advance(60_000);
  world.start();
  await world.recorded();
  await world.stop();
  const point = await at(left + 30_000);
  assert.equal(point.revision, 13);
  assert.ok(point.away !== undefined && Date.parse(point.away.to) > left + 30_000);
  assert.equal(
    (await findPoint({ store: world.store, clusterId: "abc", target: {}, signal: never })).revision,
    14,
  );
});
