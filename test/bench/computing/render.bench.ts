/** What it costs to render every object of a cluster. */
import { specOf } from "../../../src/core/testing/cluster.ts";
import { clusterWith, rendered } from "../../../src/operator/testing/rendered.ts";
import { tellLoad } from "../measure.ts";
import { measureCalls } from "./per-call.ts";

tellLoad();
await measureCalls({
  what: "all objects of 4 members",
  goal: 100,
  inputs: [clusterWith(specOf()), clusterWith(specOf({ storage: { medium: "Memory", size: "512Mi" } }))],
  run: (view) => rendered(view),
});
