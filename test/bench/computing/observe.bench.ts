/** What it costs to see the cached objects of a cluster as facts. */
import { observeObjects } from "../../../src/operator/observe/observe-objects.ts";
import { fixture, troubled } from "../../../src/operator/testing/fixtures.ts";
import { tellLoad } from "../measure.ts";
import { measureCalls } from "./per-call.ts";

tellLoad();
await measureCalls({
  what: "observeObjects() of 3 members",
  goal: 100,
  inputs: [fixture("healthy"), troubled("crash-loop"), troubled("node-lost")],
  run: ({ objects, now }) => observeObjects(objects, { now, fenced: false }),
});
