import assert from "node:assert/strict";
import { existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { test, type TestContext } from "node:test";
import { systemDisk } from "../seams/disk.ts";
import { eraseDirectory, EraseRefused, type EraseOptions } from "./erase.ts";
import { nodeWorkDir, recoveriesOn } from "./places.ts";
import { WalWriter } from "./testing/wal-file.ts";

const UID = "b1d6f0c2-1111-4222-8333-444455556666";

function directoryOf(t: TestContext, name: string): string {
  const parent = mkdtempSync(path.join(os.tmpdir(), "quorate-erase-"));
  t.after(() => rmSync(parent, { recursive: true, force: true }));
  const directory = path.join(parent, name);
  mkdirSync(path.join(directory, "data", "member"), { recursive: true });
  writeFileSync(path.join(directory, "data", "member", "some"), "data");
  return directory;
}

const erase = (options: Pick<EraseOptions, "directory"> & Partial<EraseOptions>) =>
  eraseDirectory({ disk: systemDisk, uid: UID, ...options });

test("a directory that is named after the member is deleted, and once more without an error", async (t) => {
  for (const name of [`demo-2.${UID}`, UID]) {
    const directory = directoryOf(t, name);
    assert.equal(await erase({ directory }), "erased");
    assert.ok(!existsSync(directory) && existsSync(path.dirname(directory)));
    assert.equal(await erase({ directory }), "absent");
  }
});

test("a directory of another name, a link and a file are left as they are", async (t) => {
  const other = directoryOf(t, "demo-2.another");
  await assert.rejects(erase({ directory: other }), /was not deleted: its name does not end with the UID/);
  await assert.rejects(erase({ directory: other, uid: "" }), EraseRefused);
  const link = path.join(path.dirname(other), `demo-2.${UID}`);
  symlinkSync(other, link);
  await assert.rejects(erase({ directory: link }), /was not deleted: it is not a directory/);
  rmSync(link);
  writeFileSync(link, "");
  await assert.rejects(erase({ directory: link }), EraseRefused);
  assert.ok(existsSync(path.join(other, "data", "member", "some")));
});

test("a directory with the data of another cluster or member is left as it is", async (t) => {
  const own = { clusterID: "c1", memberID: "a1" };
  const directory = directoryOf(t, `demo-2.${UID}`);
  const wal = path.join(directory, "data", "member", "wal");
  new WalWriter().entries(1, 1, 3).state({ term: 1, vote: "a1", commit: 3 }).save(wal);
  const other = { ...own, clusterID: "c2" };
  await assert.rejects(erase({ directory, ...other }), /its data is of the etcd cluster c1, not c2/);
  await assert.rejects(erase({ directory, memberID: "a2" }), /its data is of the etcd member a1, not a2/);
  assert.equal(await erase({ directory, ...own }), "erased");
  // Many leave because their log is damaged.
  const damaged = directoryOf(t, `demo-3.${UID}`);
  mkdirSync(path.join(damaged, "data", "member", "wal"));
  writeFileSync(path.join(damaged, "data/member/wal/0000000000000000-0000000000000000.wal"), "no log");
  assert.equal(await erase({ directory: damaged, ...own }), "erased");
});

test("a directory beside whose data an etcd was recovered is left as it is, until that is deleted", async (t) => {
  const directory = directoryOf(t, `demo-2.${UID}`);
  const recovered = nodeWorkDir(recoveriesOn(directory), "51f0a3c2d4e5b697");
  mkdirSync(path.join(recovered, "data"), { recursive: true });
  await assert.rejects(
    erase({ directory }),
    /was not deleted: an etcd may serve from .*node-51f0a3c2d4e5b697/,
  );
  assert.ok(existsSync(path.join(recovered, "data")));
  rmSync(recovered, { recursive: true });
  assert.equal(await erase({ directory }), "erased");
});

test("the directory of the cluster goes with the last one in it, and not before", async (t) => {
  const root = mkdtempSync(path.join(os.tmpdir(), "quorate-erase-"));
  t.after(() => rmSync(root, { recursive: true, force: true }));
  const clusterUID = "5c7e0f7a-1111-4222-8333-444455556666";
  const ofCluster = path.join(root, `demo.${clusterUID}`);
  const [first, last] = [path.join(ofCluster, `demo-1.${UID}`), path.join(ofCluster, "demo-2.b2")];
  mkdirSync(first, { recursive: true });
  mkdirSync(last);
  assert.equal(await erase({ directory: first, clusterUID }), "erased");
  assert.ok(existsSync(last), "another member is in it");
  assert.equal(await erase({ directory: last, uid: "b2" }), "erased");
  for (const other of [undefined, "", "another"]) {
    assert.equal(await erase({ directory: last, uid: "b2", clusterUID: other }), "absent");
    assert.ok(existsSync(ofCluster), "it is not known to be that of the cluster");
  }
  // The process may have ended between the two; a second try does what is left.
  for (let time = 1; time <= 2; time++) {
    assert.equal(await erase({ directory: last, uid: "b2", clusterUID }), "absent");
    assert.ok(!existsSync(ofCluster) && existsSync(root));
  }
  const elsewhere = path.join(root, "elsewhere");
  mkdirSync(elsewhere);
  symlinkSync(elsewhere, ofCluster);
  assert.equal(await erase({ directory: last, uid: "b2", clusterUID }), "absent");
  assert.ok(existsSync(ofCluster), "a link is left as it is");
});
