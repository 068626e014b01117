/** `quorate recover quorum`: shows the plan of a recovery, and carries it out when a person agrees to just that. */
import { confirm } from "../../act/confirm.ts";
import { newOperation, runOperation } from "../../act/operation.ts";
import { CommandError, EXIT } from "../../exit.ts";
import { UsageError } from "../../io.ts";
import { recoveryLines } from "../../screen/recovery.ts";
import { chosenCluster } from "../../target/choose.ts";
import { clusterVerb } from "../../verb.ts";
import { CLUSTER } from "../../verb-data.ts";

export const verb = clusterVerb(
  {
    name: "recover quorum",
    summary: "recover a cluster whose quorum is lost for good from the data that is left",
    about:
      "Shows the plan in the status of the cluster, asks, and creates an EtcdOperation that approves just this plan by its hash; if what the members hold changes meanwhile, it is rejected. All members are stopped, a snapshot is made of everything in the survivor's log, the cluster starts again from that snapshot with a raised revision, and the other members are rebuilt. Writes that only lost members had are lost. The volumes of the former members are kept.",
    arguments: [CLUSTER],
    flags: {
      plan: {
        kind: "text",
        value: "hash",
        help: "the plan that you have read; nothing is done if it has changed",
      },
    },
    groups: ["confirm", "wait", "dry", "output", "target"],
    examples: [
      { does: "Read the plan, then decide", line: "recover quorum demo" },
      {
        does: "Carry out a plan that was read before",
        line: "recover quorum demo --plan 51f0a3c2d4e5b697 --yes",
      },
    ],
    exitCodes: [
      { code: EXIT.conflict, meaning: "the plan is another one than --plan names; nothing was done" },
    ],
  },
  async ({ flags, args }, io, target) => {
    if (flags.yes && flags.plan === undefined)
      throw new UsageError("--yes agrees to a plan that you have read: name it with --plan <hash>");
    const cluster = await chosenCluster(target, args.cluster);
    const { name } = cluster.metadata;
    const recovery = cluster.status?.recovery;
    if (!recovery)
      throw new CommandError(
        EXIT.failed,
        `there is no plan for a recovery of ${name}: it has quorum, or may get it back, or its volumes cannot be read. See: ${target.command} status ${name}${target.flags}`,
      );
    if (flags.plan !== undefined && flags.plan !== recovery.plan)
      throw new CommandError(
        EXIT.conflict,
        `the plan is ${recovery.plan} now, not ${flags.plan}. Read it again: ${target.command} recover quorum ${name}${target.flags}`,
      );
    io.stderr.write(`${recoveryLines(recovery).join("\n")}\n\n`);
    const what = `Recovering ${name} from the data of ${recovery.survivor}`;
    if (!flags["dry-run"])
      await confirm(io, flags, {
        change: `${what} (plan ${recovery.plan})`,
        risk: "writes that only lost members had are lost for good; if lost data can be brought back, do that instead",
      });
    const operation = newOperation(io, cluster, "recover", { recoverQuorum: { approve: recovery.plan } });
    await runOperation(io, flags, target, operation, what);
  },
);
