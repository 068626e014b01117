import assert from "node:assert/strict";
import { test } from "node:test";
import { planPrune, prune } from "../prune.ts";
import { listSnapshots } from "../catalog.ts";
import { manifestName, writeManifest } from "../manifest.ts";
import { manifestOf, never } from "../testing/fixtures.ts";
import { MemoryStore } from "../testing/memory-store.ts";
import type { ChangeLog, NamedSegment } from "./log.ts";
import { endName, liveName, parseLogName, segmentName } from "./names.ts";
import { obsolete, obsoleteChanges, reachOf } from "./retain.ts";

const at = (second: number) => new Date(1000 * second).toISOString();
const segments = (...firsts: number[]) =>
  firsts.map((first) => ({ name: segmentName("abc", first), first, writtenAt: 0 }));
const log: ChangeLog = {
  clusterId: "abc",
  stretches: [
    { segments: segments(11, 21, 31), end: { revision: 38, time: at(38), reason: "auth" } },
    { segments: segments(51, 61) },
  ],
  live: { revision: 65, time: at(70) },
};

test("a snapshot reaches as far as the stretch that its revision lies in", () => {
  const reach = (revision: number) => reachOf(log, manifestOf({ revision }))?.revision;
  assert.deepEqual([5, 9, 10, 25, 38].map(reach), [undefined, undefined, 38, 38, 38]);
  assert.deepEqual([40, 49, 50, 60, 65].map(reach), [undefined, undefined, 65, 65, 65]);
  assert.equal(reachOf(log, manifestOf({ revision: 10, compactRevision: 50 }))?.revision, 65);
  // A snapshot that nothing has followed yet.
  const quiet = { ...log, stretches: log.stretches.slice(0, 1), live: { revision: 38, time: at(70) } };
  assert.deepEqual(reachOf(quiet, manifestOf({ revision: 38 })), quiet.live);
  assert.deepEqual(reachOf({ ...quiet, stretches: [] }, manifestOf({ revision: 38 })), quiet.live);
  assert.equal(reachOf(quiet, manifestOf({ revision: 39 })), undefined);
});

test("only segments that lie wholly before the oldest kept snapshot are obsolete, and the last one never is", () => {
  const goes = (...revisions: number[]) =>
    obsolete(
      log,
      revisions.map((revision) => manifestOf({ revision })),
    ).map((name) => parseLogName(name)?.revision);
  assert.deepEqual(goes(), []);
  assert.deepEqual(goes(10, 50), []);
  assert.deepEqual(goes(19), []);
  assert.deepEqual(goes(20), [11]);
  assert.deepEqual(goes(50), [11, 21, 31, 39]);
  assert.deepEqual(goes(1000), [11, 21, 31, 39, 51]);
});

test("a segment that was written about when the oldest kept snapshot was taken stays: a second follower may have written more into it than names tell", () => {
  const kept = manifestOf({ revision: 25, startedAt: at(10_000) });
  const goes = (writtenAt: number) => {
    const [first, ...rest] = segments(11, 21, 41);
    const stretches = [{ segments: [{ ...(first as NamedSegment), writtenAt }, ...rest] }];
    return obsolete({ clusterId: "abc", stretches }, [kept]);
  };
  assert.deepEqual(goes(9_000_000), [segmentName("abc", 11)]);
  assert.deepEqual(goes(9_700_000), []);
  assert.deepEqual(goes(12_000_000), []);
});

test("names of a log are no snapshots, and other names are no log", async () => {
  const store = new MemoryStore();
  const names = [segmentName("abc", 11), endName("abc", 20), liveName("abc")];
  for (const name of names) {
    assert.notEqual(parseLogName(name), undefined);
    store.objects.set(name, { bytes: Buffer.from("{}"), modifiedAt: new Date(0) });
  }
  assert.deepEqual(await listSnapshots(store, "", never), []);
  for (const name of ["changes/abc/1.log", "changes/abc.log", "a.db", "changes/xyz/live.json"])
    assert.equal(parseLogName(name), undefined, name);
});

test("prune deletes the part of a log that no kept snapshot needs, and says so before", async () => {
  const store = new MemoryStore();
  const bytes = (text: string) => ({ bytes: Buffer.from(text), modifiedAt: new Date(0) });
  for (const [index, revision] of [10, 20, 30].entries()) {
    const object = `s${index}.db`;
    const stored = { size: 1, sha256: "0".repeat(64) };
    const manifest = manifestOf({
      object,
      revision,
      stored,
      startedAt: at(10_000 + index),
      completedAt: at(10_000 + index),
    });
    store.objects.set(object, bytes("x"));
    store.objects.set(manifestName(object), bytes(writeManifest(manifest)));
  }
  for (const first of [11, 21, 31]) store.objects.set(segmentName("abc", first), bytes("segment"));
  const none = { keepLast: 0, hourly: 0, daily: 0, weekly: 0, monthly: 0, yearly: 0 };
  const plan = await planPrune(store, "", { ...none, keepLast: 2 }, Date.now(), never);
  assert.deepEqual(plan.changes, [{ clusterId: "abc", names: [segmentName("abc", 11)] }]);
  await prune(store, plan, never, () => undefined);
  const left = [...store.objects.keys()].filter((name) => name.startsWith("changes/"));
  assert.deepEqual(left, [segmentName("abc", 21), segmentName("abc", 31)]);
});

test("of a folder's logs goes what its snapshots do not need, and nothing of a log without a snapshot", async () => {
  const store = new MemoryStore();
  const put = (name: string, text = "{}") =>
    store.objects.set(name, { bytes: Buffer.from(text), modifiedAt: new Date(0) });
  for (const first of [11, 21, 31]) for (const cluster of ["abc", "def"]) put(segmentName(cluster, first));
  const keep = (object: string, revision: number) => {
    put(object);
    put(
      manifestName(object),
      writeManifest(manifestOf({ object, revision, stored: { size: 2, sha256: "0".repeat(64) } })),
    );
  };
  assert.deepEqual(await obsoleteChanges(store, never), []);
  keep("a.db", 25);
  assert.deepEqual(await obsoleteChanges(store, never), [segmentName("abc", 11)]);
  assert.deepEqual(await obsoleteChanges(new MemoryStore(), never), []);
});
