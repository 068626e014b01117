/** What every store behind HTTP keeps to, whatever it speaks and whatever fails. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { systemRandom } from "../../seams/random.ts";
import { FakeGcs } from "../testing/fake-gcs.ts";
import { FakeS3 } from "../testing/fake-s3.ts";
import { never } from "../testing/fixtures.ts";
import { HTTP_STORES, openStore } from "../testing/http-stores.ts";
import { PART_BYTES } from "./http/parts.ts";
import { once, readText, type Store } from "./store.ts";

const { s3, gcs } = HTTP_STORES;

const write = { ifAbsent: true, signal: never };

/** Before each commit large is two parts, else three. */
const WHOLE_PARTS = process.env["QUORATE_FAST"] === "1" ? 1 : 2;
const large = Buffer.from(systemRandom.bytes(PART_BYTES * WHOLE_PARTS + 4321));
async function* inPieces(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += 1_000_000)
    yield await Promise.resolve(bytes.subarray(at, at + 1_000_000));
}

async function read(store: Store, name: string): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  for await (const part of store.get(name, { signal: never })) parts.push(part);
  return Buffer.concat(parts);
}

for (const { name: kind, fake: make, finishes, ...reached } of Object.values(HTTP_STORES)) {
  const open = (endpoint: string, bucket: string) => openStore(reached, endpoint, bucket);
  const started = async () => {
    const fake = await make().start();
    return {
      fake,
      store: open(fake.endpoint, "bucket"),
      [Symbol.asyncDispose]: () => fake[Symbol.asyncDispose](),
    };
  };

  test(`${kind}: small and large objects are written and read, by range too`, async () => {
    await using world = await started();
    const { store, fake } = world;
    await store.put("small", once("hello"), write);
    await store.put("large", inPieces(large), write);
    assert.equal(await readText(store, "small", never), "hello");
    assert.ok((await read(store, "large")).equals(large));
    assert.equal(fake.pending, 0);
    const parts: Uint8Array[] = [];
    for await (const part of store.get("small", { signal: never, range: { start: 1, length: 3 } }))
      parts.push(part);
    assert.equal(Buffer.concat(parts).toString(), "ell");
    assert.deepEqual((await store.head("large", never))?.size, large.length);
    assert.equal(await store.head("none", never), undefined);
  });

  test(`${kind}: a body of exactly one part, and of whole parts, arrives whole`, async () => {
    await using world = await started();
    for (const size of new Set([0, PART_BYTES, PART_BYTES * WHOLE_PARTS])) {
      await world.store.put(`s${size}`, inPieces(large.subarray(0, size)), write);
      assert.ok((await read(world.store, `s${size}`)).equals(large.subarray(0, size)), String(size));
    }
  });

  test(`${kind}: errors of the store and cut connections are tried again`, async () => {
    await using world = await started();
    const { store, fake } = world;
    fake.faults.errors = 3;
    fake.faults.cutWrites = 2;
    await store.put("large", inPieces(large), write);
    fake.faults.cutReads = 4;
    assert.ok((await read(store, "large")).equals(large), "taken up where it broke off");
  });

  test(`${kind}: a store that keeps failing is given up with the reason, and leaves no parts`, async () => {
    await using world = await started();
    const { store, fake } = world;
    await store.head("a", never); // Who asks for credentials has them.
    fake.faults.errors = 1000;
    await assert.rejects(store.put("large", inPieces(large), write), { kind: "unreachable" });
    fake.faults.errors = 0;
    fake.faults.cutWrites = 1000;
    await assert.rejects(store.put("large", inPieces(large), write), { kind: "unreachable" });
    assert.equal(fake.pending, 0);
    assert.equal(fake.objects.size, 0);
  });

  test(`${kind}: a source that fails leaves neither object nor parts`, async () => {
    await using world = await started();
    const failing = async function* () {
      yield* inPieces(large);
      throw new Error("the member went away");
    };
    await assert.rejects(world.store.put("large", failing(), write), /went away/);
    assert.equal(world.fake.pending + world.fake.objects.size, 0);
  });

  test(`${kind}: a name that is taken is refused, also when it is taken meanwhile`, async () => {
    await using world = await started();
    const { store, fake } = world;
    const late = (bytes: Buffer) =>
      async function* () {
        yield* inPieces(bytes);
        fake.objects.set("pre/taken", Buffer.from("first"));
      };
    await assert.rejects(store.put("taken", late(large)(), write), { kind: "exists" });
    fake.objects.clear();
    await assert.rejects(store.put("taken", late(Buffer.from("small"))(), write), { kind: "exists" });
    assert.equal(fake.objects.get("pre/taken")?.toString(), "first");
    assert.equal(fake.pending, 0);
  });

  test(`${kind}: a write whose answer was lost is not taken for somebody else's`, async () => {
    await using world = await started();
    const { store, fake } = world;
    await store.head("a", never);
    fake.faults.losing = ({ method }) => method === "PUT" || method === "POST";
    fake.faults.loseAnswers = 1;
    await store.put("small", once("hello"), write);
    fake.faults.losing = ({ method = "", url = "", headers }) =>
      finishes(method, url, String(headers["content-range"]));
    fake.faults.loseAnswers = 1;
    await store.put("large", inPieces(large), write);
    assert.ok(fake.objects.get("pre/large")?.equals(large));
  });

  test(`${kind}: an object that changes while it is read is not patched together`, async () => {
    await using world = await started();
    const { store, fake } = world;
    await store.put("a", inPieces(large), write);
    fake.faults.cutReads = 1;
    const reading = (async () => {
      for await (const _ of store.get("a", { signal: never }))
        fake.objects.set("pre/a", Buffer.alloc(large.length));
    })();
    await assert.rejects(reading, { kind: "interrupted" });
  });

  test(`${kind}: a listing has all pages; deleting what is not there is fine`, async () => {
    await using world = await started();
    const { store, fake } = world;
    for (const name of ["a b", "c+d", "e&f", "g/h", "i"]) fake.objects.set(`pre/${name}`, Buffer.from("x"));
    fake.objects.set("other/x", Buffer.from("x"));
    const names: string[] = [];
    for await (const { name } of store.list("", never)) names.push(name);
    assert.deepEqual(names, ["a b", "c+d", "e&f", "g/h", "i"]);
    await store.delete("i", never);
    await store.delete("i", never);
    await assert.rejects(readText(store, "i", never), { kind: "not-found" });
  });

  test(`${kind}: a bucket that does not exist and a server that is not there are told apart`, async () => {
    await using world = await started();
    const nobody = open(world.fake.endpoint, "nobody");
    await assert.rejects(nobody.put("a", once("x"), write), { kind: "no-place" });
    await assert.rejects(nobody.list("", never)[Symbol.asyncIterator]().next(), { kind: "no-place" });
    if (kind !== "Google Cloud Storage")
      await assert.rejects(open("http://127.0.0.1:9", "bucket").head("a", never), { kind: "unreachable" });
  });
}

test("S3: a store without conditional writes is used with a look before", async () => {
  await using fake = await new FakeS3().start();
  const store = openStore(s3, fake.endpoint, "bucket");
  fake.faults.unconditional = true;
  await store.put("small", once("hello"), write);
  await store.put("large", inPieces(large), write);
  await assert.rejects(store.put("small", once("other"), write), { kind: "exists" });
});

test("Google Cloud Storage: a part of which only some was taken is taken up there", async () => {
  await using fake = await new FakeGcs().start();
  const store = openStore(gcs, fake.endpoint, "bucket");
  fake.takes = 3_000_000;
  await store.put("large", inPieces(large), write);
  assert.ok(fake.objects.get("pre/large")?.equals(large));
});

test("Google Cloud Storage: bytes that arrived wrong do not stay", async () => {
  await using fake = await new FakeGcs().start();
  const store = openStore(gcs, fake.endpoint, "bucket");
  fake.damages = true;
  await assert.rejects(store.put("small", once("hello"), write), { kind: "failed" });
  await assert.rejects(store.put("large", inPieces(large), write), { kind: "failed" });
  assert.equal(fake.objects.size, 0);
});
