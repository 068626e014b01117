/** The small searches, whole: every state of a cluster of one to three members with a fault at any moment. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { QUICK } from "./families.ts";
import { Graph } from "./graph.ts";
import { search } from "./search.ts";

for (const family of QUICK) {
  test(`every state is safe, and the goal is never out of reach: ${family.name}`, () => {
    const { complete, violations, deadEnds, livelocks, examples, states } = search(family);
    const reported = [...violations, ...examples].map(({ what, path }) => `${what}\n  ${path.join("\n  ")}`);
    assert.deepEqual(reported, []);
    assert.deepEqual({ complete, deadEnds, livelocks }, { complete: true, deadEnds: 0, livelocks: 0 });
    assert.ok(states > 100, `${states} states are too few to be the whole`);
  });
}

test("a state without a way to the goal, and a circle that takes no time, are found", () => {
  const graph = new Graph();
  for (let i = 0; i < 5; i++) graph.addState(i - 1, `step ${i}`);
  graph.addEdge(0, 1, "own");
  graph.addEdge(1, 2, "world");
  graph.addEdge(2, 1, "own");
  graph.addEdge(1, 3, "world");
  graph.addEdge(0, 4, "own");
  graph.goals.add(3);
  assert.deepEqual(
    graph.deadEnds(() => true),
    [4],
  );
  assert.deepEqual(graph.livelocks(), [2]);
  assert.deepEqual(graph.pathTo(2), ["step 1", "step 2"]);
});

test("waiting long enough to go round is no circle", () => {
  const graph = new Graph();
  for (let i = 0; i < 2; i++) graph.addState(i - 1, "");
  graph.addEdge(0, 1, "own");
  graph.addEdge(1, 0, "time");
  assert.deepEqual(graph.livelocks(), []);
});
