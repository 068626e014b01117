/** The order in which wanted objects are made, and that all of them are waited for. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { specOf } from "../../core/testing/cluster.ts";
import { KubeError } from "../../kube/errors.ts";
import { services } from "../../kube/resources.ts";
import { clusterWith } from "../testing/rendered.ts";
import { Applier } from "./applier.ts";
import { Outcomes, type ApplyContext } from "./outcomes.ts";
import { PartWaits } from "./part-waits.ts";
import type { Wanted } from "./wanted-object.ts";

/** Each write takes a turn of the event loop, and that of "slow" some more; `refused` ones fail. */
function world(refused: readonly string[] = []) {
  const done: string[] = [];
  const tried: string[] = [];
  const write = async (_: unknown, { metadata }: { metadata: { name: string } }) => {
    for (let turns = metadata.name === "slow" ? 5 : 1; turns > 0; turns--)
      await new Promise((resolve) => setImmediate(resolve));
    tried.push(metadata.name);
    if (refused.includes(metadata.name)) throw new Error("refused");
    if (metadata.name === "gone") throw new KubeError("NotFound", "patch Service gone", "not found");
    done.push(metadata.name);
  };
  const waits = new PartWaits({ monotonic: () => 0, now: () => 0 });
  const context = { contests: { write }, waits } as unknown as ApplyContext;
  const outcomes = new Outcomes(context);
  const applier = new Applier(context, clusterWith(specOf({})), outcomes);
  return { done, tried, outcomes, walk: (list: readonly Wanted[]) => applier.walk(list) };
}

function entry(part: string, name: string, more: Partial<Wanted> = {}): Wanted {
  const known = { metadata: { name } };
  return { part, resource: services, policy: { do: "patch", known, fields: {} }, ...more };
}

test("two entries of one part are both carried out and waited for", async () => {
  const { done, walk } = world();
  await walk([entry("labels", "slow"), entry("labels", "b"), entry("last", "c", { after: ["labels"] })]);
  assert.deepEqual(done, ["b", "slow", "c"]);
});

test("what fails keeps only those back that need it, and is a problem of its own", async () => {
  const { done, outcomes, walk } = world(["a"]);
  await walk([
    entry("first", "a"),
    entry("after", "b", { after: ["first"] }),
    entry("needing", "c", { needs: ["first"] }),
  ]);
  assert.deepEqual(done, ["b"]);
  assert.deepEqual(outcomes.problems, [{ key: "first Error", message: "first: refused" }]);
});

test("what was deleted since it was read is no problem, and is not asked for on every pass", async () => {
  const { outcomes, tried, walk } = world();
  for (let pass = 0; pass < 3; pass++) await walk([entry("claim", "gone")]);
  assert.deepEqual(tried, ["gone"]);
  assert.deepEqual(outcomes.problems, []);
  assert.equal(outcomes.changed, false);
});
