import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { manifestName, UNKNOWN_ID, writeManifest } from "./manifest.ts";
import { planPrune, prune } from "./prune.ts";
import { judge, periodOf, PERIODS, type Retention } from "./retention.ts";
import { once } from "./store/store.ts";
import { entryAt, manifestOf, never } from "./testing/fixtures.ts";
import { FaultyStore } from "./testing/memory-store.ts";

const HOUR = 3_600_000;
const NOW = Date.UTC(2026, 0, 1);
const START = Date.UTC(2025, 0, 1);
const none: Retention = { keepLast: 0, hourly: 0, daily: 0, weekly: 0, monthly: 0, yearly: 0 };

const policies = fc.record({
  keepLast: fc.nat(5),
  hourly: fc.nat(5),
  daily: fc.nat(5),
  weekly: fc.nat(5),
  monthly: fc.nat(5),
  yearly: fc.nat(3),
});
const times = fc.array(fc.integer({ min: 0, max: 800 * 24 }), { maxLength: 60 });

test("the newest good snapshot of each cluster is always kept, and only ours are judged", () => {
  fc.assert(
    fc.property(times, times, policies, (first, second, policy) => {
      const entries = [
        ...first.map((hour) => entryAt(new Date(START + hour * HOUR))),
        ...second.map((hour) => entryAt(new Date(START + hour * HOUR), {}, "def")),
        entryAt(new Date(START + 9000 * HOUR), { state: "damaged" }),
        { name: "etcdctl.db", state: "plain", size: 1, at: new Date(START) } as const,
      ];
      const verdicts = judge(entries, policy);
      assert.equal(verdicts.length, first.length + second.length);
      for (const [hours, cluster] of [
        [first, "abc"],
        [second, "def"],
      ] as const) {
        if (hours.length === 0) continue;
        const newest = START + Math.max(...hours) * HOUR;
        const kept = verdicts.filter(
          ({ entry, keep }) => keep.length > 0 && entry.manifest?.clusterId === cluster,
        );
        assert.ok(kept.some(({ entry }) => entry.at.getTime() === newest));
        assert.ok(kept.every(({ entry }) => entry.state === "complete"));
      }
    }),
  );
});

test("snapshots whose cluster is not known are never deleted, since they may be of any number of clusters", () => {
  fc.assert(
    fc.property(times, times, policies, (known, unknown, policy) => {
      const imports = unknown.map((hour) => entryAt(new Date(START + hour * HOUR), {}, UNKNOWN_ID));
      const entries = [...known.map((hour) => entryAt(new Date(START + hour * HOUR))), ...imports];
      const goes = judge(entries, policy).filter(({ keep }) => keep.length === 0);
      assert.ok(goes.every(({ entry }) => !imports.includes(entry)));
      const alone = judge(entries.slice(0, known.length), policy);
      assert.equal(goes.length, alone.filter(({ keep }) => keep.length === 0).length);
    }),
  );
});

test("a prune leaves an import without a cluster ID where it is, and says so", async () => {
  const store = await storeWith([1, 2]);
  for (const [hour, clusterId] of [
    [3, UNKNOWN_ID],
    [4, UNKNOWN_ID],
    [5, "def"],
  ] as const)
    await storeWith([hour], { store, clusterId });
  const plan = await planPrune(store, "", { ...none, keepLast: 1 }, NOW, never);
  await prune(store, plan, never, () => undefined);
  assert.ok(["s00003.db", "s00004.db", "s00005.db"].every((name) => store.objects.has(name)));
  assert.deepEqual(
    plan.untouched.flatMap(({ name, state }) => (state === "complete" ? [name] : [])),
    ["s00003.db", "s00004.db"],
  );
});

test("each period keeps its newest snapshot, as many periods as the policy says", () => {
  fc.assert(
    fc.property(times, policies, (hours, policy) => {
      const entries = [...new Set(hours)].map((hour) => entryAt(new Date(START + hour * HOUR)));
      const verdicts = judge(entries, policy);
      for (const period of PERIODS) {
        const names = new Set(entries.map(({ at }) => periodOf(at, period)));
        const kept = verdicts.filter(({ keep }) => keep.includes(period));
        assert.equal(kept.length, Math.min(names.size, policy[period]));
        for (const { entry } of kept) {
          const same = entries.filter(({ at }) => periodOf(at, period) === periodOf(entry.at, period));
          assert.ok(same.every(({ at }) => at.getTime() <= entry.at.getTime()));
        }
      }
    }),
  );
});

test("judging again after a deletion deletes nothing more", () => {
  fc.assert(
    fc.property(times, policies, (hours, policy) => {
      const entries = [...new Set(hours)].map((hour) => entryAt(new Date(START + hour * HOUR)));
      const kept = judge(entries, policy).flatMap(({ entry, keep }) => (keep.length > 0 ? [entry] : []));
      assert.ok(judge(kept, policy).every(({ keep }) => keep.length > 0));
    }),
  );
});

test("a year of hourly snapshots comes to a few dozen, and each span back is covered", () => {
  const policy = { keepLast: 3, hourly: 24, daily: 7, weekly: 5, monthly: 12, yearly: 5 };
  let kept: ReturnType<typeof entryAt>[] = [];
  for (let hour = 0; hour < 365 * 24; hour++) {
    kept.push(entryAt(new Date(START + hour * HOUR)));
    kept = judge(kept, policy).flatMap(({ entry, keep }) => (keep.length > 0 ? [entry] : []));
  }
  const now = START + (365 * 24 - 1) * HOUR;
  assert.ok(kept.length >= 40 && kept.length <= 53, `${kept.length} kept`);
  for (const daysBack of [1, 6, 30, 90, 300])
    assert.ok(
      kept.some(
        ({ at }) =>
          Math.abs(now - daysBack * 24 * HOUR - at.getTime()) <= Math.max(1, daysBack / 6) * 24 * HOUR,
      ),
      `something about ${daysBack} days old`,
    );
});

