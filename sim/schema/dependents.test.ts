/** A sample of what `npm run sim:schema` does with the kinds that name a cluster. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { DEPENDENTS, exploreDependent } from "./dependents.ts";
import { CREATED } from "./fields.ts";

test("every kind that is created beside a cluster is explored", () => {
  assert.deepEqual(DEPENDENTS.map(({ kind }) => kind).toSorted(), CREATED.toSorted());
});

for (const dependent of DEPENDENTS)
  test(`whatever an ${dependent.kind} says, it is refused or told what becomes of it`, async () => {
    const reports = await exploreDependent(dependent, 1);
    assert.deepEqual(
      reports.flatMap(({ failures }) => failures),
      [],
    );
    const sum = (of: "refused" | "reported") => reports.reduce((total, { counts }) => total + counts[of], 0);
    assert.ok(sum("refused") > 5 && sum("reported") > 5, `${sum("refused")} and ${sum("reported")}`);
  });
