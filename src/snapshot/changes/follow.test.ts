import assert from "node:assert/strict";
import { test } from "node:test";
import { KeyError, parseKey } from "../codec/key.ts";
import { manifestName, writeManifest } from "../manifest.ts";
import { manifestOf, never } from "../testing/fixtures.ts";
import { World } from "../testing/follow-world.ts";
import { randomOps, seeded } from "../testing/model-etcd.ts";
import { readLog } from "./log.ts";
import { findPoint } from "./point.ts";
import { readSegment } from "./segment.ts";

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

test("a follower that takes no snapshots waits for one of others, as often as it needs one", async () => {
  const world = new World();
  const { etcd } = world;
  etcd.write([{ put: "a", value: "1" }]);
  world.start({ takeBase: undefined });
  await world.until("it waits", () => world.reasons.length > 2);
  assert.deepEqual([world.bases, new Set(world.reasons)], [0, new Set(["none"])]);
  await world.takeBase();
  etcd.write([{ put: "a", value: "2" }]);
  await world.recorded();
  etcd.authRevision++;
  etcd.write([{ put: "a", value: "3" }]);
  await world.until("users changed", () => world.reasons.includes("auth"));
  assert.equal(world.bases, 1);
  await world.takeBase();
  etcd.write([{ put: "a", value: "4" }]);
  await world.recorded();
  await world.stop();
  const { state } = await world.rebuilt(etcd.revision);
  assert.deepEqual(state, etcd.state);
});

test("a follower that waits for a snapshot of others asks the store less and less often", async () => {
  const world = new World();
  world.start({ takeBase: undefined });
  await world.until("it waits", () => world.reasons.length >= 6);
  await world.stop();
  const waits = world.events.flatMap((event) => (event.kind === "base" ? [event.waitMs] : []));
  assert.deepEqual(waits.slice(0, 6), [5_000, 10_000, 20_000, 40_000, 60_000, 60_000]);
});

test("changes of another key are continued after a new snapshot where others take it, and refused otherwise", async () => {
  const world = new World();
  const keys = [1, 2].map((byte) => parseKey(Buffer.alloc(32, byte), "test"));
  const [former, key] = keys;
  assert.ok(former && key);
  world.start({ key: former });
  await world.until("the base", () => world.bases === 1);
  world.etcd.write([{ put: "a", value: "1" }]);
  world.etcd.write([{ put: "a", value: "2" }]);
  await world.recorded();
  await world.stop();
  world.start({ key, takeBase: undefined });
  await world.until("it waits", () => world.reasons.includes("damaged"));
  await world.takeBase();
  world.etcd.write([{ put: "a", value: "3" }]);
  await world.recorded();
  await world.stop();
  world.start({ key: former });
  await assert.rejects(
    world.until("it fails", () => false),
    KeyError,
  );
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

test("two followers that began after different snapshots write a log that leads to every revision", async () => {
  for (let seed = 0; seed < 6; seed++) {
    const world = new World();
    const other = new World();
    const pick = seeded(seed);
    const { etcd, store } = world;
    Object.assign(other, { clock: world.clock, etcd, store });
    const busy = async (times: number) => {
      for (let i = 0; i < times; i++) {
        etcd.write(randomOps(etcd, pick));
        await world.clock.advance(50 + pick(100));
      }
    };
    etcd.write([{ put: "a", value: "1" }]);
    await world.takeBase();
    const from = etcd.revision;
    world.start();
    await world.until("the first", () => world.events.some(({ kind }) => kind === "start"));
    await busy(4);
    // Before the first has written anything.
    await world.takeBase();
    other.start();
    await busy(60);
    // One of them ends for good, the other one goes on.
    await (seed % 2 === 0 ? other : world).crash();
    const left = seed % 2 === 0 ? world : other;
    await busy(30);
    await left.recorded();
    await left.stop();
    for (const { events } of [world, other]) assert.ok(events.some(({ kind }) => kind === "segment"));
    for (let revision = from; revision <= etcd.revision; revision++)
      assert.deepEqual(
        (await world.rebuilt(revision)).state,
        etcd.states.get(revision),
        `seed ${seed}, revision ${revision}`,
      );
  }
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

test("enabling authentication, which raises no auth revision, ends the stretch too", async () => {
  for (const running of [true, false]) {
    const world = new World();
    const { etcd } = world;
    etcd.switchAuth(true);
    etcd.switchAuth(false);
    world.start();
    await world.until("the base", () => world.bases === 1);
    etcd.write([{ put: "a", value: "open" }]);
    await world.recorded();
    const open = etcd.revision;
    if (!running) await world.stop();
    etcd.switchAuth(true);
    etcd.write([{ put: "a", value: "closed" }]);
    if (!running) world.start();
    await world.until("the new base", () => world.bases === 2);
    await world.clock.advance(2000);
    etcd.write([{ put: "a", value: "closed, again" }]);
    await world.recorded();
    await world.stop();
    assert.deepEqual(world.reasons, ["none", "auth"]);
    const at = async (revision: number) =>
      (await findPoint({ store: world.store, clusterId: "abc", target: { revision }, signal: never })).base;
    assert.equal((await at(open)).manifest.authEnabled, false);
    assert.equal((await at(etcd.revision)).manifest.authEnabled, true);
    assert.equal((await at(open + 1)).manifest.authEnabled, true);
    await world.rebuilt(etcd.revision);
  }
});

test("a base of which nobody knows whether authentication was on is not continued", async () => {
  const world = new World();
  const manifest = manifestOf({ object: "old.db", revision: 1, authRevision: 1 });
  for (const [name, bytes] of [
    ["old.db", Buffer.alloc(manifest.stored.size)],
    [manifestName("old.db"), Buffer.from(writeManifest(manifest))],
  ] as const)
    world.store.objects.set(name, { bytes, modifiedAt: new Date(0) });
  world.start();
  await world.until("the base", () => world.bases === 1);
  await world.stop();
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

test("what was received before the watch broke is kept, also where etcd compacts past it meanwhile", async () => {
  const world = new World();
  const { etcd } = world;
  world.start();
  await world.until("the base", () => world.bases === 1);
  etcd.write([{ put: "a", value: "1" }]);
  await world.recorded();
  etcd.write([{ put: "a", value: "2" }]);
  etcd.write([{ put: "a", value: "3" }]);
  const received = etcd.revision;
  await world.clock.advance(500);
  let broken = false;
  etcd.cut = () => {
    const breaks = !broken;
    broken = true;
    return { events: breaks ? 0 : 10, breaks };
  };
  etcd.write([{ put: "a", value: "4" }]);
  etcd.write([{ put: "a", value: "5" }]);
  etcd.compacted = etcd.revision;
  await world.until("the new base", () => world.bases === 2);
  await world.stop();
  assert.equal((await world.rebuilt(received)).state.get("a")?.value, "3");
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
