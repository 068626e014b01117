import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { test } from "node:test";
import { parseSummary } from "../../../recovery/summary.ts";
import { collectingIo } from "../../testing.ts";
import { verb } from "../recover.ts";

test("the summary of a volume says whether its member was started alone since", async (t) => {
  const volume = mkdtempSync(path.join(os.tmpdir(), "quorate-inspect-"));
  t.after(() => rmSync(volume, { recursive: true, force: true }));
  const [data, result] = [path.join(volume, "data"), path.join(volume, "result")];
  const read = async () => {
    await verb.run(["inspect", data, "--result-file", result], collectingIo());
    return parseSummary(readFileSync(result, "utf8"));
  };
  mkdirSync(path.join(volume, "recovery", "51f0a3c2d4e5b697", "attempt-1", "data"), { recursive: true });
  assert.deepEqual(
    await read(),
    { state: "empty" },
    "what a recovery of the operator left is something else",
  );
  const alone = path.join("recovery", "node-51f0a3c2d4e5b697", "data");
  mkdirSync(path.join(volume, alone), { recursive: true });
  assert.deepEqual(await read(), { state: "empty", alone });
});