test("weeks begin on Monday", () => {
  assert.equal(periodOf(new Date("2026-11-15T23:59:59Z"), "weekly"), "2026-11-09");
  assert.equal(periodOf(new Date("2026-11-16T00:00:00Z"), "weekly"), "2026-11-16");
});

async function storeWith(
  hours: readonly number[],
  { store = new FaultyStore(), folder = "", clusterId = "abc" } = {},
): Promise<FaultyStore> {
  for (const hour of hours) {
    const name = `s${String(hour).padStart(5, "0")}.db`;
    const startedAt = new Date(START + hour * HOUR).toISOString();
    const manifest = manifestOf({
      object: name,
      clusterId,
      startedAt,
      sha256: hour.toString(16).padStart(64, "0"),
    });
    const at = `${folder}${name}`;
    await store.put(at, once(Buffer.alloc(100)), { ifAbsent: true, signal: never });
    await store.put(manifestName(at), once(writeManifest(manifest)), { ifAbsent: true, signal: never });
  }
  await store.put(`${folder}foreign.db`, once("etcdctl's"), { ifAbsent: false, signal: never });
  await store.put(`${folder}notes.txt`, once("of a person"), { ifAbsent: false, signal: never });
  return store;
}

test("pruning deletes objects with their manifests and nothing else", async () => {
  const store = await storeWith([1, 2, 3, 4]);
  const plan = await planPrune(store, "", { ...none, keepLast: 2 }, NOW, never);
  const deleted: string[] = [];
  await prune(store, plan, never, ({ name }) => deleted.push(name));
  assert.deepEqual(deleted, ["s00002.db", "s00001.db"]);
  assert.deepEqual([...store.objects.keys()].filter((name) => !name.includes("manifest")).toSorted(), [
    "foreign.db",
    "notes.txt",
    "s00003.db",
    "s00004.db",
  ]);
});

test("a deletion that was interrupted is finished by the next run", async () => {
  const store = await storeWith([1, 2, 3]);
  const plan = await planPrune(store, "", { ...none, keepLast: 1 }, NOW, never);
  await store.delete("s00002.db");
  await prune(store, plan, never, () => undefined);
  assert.ok(store.objects.has(manifestName("s00002.db")));
  await prune(
    store,
    await planPrune(store, "", { ...none, keepLast: 1 }, NOW, never),
    never,
    () => undefined,
  );
  assert.deepEqual(
    [...store.objects.keys()].toSorted(),
    ["foreign.db", "notes.txt", "s00003.db", manifestName("s00003.db")].toSorted(),
  );
});

test("nothing is deleted when the newest snapshot of the listing is gone", async () => {
  const store = await storeWith([1, 2, 3]);
  const plan = await planPrune(store, "", { ...none, keepLast: 1 }, NOW, never);
  await store.delete("s00003.db");
  await prune(store, plan, never, () => undefined);
  assert.ok(store.objects.has("s00001.db") && store.objects.has("s00002.db"));
});

test("snapshots in folders below are neither deleted nor counted", async () => {
  const store = await storeWith([1, 2, 3]);
  await storeWith([1, 2, 8, 9], { store, folder: "archive/" });
  await store.delete("archive/s00002.db");
  const before = [...store.objects.keys()].filter((name) => name.startsWith("archive/"));
  const plan = await planPrune(store, "", { ...none, keepLast: 2 }, NOW, never);
  assert.deepEqual(
    plan.verdicts.map(({ entry, keep }) => [entry.name, keep.length > 0]),
    [
      ["s00003.db", true],
      ["s00002.db", true],
      ["s00001.db", false],
    ],
  );
  await prune(store, plan, never, () => undefined);
  assert.deepEqual(
    [...store.objects.keys()].filter((name) => name.startsWith("archive/")),
    before,
  );
  assert.ok(!store.objects.has("s00001.db"));
});

test("a newest snapshot in a folder below does not make deletions in this one safe", async () => {
  const store = await storeWith([1, 2, 3]);
  await storeWith([9], { store, folder: "archive/" });
  const plan = await planPrune(store, "", { ...none, keepLast: 1 }, NOW, never);
  await store.delete("s00003.db");
  await prune(store, plan, never, () => undefined);
  assert.ok(store.objects.has("s00001.db") && store.objects.has("s00002.db"));
});

test("what a killed write left goes a day after its last byte; what may still be written stays", async () => {
  const store = await storeWith([1, 2]);
  const of = "etcd-abc-20260101T000000Z-0000.db";
  const at = (hours: number) => ({ of, size: 5, modifiedAt: new Date(NOW - hours * HOUR) });
  const dead = { ...at(25), name: `.${of}.00000001.partial` };
  const woken = { ...at(26), name: `.${of}.00000002.partial` };
  const live = { ...at(23), name: `.${of}.00000003.partial` };
  const left = [dead, woken, live, { ...dead, name: `b/.${of}.00000004.partial`, of: `b/${of}` }];
  for (const { name } of left) store.objects.set(name, { bytes: Buffer.alloc(5), modifiedAt: new Date(0) });
  store.left.push(...left);
  const plan = await planPrune(store, "", { ...none, keepLast: 5 }, NOW, never);
  store.left.splice(1, 1, { ...woken, modifiedAt: new Date(NOW) });
  const deleted: string[] = [];
  await prune(store, plan, never, ({ name }) => deleted.push(name));
  assert.deepEqual(deleted, [dead.name]);
  assert.ok(!store.objects.has(dead.name) && store.objects.has(woken.name) && store.objects.has(live.name));
});
