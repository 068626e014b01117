/** `quorate wake`: starts a hibernated cluster again, with as many members as it had. */
import { changeCluster, respecified } from "../act/change.ts";
import { confirm } from "../act/confirm.ts";
import { removal, tolerates } from "../act/headroom.ts";
import { printResult } from "../act/result.ts";
import { isReady, settled, printWritten } from "../act/settled.ts";
import { CommandError, EXIT } from "../exit.ts";
import { chosenCluster } from "../target/choose.ts";
import { clusterVerb } from "../verb.ts";
import { CLUSTER } from "../verb-data.ts";

export const verb = clusterVerb(
  {
    name: "wake",
    summary: "start the members of a hibernated cluster again, with their data",
    about:
      "The cluster wakes with its previous size: the number of voting members whose records and volumes were retained. --replicas chooses another one; members beyond it are removed once a quorum of all of them serves.",
    arguments: [CLUSTER],
    flags: {
      replicas: {
        kind: "number",
        value: "n",
        help: "number of voting members (default: as many as before)",
      },
    },
    groups: ["confirm", "wait", "dry", "output", "target"],
    examples: [{ does: "Start a cluster that was hibernated", line: "wake demo" }],
  },
  async ({ flags, args }, io, target) => {
    const cluster = await chosenCluster(target, args.cluster);
    const { name } = cluster.metadata;
    if (cluster.spec.replicas > 0)
      return await printResult(
        io,
        flags,
        `${name} is not hibernated: spec.replicas is ${cluster.spec.replicas}`,
        cluster,
      );
    const retained = (await target.members(cluster)).filter(
      ({ spec }) => spec.role === "Voter" && !spec.leaving,
    ).length;
    const replicas = flags.replicas ?? retained;
    if (replicas === 0)
      throw new CommandError(
        EXIT.failed,
        `${name} has no retained members, so its former size is not known. Choose one: ${target.command} wake ${name} --replicas 3${target.flags}`,
      );
    const change = `Waking ${name} with ${replicas} voting members`;
    if (flags["dry-run"]) return await printResult(io, flags, change, { spec: { replicas } });
    if (replicas < retained)
      await confirm(io, flags, {
        change,
        risk: `it had ${retained}; ${removal(cluster, retained - replicas)}, and ${tolerates(replicas)} then`,
      });
    const { object } = await changeCluster(target, cluster, respecified("replicas", 0, replicas));
    if (flags["no-wait"]) return await printWritten(io, flags, { target, cluster: object }, change);
    const end = await settled(io, flags, target, object, isReady);
    await printResult(io, flags, `${name} is awake with ${replicas} voting members and its data`, end);
  },
);
