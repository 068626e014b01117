import assert from "node:assert/strict";
import { test } from "node:test";
import type { WorkloadFacts } from "../observation.ts";
import { change, healthy } from "../testing/cluster.ts";
import { viewOf } from "../view.ts";
import { hasLostItsData } from "./lost-data.ts";

test("a directory that cannot be read counts as lost only once nothing writes to it any more", () => {
  const lost = (workload: WorkloadFacts) => {
    const world = change(healthy(), "demo-2", { directory: { state: "empty" }, workload });
    const member = viewOf(world).members.find(({ name }) => name === "demo-2");
    assert.ok(member);
    return hasLostItsData(member);
  };
  const running = healthy().members[1]?.workload;
  assert.ok(running?.state === "running");
  assert.equal(lost(running), false);
  assert.equal(lost({ state: "stopping", since: 1 }), false);
  assert.equal(lost({ state: "absent" }), true);
});
