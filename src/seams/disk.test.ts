import assert from "node:assert/strict";
import { chmodSync, mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { test } from "node:test";
import { systemDisk } from "./disk.ts";

test("a file of the person's own keeps its mode, also behind a symbolic link", async (t) => {
  const directory = mkdtempSync(path.join(tmpdir(), "disk-"));
  t.after(() => rmSync(directory, { recursive: true }));
  const [file, link] = [path.join(directory, "config"), path.join(directory, "link")];
  writeFileSync(file, "old");
  chmodSync(file, 0o640);
  symlinkSync(file, link);
  await systemDisk.write(link, "new", { private: true, inPlace: true });
  assert.equal(await systemDisk.read(file), "new");
  assert.equal(statSync(file).mode & 0o777, 0o640);
});
