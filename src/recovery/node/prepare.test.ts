import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { test } from "node:test";
import { systemDisk } from "../../seams/disk.ts";
import { claimFor, NotOfThisPlan } from "./prepare.ts";

const PLAN = { hash: "51f0a3c2d4e5b697" };
const OTHER = { hash: "0123456789abcdef" };

test("a directory is for the plan that was written into it first, and data that nobody made for a plan is for none", async (t) => {
  const root = mkdtempSync(path.join(os.tmpdir(), "quorate-prepare-"));
  t.after(() => rmSync(root, { recursive: true, force: true }));
  const own = path.join(root, "a", "new");
  // Killed while it was written.
  mkdirSync(own, { recursive: true });
  writeFileSync(path.join(own, ".plan.new"), "51f0");
  await claimFor(PLAN, own, systemDisk);
  mkdirSync(path.join(own, "data", "member"), { recursive: true });
  await claimFor(PLAN, own, systemDisk);
  await assert.rejects(claimFor(OTHER, own, systemDisk), /was made for the plan 51f0a3c2d4e5b697, not for/);

  const foreign = path.join(root, "foreign");
  mkdirSync(path.join(foreign, "data", "member"), { recursive: true });
  await assert.rejects(claimFor(PLAN, foreign, systemDisk), NotOfThisPlan);
  assert.deepEqual(readdirSync(foreign), ["data"], "and it is as it was");
  await assert.rejects(claimFor(PLAN, foreign, systemDisk), NotOfThisPlan, "also when it is tried again");
});
