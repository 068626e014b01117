/** `quorate recover quorum`: shows the plan of a recovery, and carries it out when a person agrees to just that. */
import type { RecoveryStatus } from "../../../api/etcd-cluster-status.ts";
import type { EtcdOperationSpec } from "../../../api/etcd-operation.ts";
import type { RestorePoint } from "../../../api/point-in-time.ts";
import { namedSnapshot } from "../../../operator/observe/restore-source.ts";
import { confirm } from "../../act/confirm.ts";
import { checkNodesOff, NODE_OFF_FLAG, riskOf } from "../../act/node-off.ts";
import { newOperation, runOperation } from "../../act/operation.ts";
import { CommandError, EXIT } from "../../exit.ts";
import { UsageError } from "../../io.ts";
import { recoveryLines } from "../../screen/recovery.ts";
import { chosenCluster } from "../../target/choose.ts";
import type { ClusterObject, Target } from "../../target/target.ts";
import { clusterVerb } from "../../verb.ts";
import { CLUSTER } from "../../verb-data.ts";

export const verb = clusterVerb(
  {
    name: "recover quorum",
    summary: "recover a cluster whose quorum is lost for good from the data that is left",
    about:
      "Shows the plan in the status of the cluster, asks, and creates an EtcdOperation that approves just this plan by its hash; if what the members hold changes meanwhile, it is rejected. All members are stopped, a snapshot is made of everything in the survivor's log, the cluster starts again from that snapshot with a raised revision, and the other members are rebuilt. Writes that only lost members had are lost. With spec.recovery.prefer Snapshot, or the hash of that alternative as --plan, a snapshot or what was recorded since is restored in place instead. The volumes of the former members are kept. If a member may still run on a node that does not report, the plan names that node: make sure that it is off, and to approve the plan, name that node with --node-off. Quorate does not wait for the member there to stop.",
    arguments: [CLUSTER],
    flags: {
      plan: {
        kind: "text",
        value: "hash",
        help: "the plan that you have read, of the survivor or of an alternative; nothing is done if it has changed",
      },
      ...NODE_OFF_FLAG,
    },
    groups: ["confirm", "wait", "dry", "output", "target"],
    examples: [
      { does: "Read the plan, then decide", line: "recover quorum demo" },
      {
        does: "Carry out a plan that was read before",
        line: "recover quorum demo --plan 51f0a3c2d4e5b697 --yes",
      },
      {
        does: "With two nodes that do not answer, and that you have switched off",
        line: "recover quorum demo --node-off node-b --node-off node-c",
      },
    ],
    exitCodes: [
      {
        code: EXIT.conflict,
        meaning:
          "the plan is another one than --plan names, or needs other nodes to be off than --node-off names; nothing was done",
      },
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
    const way = wayOf(recovery, flags.plan);
    if (!way)
      throw new CommandError(
        EXIT.conflict,
        `the plan is ${recovery.plan} now, not ${flags.plan}. Read it again: ${target.command} recover quorum ${name}${target.flags}`,
      );
    io.stderr.write(`${recoveryLines(recovery).join("\n")}\n\n`);
    const nodesOff = [...new Set(flags["node-off"])];
    const toBeOff = recovery.nodesOff?.map((node) => node.name) ?? [];
    checkNodesOff(nodesOff, toBeOff, `${target.command} recover quorum ${name}${target.flags}`);
    const what = `Recovering ${name} from ${way.from}`;
    if (!flags["dry-run"])
      await confirm(io, flags, {
        change: `${what} (plan ${way.plan})`,
        risk: `${way.risk}${riskOf(nodesOff)}; if lost data can be brought back, do that instead`,
      });
    const task = await taskOf({ ...way, nodesOff }, recovery.plan, cluster, target);
    const operation = newOperation(io, cluster, "recover", task);
    await runOperation(io, flags, target, operation, what);
  },
);

interface Way {
  readonly plan: string;
  readonly from: string;
  readonly risk: string;
  readonly snapshot?: string;
  readonly pointInTime?: RestorePoint;
}

/** What the plan that was read is about; without one, what the spec prefers. */
function wayOf(recovery: RecoveryStatus, plan: string | undefined): Way | undefined {
  const { preferred = "Survivor", snapshot, pointInTime: point } = recovery;
  const ways: Partial<Record<NonNullable<RecoveryStatus["preferred"]>, Way>> = {
    Survivor: {
      plan: recovery.plan,
      from: `the data of ${recovery.survivor}`,
      risk: "writes that only lost members had are lost for good",
    },
    ...(snapshot?.plan !== undefined && {
      Snapshot: {
        plan: snapshot.plan,
        from: `EtcdSnapshot ${snapshot.name}`,
        risk: `writes after revision ${snapshot.revision} are lost for good`,
        snapshot: snapshot.name,
      },
    }),
    ...(point?.plan !== undefined && {
      PointInTime: {
        plan: point.plan,
        from: `what EtcdSnapshotSchedule ${point.schedule} has recorded`,
        risk: `writes after revision ${point.revision} are lost for good`,
        pointInTime: { revision: point.revision, schedule: point.schedule },
      },
    }),
  };
  return plan === undefined ? ways[preferred] : Object.values(ways).find((way) => way.plan === plan);
}

/** An alternative is a restore in place, for as long as the members hold what this plan says. */
async function taskOf(
  { plan: approve, snapshot, pointInTime, nodesOff }: Way & { readonly nodesOff: readonly string[] },
  recovery: string,
  cluster: ClusterObject,
  target: Target,
): Promise<Partial<EtcdOperationSpec>> {
  const { clusterID } = cluster.status ?? {};
  const said = nodesOff.length > 0 ? { nodesOff: [...nodesOff] } : {};
  if (pointInTime) {
    const point = { ...pointInTime, ...(clusterID && { clusterID }) };
    return { restore: { pointInTime: point, recovery, ...said, approve } };
  }
  if (snapshot === undefined) return { recoverQuorum: { approve, ...said } };
  if (target.kind === "kubernetes") return { restore: { snapshot, recovery, ...said, approve } };
  // There a restore names the place.
  const found = namedSnapshot(snapshot, await target.snapshot(snapshot, cluster));
  if ("refused" in found) throw new CommandError(EXIT.notFound, found.refused);
  const { source, checksum } = found.recipe;
  return { restore: { source, ...(checksum !== undefined && { checksum }), recovery, approve } };
}
