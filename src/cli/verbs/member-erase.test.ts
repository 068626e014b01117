import assert from "node:assert/strict";
import { existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { test } from "node:test";
import { systemDisk } from "../../seams/disk.ts";
import { parseResult } from "../../snapshot/result.ts";
import { collectingIo } from "../testing.ts";
import { verb } from "./member.ts";

const UID = "b1d6f0c2-1111-4222-8333-444455556666";

test("`member erase` says what became of a directory, for its Pod too", async (t) => {
  const parent = mkdtempSync(path.join(os.tmpdir(), "quorate-erase-"));
  t.after(() => rmSync(parent, { recursive: true, force: true }));
  const directory = path.join(parent, `demo-2.${UID}`);
  mkdirSync(directory);
  const file = path.join(parent, "result");
  const run = async (...args: string[]) => {
    const io = collectingIo({ cwd: parent, env: {} });
    const code = await verb.run(["erase", ...args, "--result-file", file], io).catch((error: Error) => error);
    return { code, out: io.out(), result: parseResult(await systemDisk.read(file)) };
  };
  const refused = await run(directory, "--uid", "another");
  assert.ok(refused.code instanceof Error);
  assert.equal(refused.result?.ok === false && refused.result.reason, "EraseRefused");
  assert.ok(existsSync(directory));
  const done = await run(directory, "--uid", UID);
  assert.deepEqual([done.code, done.result], [0, { ok: true }]);
  assert.match(done.out, /^Deleted /);
  assert.match((await run(directory, "--uid", UID)).out, /does not exist/);
});
