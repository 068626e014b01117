import assert from "node:assert/strict";
import { chmodSync, mkdtempSync, rmSync, statSync, symlinkSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { test } from "node:test";
import { DirectoryRefused } from "../../local/create.ts";
import { socketPath } from "./socket.ts";

const LONG = `/srv/data/${"deep/".repeat(30)}etcd`;

function temporary(t: { after(undo: () => void): void }): string {
  const folder = mkdtempSync(path.join(os.tmpdir(), "quorate-socket-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

const ownFolder = (parent: string) => path.join(parent, `quorate-${os.userInfo().uid}`);

test("the socket lies in the cluster's directory where its path is short enough", async () => {
  assert.equal(await socketPath("/srv/data/etcd", undefined), "/srv/data/etcd/control.sock");
});

test("of a directory with a long path, the socket lies in one that only its user can enter", async (t) => {
  const folder = temporary(t);
  for (const _ of [1, 2]) {
    const socket = await socketPath(LONG, undefined, folder);
    assert.equal(path.dirname(socket), ownFolder(folder));
    assert.equal(statSync(ownFolder(folder)).mode & 0o777, 0o700);
  }
  const runtime = temporary(t);
  assert.equal(path.dirname(await socketPath(LONG, runtime, folder)), ownFolder(runtime));
});

test("a directory that others can enter, or that is a link, is not used for the socket", async (t) => {
  const open = temporary(t);
  await socketPath(LONG, undefined, open);
  chmodSync(ownFolder(open), 0o755);
  await assert.rejects(socketPath(LONG, undefined, open), DirectoryRefused);
  const linked = temporary(t);
  symlinkSync(open, ownFolder(linked));
  await assert.rejects(socketPath(LONG, undefined, linked), /only you can enter.*Remove it/);
});
