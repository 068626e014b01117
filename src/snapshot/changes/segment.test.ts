import assert from "node:assert/strict";
import { test } from "node:test";
import { systemRandom } from "../../seams/random.ts";
import { parseKey, type EncryptionKey } from "../codec/key.ts";
import { never } from "../testing/fixtures.ts";
import { FaultyStore, MemoryStore } from "../testing/memory-store.ts";
import { seeded } from "../testing/model-etcd.ts";
import type { AuthState } from "./auth.ts";
import { ChangeLogError } from "./errors.ts";
import { readLog, writeEnd } from "./log.ts";
import { readSteps, type Step } from "./reader.ts";
import type { Change, LeaseRecord, RevisionRecord } from "./record.ts";
import { readSegment, SegmentDraft, writeSegment, type SegmentPlace } from "./segment.ts";

const place: SegmentPlace = {
  clusterId: "abc",
  base: "a.db",
  authRevision: 1,
  authEnabled: false,
  since: new Date(0).toISOString(),
};
const plain = { compression: "none", random: systemRandom, signal: never } as const;

function randomChange(pick: (below: number) => number): Change {
  const key = Buffer.from(`key${pick(1000)}`);
  if (pick(3) === 0) return { type: "delete", key };
  const value = Buffer.alloc(pick(50), pick(256));
  return {
    type: "put",
    key,
    value,
    createRevision: 1 + pick(99),
    version: 1 + pick(9),
    lease: BigInt(pick(3)),
  };
}

/** Revisions 11 to 10 + count in segments that are cut anywhere. */
async function randomLog(
  store: MemoryStore,
  seed: number,
  encoding: { compression?: "zstd"; key?: EncryptionKey } = {},
) {
  const pick = seeded(seed);
  const records = Array.from({ length: 5 + pick(40) }, (_, i): RevisionRecord => ({
    kind: "revision",
    revision: 11 + i,
    time: 1000 * i,
    changes: Array.from({ length: 1 + pick(3) }, () => randomChange(pick)),
  }));
  const leases: LeaseRecord[] = [1n, 2n].map((id) => ({ kind: "lease", id, ttl: Number(id) * 10 }));
  let draft = new SegmentDraft(10);
  const write = async () => {
    await writeSegment(store, draft, place, { ...plain, ...encoding });
    draft = new SegmentDraft(draft.last);
  };
  for (const record of records) {
    draft.add(record, leases);
    if (pick(4) === 0) await write();
  }
  if (draft.last > draft.after) await write();
  return records;
}

async function stepsOf(
  store: MemoryStore,
  options: { after: number; revision: number; auth?: AuthState; key?: EncryptionKey },
) {
  const { stretches } = await readLog(store, "abc", never);
  const all = stretches.flatMap(({ segments }) => segments);
  const segments = all.slice(
    Math.max(
      0,
      all.findLastIndex(({ first }) => first <= options.after + 1),
    ),
  );
  const steps: Step[] = [];
  const read = { store, clusterId: "abc", segments, auth: place, ...options, signal: never };
  for await (const step of readSteps(read)) steps.push(step);
  return steps;
}

const fault = (wanted: string, words: RegExp) => (error: unknown) => {
  assert.ok(error instanceof ChangeLogError, String(error));
  assert.equal(error.fault, wanted, error.message);
  assert.match(error.message, words);
  return true;
};

test("from any revision to any other, the records are those that were written, however they were cut", async () => {
  const key = parseKey(Buffer.from("0f".repeat(32)), "test");
  for (let seed = 0; seed < 60; seed++) {
    const store = new MemoryStore();
    const encoding = seed % 10 === 0 ? ({ compression: "zstd", key } as const) : {};
    const records = await randomLog(store, seed, encoding);
    const pick = seeded(seed + 1000);
    const after = 10 + pick(records.length);
    const revision = after + 1 + pick(10 + records.length - after);
    const steps = await stepsOf(store, { after, revision, ...(seed % 10 === 0 && { key }) });
    assert.deepEqual(
      steps.map(({ record }) => record),
      records.slice(after - 10, revision - 10),
      `seed ${seed}`,
    );
    for (const { record, leases } of steps)
      for (const change of record.changes)
        if (change.type === "put" && change.lease !== 0n)
          assert.equal(leases.get(change.lease)?.ttl, Number(change.lease) * 10);
  }
});

test("a flipped byte anywhere in a segment is an error that names it, and so is one that is cut off", async () => {
  for (let seed = 0; seed < 200; seed++) {
    const store = new FaultyStore();
    const records = await randomLog(store, seed % 7);
    const pick = seeded(seed);
    const names = [...store.objects.keys()];
    const name = names[pick(names.length)] ?? "";
    const { bytes } = store.objects.get(name) as { bytes: Buffer };
    const at = pick(bytes.length);
    if (seed % 4 === 0) store.objects.set(name, { bytes: bytes.subarray(0, at), modifiedAt: new Date(0) });
    else bytes[at] = (bytes[at] ?? 0) ^ (1 << pick(8));
    await assert.rejects(
      stepsOf(store, { after: 10, revision: 10 + records.length }),
      (error: Error) => {
        assert.ok(error.message.includes(name), `${error.message} names ${name}`);
        return error instanceof ChangeLogError && ["damaged", "gap"].includes(error.fault);
      },
      `seed ${seed}: byte ${at} of ${name}`,
    );
  }
});

