/** `quorate scale`: another number of voting members. */
import { changeCluster, respecified } from "../act/change.ts";
import { headroom, removal, tolerates } from "../act/headroom.ts";
import { printResult } from "../act/result.ts";
import { goalOf, settled, printWritten } from "../act/settled.ts";
import { UsageError } from "../io.ts";
import { confirm } from "../act/confirm.ts";
import { chosenCluster } from "../target/choose.ts";
import type { ClusterObject } from "../target/target.ts";
import { clusterVerb } from "../verb.ts";
import { CLUSTER } from "../verb-data.ts";

export const verb = clusterVerb(
  {
    name: "scale",
    summary: "change the number of voting members",
    about:
      "Members join and leave one at a time, and the cluster keeps serving. A new member joins as a learner and is promoted when it has caught up. 0 stops all members and retains their data, as hibernate does.",
    arguments: [CLUSTER, { name: "replicas", help: "number of voting members" }],
    groups: ["confirm", "wait", "dry", "output", "target"],
    examples: [
      { does: "Five voting members, and wait until they are healthy", line: "scale demo 5" },
      { does: "The only cluster on this machine, without a question", line: "scale 1 --local --yes" },
    ],
  },
  async ({ flags, args }, io, target) => {
    if (!/^\d{1,4}$/.test(args.replicas))
      throw new UsageError(`${args.replicas}: the number of voting members must be a whole number`);
    const replicas = Number(args.replicas);
    const cluster = await chosenCluster(target, args.cluster);
    const { name } = cluster.metadata;
    const { replicas: before } = cluster.spec;
    const change = `Scaling ${name} from ${before} to ${replicas} voting members`;
    if (before === replicas)
      return await printResult(io, flags, `${name} already has replicas ${replicas}`, cluster);
    if (flags["dry-run"])
      return await printResult(io, flags, `${change}; ${tolerates(replicas)} then`, { spec: { replicas } });
    if (replicas < before) await confirm(io, flags, { change, risk: riskOf(cluster, replicas) });
    const { object } = await changeCluster(target, cluster, respecified("replicas", before, replicas));
    if (flags["no-wait"])
      return await printWritten(
        io,
        flags,
        { target, cluster: object },
        `${change}; ${tolerates(replicas)} then`,
      );
    const end = await settled(io, flags, target, object, goalOf(object));
    const text =
      replicas === 0
        ? `${name} is hibernated; its data is retained`
        : `${name} has ${replicas} voting ${replicas === 1 ? "member" : "members"}: ${tolerates(replicas)}`;
    await printResult(io, flags, text, end);
  },
);

function riskOf(cluster: ClusterObject, replicas: number): string {
  if (replicas === 0) return "all members stop, and clients are not served; the data is retained";
  const gone = cluster.spec.replicas - replicas;
  return `${removal(cluster, gone)}; ${headroom(cluster)} now, and ${tolerates(replicas)} then`;
}
