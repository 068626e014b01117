/** `quorate pause`: the operator reports on the cluster and changes nothing. */
import { changeCluster } from "../act/change.ts";
import { printResult } from "../act/result.ts";
import { isPaused, settled } from "../act/settled.ts";
import { confirm } from "../act/confirm.ts";
import { chosenCluster } from "../target/choose.ts";
import { clusterVerb } from "../verb.ts";
import { CLUSTER } from "../verb-data.ts";

export const verb = clusterVerb(
  {
    name: "pause",
    summary: "let the operator report on a cluster and change nothing",
    about:
      "Sets spec.paused. Members keep running, but a failed member is not replaced, and a deleted Pod is not recreated, until resume.",
    arguments: [CLUSTER],
    groups: ["confirm", "wait", "dry", "output", "target"],
    examples: [{ does: "Before manual work on a cluster", line: "pause demo --yes" }],
  },
  async ({ flags, args }, io, target) => {
    const cluster = await chosenCluster(target, args.cluster);
    const { name } = cluster.metadata;
    const change = `Pausing ${name}`;
    if (cluster.spec.paused) return await printResult(io, flags, `${name} is paused already`, cluster);
    if (flags["dry-run"]) return await printResult(io, flags, change, { spec: { paused: true } });
    await confirm(io, flags, {
      change,
      risk: "failed members are not replaced until it is resumed",
    });
    const { object } = await changeCluster(target, cluster, ({ spec }) =>
      spec.paused ? undefined : { spec: { paused: true } },
    );
    const resume = `Resume it with: ${target.command} resume ${name}${target.flags}`;
    if (flags["no-wait"]) return await printResult(io, flags, `${change}. ${resume}`, object);
    const end = await settled(io, flags, target, object, isPaused);
    await printResult(io, flags, `${name} is paused. ${resume}`, end);
  },
);
