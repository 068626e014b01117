/** `quorate resume`: ends a pause. */
import { changeCluster } from "../act/change.ts";
import { printResult } from "../act/result.ts";
import { goalOf, settled } from "../act/settled.ts";
import { chosenCluster } from "../target/choose.ts";
import { clusterVerb } from "../verb.ts";
import { CLUSTER } from "../verb-data.ts";

export const verb = clusterVerb(
  {
    name: "resume",
    summary: "end a pause: the operator heals the cluster and applies its spec again",
    arguments: [CLUSTER],
    groups: ["wait", "dry", "output", "target"],
    examples: [{ does: "After manual work on a cluster", line: "resume demo" }],
  },
  async ({ flags, args }, io, target) => {
    const cluster = await chosenCluster(target, args.cluster);
    const { name } = cluster.metadata;
    if (!cluster.spec.paused) return await printResult(io, flags, `${name} is not paused`, cluster);
    if (flags["dry-run"])
      return await printResult(io, flags, `Resuming ${name}`, { spec: { paused: false } });
    const { object } = await changeCluster(target, cluster, ({ spec }) =>
      spec.paused ? { spec: { paused: false } } : undefined,
    );
    if (flags["no-wait"]) return await printResult(io, flags, `Resuming ${name}`, object);
    const end = await settled(io, flags, target, object, goalOf(object));
    await printResult(io, flags, `${name} is resumed: ${end.status?.message ?? "Ready"}`, end);
  },
);
