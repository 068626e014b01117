import assert from "node:assert/strict";
import { test } from "node:test";
import { RevisionLooks } from "./revision-looks.ts";

test("of looks at the same revision the last one counts, and one that tells less than before is none", () => {
  const looks = new RevisionLooks();
  looks.see(5, 10);
  looks.see(5, 20);
  looks.see(4, 25);
  looks.see(9, 30);
  assert.deepEqual(looks.all, [
    { revision: 5, at: 20 },
    { revision: 9, at: 30 },
  ]);
  looks.forget();
  assert.deepEqual(looks.all, []);
});

test("few are kept of a long time, the first and the last among them, and the newest are the closest", () => {
  const looks = new RevisionLooks();
  const last = 100_000;
  for (let at = 1; at <= last; at++) looks.see(at, at);
  const { all } = looks;
  assert.ok(all.length <= 64);
  assert.equal(all[0]?.at, 1);
  assert.equal(all.at(-1)?.at, last);
  // What happened an hour ago is known to within minutes, and what happened just now to within a second.
  for (const ago of [1, 60, 3_600, 50_000]) {
    const before = all.findLast(({ at }) => at <= last - ago);
    assert.ok(before && last - ago - before.at <= ago / 2, `${ago}: ${before?.at}`);
  }
});
