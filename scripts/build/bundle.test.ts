import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { bundle } from "./bundle.ts";
import { smoke } from "./smoke.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));

test("each program is one file that starts without node_modules beside it", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "quorate-build-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { version: string };
  for (const { program, path } of await bundle(root, folder)) {
    assert.equal(await smoke(path), `${program} ${version}`);
  }
});
