import assert from "node:assert/strict";
import { test } from "node:test";
import { recoveryLines } from "./recovery.ts";

test("a plan names its hash, the survivor, what each member has, and what would be lost", () => {
  const lines = recoveryLines({
    plan: "51f0a3c2d4e5b697",
    survivor: "demo-2",
    message: "Demo-2 would be taken as the whole cluster.",
    revision: { least: 2641, most: 2668 },
    lostRevisions: { least: 0, most: 0 },
    members: [
      { name: "demo-1", data: "Lost" },
      { name: "demo-2", data: "Found", term: 4, index: 2817 },
    ],
  });
  assert.deepEqual(lines, [
    "Plan            51f0a3c2d4e5b697",
    "Survivor        demo-2",
    "Revision        2641 to 2668",
    "Lost revisions  0",
    "",
    "MEMBER  DATA   TERM  INDEX",
    "demo-1  Lost      -      -",
    "demo-2  Found     4   2817",
    "",
    "Demo-2 would be taken as the whole cluster.",
  ]);
});
