/** Snapshots through stores that fail: retried, or refused with the reason; what is fetched is never wrong. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { after, test } from "node:test";
import { systemDisk } from "../../seams/disk.ts";
import { findSnapshot } from "../catalog.ts";
import { fetchForRestore, SNAPSHOT_FILE } from "../fetch.ts";
import { SnapshotDamaged, type SnapshotFacts } from "../inspect.ts";
import { manifestName, type Manifest } from "../manifest.ts";
import { checkSnapshot } from "../read.ts";
import { restoreErrorOf } from "../restore-error.ts";
import { saveSnapshot } from "../save.ts";
import { clientSending, never, sampleFile, surroundings } from "../testing/fixtures.ts";
import { hastyClock, HTTP_STORES, openStore } from "../testing/http-stores.ts";
import { seeded } from "../testing/model-etcd.ts";
import { PART_BYTES } from "./http/parts.ts";
import type { FakeStore } from "../testing/fake-store.ts";
import type { StoreErrorKind } from "./store.ts";

const dir = mkdtempSync(path.join(os.tmpdir(), "quorate-faults-"));
after(() => rmSync(dir, { recursive: true, force: true }));

/** Before each commit every store has each of the tests, with fewer moments and one of the answers. */
const IS_FAST = process.env["QUORATE_FAST"] === "1";
const OFFSETS = IS_FAST ? 4 : 10;
const ANSWERS: readonly (readonly [number, StoreErrorKind, string])[] = [
  [500, "unreachable", "unreachable"],
  [403, "denied", "denied"],
  [507, "full", "space"],
];
const NAME = "a.db";
/** In one request, and in parts. */
const small = sampleFile();
const large = sampleFile(2000);
assert.ok(large.length > PART_BYTES + 100_000, `${large.length} bytes`);
let volumes = 0;

