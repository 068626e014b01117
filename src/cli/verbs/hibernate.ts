/** `quorate hibernate`: stops all members and retains their data. */
import { changeCluster } from "../act/change.ts";
import { printResult } from "../act/result.ts";
import { isHibernated, settled, printWritten } from "../act/settled.ts";
import { confirm } from "../act/confirm.ts";
import { chosenCluster } from "../target/choose.ts";
import { clusterVerb } from "../verb.ts";
import { CLUSTER } from "../verb-data.ts";

export const verb = clusterVerb(
  {
    name: "hibernate",
    summary: "stop all members and retain their data",
    about:
      "Sets spec.replicas to 0. The records and volumes of the members remain, and wake starts as many as there were. Data on Memory or Ephemeral storage would be lost; such a cluster cannot hibernate.",
    arguments: [CLUSTER],
    groups: ["confirm", "wait", "dry", "output", "target"],
    examples: [{ does: "Stop a cluster overnight", line: "hibernate demo --yes" }],
  },
  async ({ flags, args }, io, target) => {
    const cluster = await chosenCluster(target, args.cluster);
    const { name } = cluster.metadata;
    const change = `Hibernating ${name}`;
    if (cluster.spec.replicas === 0 && isHibernated(cluster))
      return await printResult(io, flags, `${name} is hibernated already`, cluster);
    if (flags["dry-run"])
      return await printResult(io, flags, `${change}: all ${cluster.spec.replicas} voting members stop`, {
        spec: { replicas: 0 },
      });
    await confirm(io, flags, {
      change,
      risk: "all members stop, and clients are not served until it is woken; the data is retained",
    });
    const { object } = await changeCluster(target, cluster, ({ spec }) =>
      spec.replicas === 0 ? undefined : { spec: { replicas: 0 } },
    );
    const wake = `Wake it with: ${target.command} wake ${name}${target.flags}`;
    if (flags["no-wait"])
      return await printWritten(io, flags, { target, cluster: object }, `${change}. ${wake}`);
    const end = await settled(io, flags, target, object, isHibernated);
    await printResult(io, flags, `${name} is hibernated; its data is retained. ${wake}`, end);
  },
);
