import assert from "node:assert/strict";
import { test } from "node:test";
import { published, PUBLISHED } from "../generate/published-reasons.ts";
import { keptReasons } from "./reasons.ts";
import { memoryRepo } from "./repo.ts";

const CHANGES = "# Changelog\n\n### Added\n\n- Reasons `Held` and `Full`.\n\n";

const found = async (now: readonly string[], changelog = CHANGES) =>
  (
    await keptReasons(now).run(
      memoryRepo({ [PUBLISHED]: "event: Full\nwait: Full\nwait: Held\n", "CHANGELOG.md": changelog }),
    )
  ).join("\n");

test("a reason that disappears is found, in each list by itself, unless the changelog tells of it", async () => {
  const all = ["wait: Held", "wait: Full", "event: Full", "wait: New"];
  assert.equal(await found(all), "");
  const withoutHeld = all.slice(1);
  assert.match(await found(withoutHeld), /published-reasons\.txt:3: wait: Held is gone.*name `Held`/);
  assert.match(await found(["wait: Held", "wait: Full"]), /published-reasons\.txt:1: event: Full is gone/);
  for (const section of ["Changed", "Removed"])
    assert.equal(await found(withoutHeld, `${CHANGES}### ${section}\n\n- \`Held\` is \`Kept\` now.\n`), "");
  assert.match(
    await found(withoutHeld, `${CHANGES}### Fixed\n\n- \`Held\` was late.\n`),
    /wait: Held is gone/,
  );
});

test("the list is only added to, so that a name never comes to mean something else", () => {
  assert.equal(published("wait: Held\n", ["wait: Full"]), "wait: Full\nwait: Held\n");
});
