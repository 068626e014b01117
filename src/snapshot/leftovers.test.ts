import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { test } from "node:test";
import { systemRandom } from "../seams/random.ts";
import { manifestName } from "./manifest.ts";
import { saveSnapshot } from "./save.ts";
import { FileStore } from "./store/file.ts";
import { StoreError } from "./store/store.ts";
import { clientSending, sampleFile, surroundings } from "./testing/fixtures.ts";

const file = sampleFile();

test("an attempt removes what killed ones with its ID left, and nothing of other IDs", async (t) => {
  const dir = mkdtempSync(path.join(os.tmpdir(), "quorate-save-"));
  t.after(() => rmSync(dir, { recursive: true, force: true }));
  const left = (id: string) => `.${id}-20260101T000000Z-abcd.db.01234567.partial`;
  for (const id of ["nightly-1", "nightly-1-2", "nightly-2"])
    writeFileSync(path.join(dir, left(id)), Buffer.alloc(10));
  const told: string[] = [];
  const store = new FileStore(dir, systemRandom);
  const { object } = await saveSnapshot({
    ...surroundings,
    client: clientSending(file),
    store,
    name: "",
    id: "nightly-1",
    compression: "none",
    progress: (event) => event.kind === "leftover" && told.push(event.leftover.name),
  });
  assert.deepEqual(told, [left("nightly-1")]);
  assert.deepEqual(
    readdirSync(dir).toSorted(),
    [left("nightly-1-2"), left("nightly-2"), object, manifestName(object)].toSorted(),
  );
});

test("what cannot be removed is told, and the snapshot is taken", async (t) => {
  const dir = mkdtempSync(path.join(os.tmpdir(), "quorate-save-"));
  t.after(() => rmSync(dir, { recursive: true, force: true }));
  writeFileSync(path.join(dir, ".a-20260101T000000Z-abcd.db.01234567.partial"), "x");
  class Denying extends FileStore {
    override delete(): Promise<void> {
      throw new StoreError("denied", "deleting is denied");
    }
  }
  const told: string[] = [];
  const { object } = await saveSnapshot({
    ...surroundings,
    client: clientSending(file),
    store: new Denying(dir, systemRandom),
    name: "",
    id: "a",
    compression: "none",
    progress: (event) => event.kind === "leftovers-stay" && told.push(event.error.message),
  });
  assert.deepEqual(told, ["deleting is denied"]);
  assert.ok(readdirSync(dir).includes(object));
});
