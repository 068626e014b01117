import assert from "node:assert/strict";
import { test } from "node:test";
import { systemRandom } from "../../seams/random.ts";
import { manifestName, writeManifest } from "../manifest.ts";
import { manifestOf, never } from "../testing/fixtures.ts";
import { World } from "../testing/follow-world.ts";
import { MemoryStore } from "../testing/memory-store.ts";
import { randomOps, seeded } from "../testing/model-etcd.ts";
import { ChangeLogError } from "./errors.ts";
import { readLog } from "./log.ts";
import { findPoint, type Target } from "./point.ts";
import { SegmentDraft, writeSegment } from "./segment.ts";

test("a damaged segment is in the way only of the times that need it", async () => {
  const world = new World();
  const { etcd, clock, store } = world;
  const at = async (time: number) =>
    (await findPoint({ store, clusterId: "abc", target: { time }, signal: never })).revision;
  await clock.advance(10_000);
  world.start();
  await world.until("the follower", () => world.events.some(({ kind }) => kind === "start"));
  const times: { revision: number; time: number }[] = [];
  for (let i = 0; i < 24; i++) {
    etcd.write([{ put: "a", value: `${i}` }]);
    // So no change has to be replayed, and what is left is to find the revision.
    await world.takeBase();
    await clock.advance(450);
    times.push({ revision: etcd.revision, time: clock.now() - 1 });
  }
  await world.recorded();
  await world.stop();
  const { stretches } = await readLog(store, "abc", never);
  const all = stretches.flatMap(({ segments }) => segments);
  assert.ok(all.length > 6, `${all.length} segments`);
  for (const broken of [[0], [1], [3, 4], [all.length - 2], [all.length - 1], [0, 2, 5]]) {
    const kept = new Map(store.objects);
    for (const index of broken)
      store.objects.set(all[index]?.name ?? "", { bytes: Buffer.from("damaged"), modifiedAt: new Date(0) });
    // From when the one before has ended; where the next one begins, a snapshot tells.
    const isNeeded = (revision: number) =>
      broken.some((index) => {
        const [segment, next] = [all[index], all[index + 1]];
        return revision >= (segment?.first ?? 0) - 1 && revision < (next?.first ?? Infinity) - 1;
      });
    for (const { revision, time } of times.slice(0, -1))
      if (isNeeded(revision))
        await assert.rejects(at(time), { fault: "damaged" }, `${broken.join()}: ${revision}`);
      else assert.equal(await at(time), revision, broken.join());
    for (const [name, object] of kept) store.objects.set(name, object);
  }
});

test("where a second follower ended in the middle of a segment, times after that are found in the longer one", async () => {
  const store = new MemoryStore();
  const stored = { size: 1, sha256: "0".repeat(64) };
  const since = new Date(0).toISOString();
  const base = { revision: 1, stored, startedAt: since, completedAt: since };
  for (const revision of [1, 7]) {
    const manifest = manifestOf({ ...base, object: `${revision}.db`, revision });
    store.objects.set(manifest.object, { bytes: Buffer.alloc(1), modifiedAt: new Date(0) });
    const bytes = Buffer.from(writeManifest(manifest));
    store.objects.set(manifestName(manifest.object), { bytes, modifiedAt: new Date(0) });
  }
  for (const [after, last] of [
    [1, 10],
    [3, 5],
    [10, 12],
  ] as const) {
    const draft = new SegmentDraft(after);
    for (let revision = after + 1; revision <= last; revision++)
      draft.add({ kind: "revision", revision, time: 1000 * revision, changes: [] }, []);
    const place = { clusterId: "abc", base: "1.db", authRevision: 1, authEnabled: false, since };
    await writeSegment(store, draft, place, { compression: "none", random: systemRandom, signal: never });
  }
  for (let revision = 2; revision < 12; revision++) {
    const target = { time: 1000 * revision + 500 };
    const point = await findPoint({ store, clusterId: "abc", target, signal: never });
    assert.equal(point.revision, revision);
    // The longer one leads there.
    if (revision > 5) assert.ok(revision === 7 || point.segments.some(({ first }) => first === 2));
  }
});

test("a listing that is out of date gives the right point, or none with the reason", async () => {
  for (let seed = 0; seed < 10; seed++) {
    const pick = seeded(seed);
    const world = new World();
    const { etcd, clock, store } = world;
    world.start({ segmentBytes: 300 });
    await world.until("the follower", () => world.events.some(({ kind }) => kind === "start"));
    const times = new Map<number, number>();
    for (let i = 0; i < 20; i++) {
      etcd.write(randomOps(etcd, pick));
      if (i === 10) etcd.authRevision++;
      await clock.advance(1500);
      times.set(clock.now() - 1, etcd.revision);
      // What the time says is what the log has received by then.
      await world.recorded();
    }
    await world.stop();
    const names = [...store.objects.keys()].filter((name) => !name.endsWith("live.json"));
    assert.ok(names.length > 6);
    let found = 0;
    for (let i = 0; i < 12; i++) {
      store.faults = { hideFromList: new Set(names.filter(() => pick(3) === 0)) };
      const options = { store, clusterId: "abc", signal: never };
      const point = async (target: Target) => {
        try {
          const { revision } = await findPoint({ ...options, target });
          const { state } = await world.rebuilt(revision);
          assert.deepEqual(state, etcd.states.get(revision), `seed ${seed}`);
          found++;
          return revision;
        } catch (error) {
          if (!(error instanceof ChangeLogError)) throw error;
          assert.match(error.fault, /^(unreachable|gap|auth)$/, error.message);
          return undefined;
        }
      };
      assert.ok([undefined, etcd.revision].includes(await point({})), `the latest, seed ${seed}`);
      const revision = 1 + pick(etcd.revision);
      assert.ok([undefined, revision].includes(await point({ revision })));
      const time = [...times.keys()][pick(times.size)] as number;
      assert.ok([undefined, times.get(time)].includes(await point({ time })), `by time, seed ${seed}`);
    }
    assert.ok(found > 0, `seed ${seed} found none`);
    store.faults = {};
    assert.equal(
      (await findPoint({ store, clusterId: "abc", target: {}, signal: never })).revision,
      etcd.revision,
    );
  }
});
