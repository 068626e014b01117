/** Golden transcripts: run anew and compared. `UPDATE_TRANSCRIPTS=1` writes what was decided instead. */
import assert from "node:assert/strict";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { runScript } from "./script.ts";

const folder = new URL("../../test/transcripts/", import.meta.url);

for (const name of readdirSync(folder).filter((file) => file.endsWith(".txt"))) {
  test(`the decisions of ${name} are as reviewed`, () => {
    const file = new URL(name, folder);
    const before = readFileSync(file, "utf8");
    const after = runScript(before);
    if (process.env["UPDATE_TRANSCRIPTS"] === "1") writeFileSync(file, after);
    else assert.equal(after, before, "run again with UPDATE_TRANSCRIPTS=1 and review the difference");
  });
}
