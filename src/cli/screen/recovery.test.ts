import assert from "node:assert/strict";
import { test } from "node:test";
import { recoveryLines } from "./recovery.ts";

test("a plan names its hash, the survivor, what each member has, and what would be lost", () => {
  const lines = recoveryLines({
    plan: "51f0a3c2d4e5b697",
    survivor: "demo-2",
    message: "demo-2 would be taken as the whole cluster.",
    revision: { least: 2641, most: 2668 },
    lostRevisions: { least: 0, most: 0 },
    lostSeconds: 9,
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
    "Lost time       at most 9s",
    "",
    "MEMBER  DATA   TERM  INDEX",
    "demo-1  Lost      -      -",
    "demo-2  Found     4   2817",
    "",
    "demo-2 would be taken as the whole cluster.",
  ]);
});

test("a snapshot that could be restored instead is told with what it has and lacks", () => {
  const plan = {
    plan: "51f0a3c2d4e5b697",
    survivor: "demo-2",
    message: "demo-2 would be taken as the whole cluster.",
    revision: { least: 2641, most: 2668 },
    members: [],
  };
  const snapshot = { name: "nightly-1", revision: 2600, takenAt: "2026-05-04T10:00:00Z" };
  assert.equal(
    recoveryLines({ ...plan, snapshot }).at(-1),
    "Instead of it, EtcdSnapshot nightly-1 can be restored: revision 2600, taken at 2026-05-04T10:00:00Z, not verified, lost revisions unknown.",
  );
  const known = { ...snapshot, verifiedAt: "2026-05-04T11:00:00Z", lostRevisions: 80, lostSeconds: 3_720 };
  assert.match(
    recoveryLines({ ...plan, snapshot: known }).at(-1) ?? "",
    /verified at 2026-05-04T11:00:00Z, 80 lost revisions, lost time at most 1h2m\.$/,
  );
});
