import assert from "node:assert/strict";
import { test } from "node:test";
import type { WatchEvent } from "../../etcd/watch.ts";
import { seeded } from "../testing/model-etcd.ts";
import { Collector, EventsMissing } from "./collector.ts";
import type { RevisionRecord } from "./record.ts";

function event(revision: number, key: string): WatchEvent {
  const kv = {
    key: Buffer.from(key),
    value: Buffer.from("v"),
    createRevision: BigInt(revision),
    version: 1n,
  };
  return { type: "put", kv: { ...kv, modRevision: BigInt(revision), lease: 0n } };
}

const shape = (records: readonly RevisionRecord[]) =>
  records.map(
    ({ revision, changes }) =>
      `${revision}:${changes.map(({ key }) => Buffer.from(key).toString()).join(",")}`,
  );

test("revisions come out whole and in order, however the answers are cut and however often the watch breaks", () => {
  for (let seed = 0; seed < 300; seed++) {
    const pick = seeded(seed);
    const history = Array.from({ length: 1 + pick(30) }, (_, i) =>
      Array.from({ length: 1 + pick(4) }, (_, j) => event(11 + i, `k${j}`)),
    );
    const all = history.flat();
    const collector = new Collector(10);
    const got: RevisionRecord[] = [];
    let at = 0;
    while (collector.complete < 10 + history.length) {
      if (pick(6) === 0) {
        // The watch begins again with the last revision that it has sent, which may have been sent in part.
        collector.restarted();
        at = all.findIndex(({ kv }) => Number(kv.modRevision) > collector.complete);
      }
      const part = all.slice(at, at + 1 + pick(5));
      at += part.length;
      collector.events(part, at);
      if (at === all.length) collector.progress(10 + history.length);
      got.push(...collector.taken());
    }
    const expected = history.map((events, i) => `${11 + i}:${events.map((_, j) => `k${j}`).join(",")}`);
    assert.deepEqual(shape(got), expected, `seed ${seed}`);
  }
});

test("a revision that etcd leaves out is noticed", () => {
  const collector = new Collector(10);
  assert.throws(() => collector.events([event(12, "a")], 0), EventsMissing);
  // What was whole before the gap is kept.
  assert.throws(() => collector.events([event(11, "a"), event(13, "a")], 0), EventsMissing);
  assert.deepEqual(shape(collector.taken()), ["11:a"]);
  assert.equal(collector.complete, 11);
  const silent = new Collector(10);
  silent.progress(10);
  assert.throws(() => silent.progress(11), EventsMissing);
});

test("times never go back, also where the clock does", () => {
  const collector = new Collector(10, 500);
  collector.events([event(11, "a")], 400);
  collector.events([event(12, "a")], 700);
  collector.events([event(13, "a")], 600);
  collector.progress(13);
  assert.deepEqual(
    collector.taken().map(({ time }) => time),
    [500, 700, 700],
  );
});