for (const [index, kind] of Object.values(HTTP_STORES).entries()) {
  const worldOf = async (idleMs?: number) => {
    const fake = await kind.fake().start();
    const { endpoint } = fake;
    const env = kind.env(endpoint);
    const store = openStore({ ...kind, env: () => env }, endpoint, "bucket", { idleMs });
    await store.head(NAME, never); // Who asks for credentials has them.
    return {
      fake,
      store,
      save: async (file: Buffer): Promise<Manifest> =>
        await saveSnapshot({
          ...surroundings,
          client: clientSending(file),
          store,
          name: NAME,
          compression: "none",
        }),
      check: async (): Promise<SnapshotFacts> => {
        const entry = await findSnapshot(store, NAME, never);
        return await checkSnapshot({ store, name: NAME, manifest: entry?.manifest, signal: never });
      },
      /** The file that a restore would be made from; an error comes with none. */
      fetch: async (): Promise<Buffer> => {
        const directory = path.join(dir, `volume-${++volumes}`);
        const file = path.join(directory, SNAPSHOT_FILE);
        const context = { ...surroundings, clock: hastyClock, cwd: "/", env, disk: systemDisk, idleMs };
        const restore = { source: kind.source(endpoint, `pre/${NAME}`) };
        try {
          await fetchForRestore({ restore, etcdVersion: "3.6.16", directory, context, signal: never });
          return readFileSync(file);
        } catch (error) {
          assert.ok(!existsSync(file), "nothing is left that could be restored");
          throw restoreErrorOf(error);
        } finally {
          rmSync(directory, { recursive: true, force: true });
        }
      },
      [Symbol.asyncDispose]: () => fake[Symbol.asyncDispose](),
    };
  };

  /** From here on, in what goes over the connections. */
  const breakAt = (fake: FakeStore, offset: number, more: Partial<FakeStore["faults"]> = {}) =>
    Object.assign(fake.faults, { cutAt: fake.passed + offset, ...more });

  const requireSaved = (fake: FakeStore, file: Buffer) => {
    assert.ok(fake.objects.get(`pre/${NAME}`)?.equals(file), "byte for byte");
    assert.equal(fake.pending, 0);
    assert.equal(fake.faults.cutAt, undefined, "the connection broke");
  };

  test(`${kind.name}: wherever the connection breaks, a snapshot is saved and fetched whole`, async () => {
    const pick = seeded(1);
    for (let i = 0; i < OFFSETS; i++) {
      const file = i % 3 === 2 ? large : small;
      await using world = await worldOf();
      const { fake } = world;
      breakAt(fake, pick(file.length));
      assert.equal((await world.save(file)).size, file.length);
      requireSaved(fake, file);
      breakAt(fake, pick(file.length));
      assert.ok((await world.fetch()).equals(file));
      breakAt(fake, pick(file.length));
      assert.equal((await world.check()).sha256, createHash("sha256").update(file).digest("hex"));
      assert.equal(fake.faults.cutAt, undefined, "the connection broke");
    }
  });

  test(`${kind.name}: a store that is slow is waited for, and asked again when it is silent`, async () => {
    const pick = seeded(2);
    for (const [stallMs, idleMs] of [
      [30, 60_000],
      [60_000, 300],
    ] as const) {
      await using world = await worldOf(idleMs);
      const { fake } = world;
      breakAt(fake, pick(large.length), { stallMs });
      await world.save(large);
      requireSaved(fake, large);
      breakAt(fake, pick(large.length));
      assert.ok((await world.fetch()).equals(large));
      assert.equal(fake.faults.cutAt, undefined, "it was silent");
    }
  });

  test(`${kind.name}: a store that stays silent is given up with the reason`, async () => {
    await using world = await worldOf(50);
    const { fake } = world;
    breakAt(fake, 0, { stallMs: 60_000, cuts: Infinity });
    await assert.rejects(world.save(small), { kind: "unreachable", message: /no answer from .* for 50 ms/ });
    assert.equal(fake.objects.size, 0);
    Object.assign(fake.faults, { cutAt: undefined, cuts: 1 });
    await world.save(small);
    breakAt(fake, 0, { cuts: Infinity });
    await assert.rejects(world.fetch(), { fault: "unreachable" });
  });

  test(`${kind.name}: one that is full, denies access or keeps failing is told as such, at the start and midway`, async () => {
    const answers = ANSWERS.filter((_, at) => !IS_FAST || at === index % ANSWERS.length);
    for (const [status, expected, fault] of answers) {
      await using world = await worldOf();
      const { fake } = world;
      for (const offset of [0, PART_BYTES]) {
        Object.assign(fake.faults, { status, errors: Infinity, errorsAfter: fake.passed + offset });
        await assert.rejects(world.save(large), { kind: expected });
        assert.equal(fake.objects.size, 0, "nothing half appears");
      }
      fake.faults.errors = 0;
      await world.save(large);
      for (const offset of [0, PART_BYTES]) {
        Object.assign(fake.faults, { errors: Infinity, errorsAfter: fake.passed + offset });
        // A read that has begun is not refused.
        if (offset === 0) await assert.rejects(world.fetch(), { fault });
        else assert.ok((await world.fetch()).equals(large));
      }
    }
  });

  test(`${kind.name}: wrong bytes are never restored, of the snapshot or of its manifest`, async () => {
    const pick = seeded(3);
    await using world = await worldOf();
    const { fake } = world;
    const { sha256 } = await world.save(small);
    const manifest = `pre/${manifestName(NAME)}`;
    const isManifest = (url = "") => decodeURIComponent(url).includes(manifest);
    for (let i = 0; i < OFFSETS; i++) {
      fake.faults.flipping = ({ url }) => !isManifest(url) && !url?.includes("alt=json");
      fake.faults.flipAt = pick(small.length);
      await assert.rejects(world.check(), SnapshotDamaged, `byte ${fake.faults.flipAt}`);
      await assert.rejects(world.fetch(), { fault: "damaged" }, `byte ${fake.faults.flipAt}`);
      fake.faults.flipping = ({ url }) => isManifest(url);
      fake.faults.flipAt = pick(fake.objects.get(manifest)?.length ?? 0);
      const fetched = await world.fetch().catch((error: unknown) => {
        assert.match(restoreErrorOf(error).fault, /^(damaged|version)$/);
      });
      if (fetched) assert.equal(createHash("sha256").update(fetched).digest("hex"), sha256);
    }
  });
}