test("a missing segment is an error that names where, and so is an overlap whose changes are not the same", async () => {
  for (let seed = 0; seed < 40; seed++) {
    const store = new MemoryStore();
    const records = await randomLog(store, seed);
    const names = [...store.objects.keys()].toSorted();
    if (names.length < 3) continue;
    const all = { after: 10, revision: 10 + records.length };
    const gone = names[1] ?? "";
    const kept = store.objects.get(gone);
    store.objects.delete(gone);
    await assert.rejects(
      stepsOf(store, all),
      fault("gap", new RegExp(`missing before the segment .*${names[2]}`)),
    );
    store.objects.set(gone, kept as { bytes: Buffer; modifiedAt: Date });
    // A second follower that began elsewhere.
    const { header } = await readSegment({ store, name: names[0] ?? "", signal: never });
    if (header.last - header.after < 2) continue;
    const second = records[1] as RevisionRecord;
    const overlap = async (record: RevisionRecord) => {
      const draft = new SegmentDraft(header.after + 1);
      draft.add(record, []);
      return await writeSegment(store, draft, place, plain);
    };
    // It has received the same at another time.
    const name = await overlap({ ...second, time: second.time + 7 });
    assert.deepEqual(
      (await stepsOf(store, all)).map(({ record }) => record),
      records,
    );
    store.objects.delete(name);
    await overlap({ ...second, changes: [{ type: "delete", key: Buffer.from("another") }] });
    await assert.rejects(stepsOf(store, all), fault("gap", /revision 12 is not the same in the segment/));
  }
});

test("a segment under another name or in the log of another cluster is not believed", async () => {
  const store = new MemoryStore();
  const records = await randomLog(store, 3);
  const [name = "", second = ""] = [...store.objects.keys()].toSorted();
  const object = store.objects.get(name) as { bytes: Buffer; modifiedAt: Date };
  const other = name.replace("/abc/", "/def/");
  store.objects.set(other, object);
  await assert.rejects(
    readSegment({ store, name: other, signal: never }),
    fault("damaged", /of cluster abc/),
  );
  store.objects.set(second, object);
  await assert.rejects(
    stepsOf(store, { after: 10, revision: 10 + records.length }),
    fault("damaged", new RegExp(`${second}.*its name does not say`)),
  );
});

test("a log whose users and roles are not those of the snapshot is not replayed, nor one that ends too early", async () => {
  const store = new MemoryStore();
  const records = await randomLog(store, 5);
  const revision = 10 + records.length;
  for (const auth of [
    { authRevision: 2, authEnabled: false },
    { authRevision: 1, authEnabled: true },
  ])
    await assert.rejects(
      stepsOf(store, { after: 10, revision, auth }),
      fault("auth", /users or roles changed, or authentication was switched/),
    );
  await assert.rejects(
    stepsOf(store, { after: 10, revision: revision + 1 }),
    fault("unreachable", new RegExp(`ends with revision ${revision}`)),
  );
});

test("an encrypted segment needs its key, and a plain one in its place is refused", async () => {
  const store = new MemoryStore();
  const key = parseKey(Buffer.from("0f".repeat(32)), "test");
  await randomLog(store, 5, { key });
  const [name = ""] = [...store.objects.keys()].toSorted();
  await assert.rejects(readSegment({ store, name, signal: never }), /encrypted with key/);
  store.objects.clear();
  await randomLog(store, 5);
  await assert.rejects(
    readSegment({ store, name, key, encrypted: true, signal: never }),
    fault("damaged", /not encrypted/),
  );
});

test("the names tell where a log was ended, and a listing that lacks a folder is an empty log", async () => {
  const store = new MemoryStore();
  assert.deepEqual(await readLog(store, "abc", never), { clusterId: "abc", stretches: [] });
  const records = await randomLog(store, 1);
  const end = { revision: 10 + records.length, time: new Date(5000).toISOString(), reason: "auth" } as const;
  await writeEnd(store, "abc", end, never);
  await writeEnd(store, "abc", end, never);
  const draft = new SegmentDraft(end.revision);
  draft.add({ kind: "revision", revision: end.revision + 1, time: 9000, changes: [] }, []);
  await writeSegment(store, draft, { ...place, authRevision: 2 }, plain);
  const { stretches } = await readLog(store, "abc", never);
  assert.deepEqual(
    stretches.map((stretch) => stretch.end),
    [end, undefined],
  );
  await assert.rejects(writeSegment(store, draft, place, plain), { kind: "exists" });
});
