/** `quorate restore`: replaces the data of a running cluster by a snapshot, when a person agrees to just that. */
import { confirm } from "../act/confirm.ts";
import { NODE_OFF_FLAG, riskOf } from "../act/node-off.ts";
import { newOperation, runOperation } from "../act/operation.ts";
import { WISH_FLAGS, wishOf } from "../act/restore-wish.ts";
import { CommandError, EXIT } from "../exit.ts";
import { UsageError } from "../io.ts";
import { chosenCluster } from "../target/choose.ts";
import { clusterVerb } from "../verb.ts";
import { CLUSTER } from "../verb-data.ts";

export const verb = clusterVerb(
  {
    name: "restore",
    summary: "replace all data of a running cluster by a snapshot or a point in time",
    about:
      "Shows the plan, asks, and creates an EtcdOperation that approves just this plan by its hash. The snapshot is fetched and checked while the members serve: on Kubernetes by a Pod with the Secrets that are named, on one machine by the controller with the credentials of its own environment. Then all members are stopped, the cluster starts again from the snapshot with a revision above all that it had, so that watchers see a compaction, and the other members are rebuilt. What was written since the snapshot is lost. The snapshot of a point in time is built first, from a snapshot and the changes that were recorded after it. The volumes of the former members are kept.",
    arguments: [
      {
        name: "snapshot",
        help: "s3://, gs:// or azblob://bucket/name.db; on Kubernetes also pvc://claim/name.db or the name of an EtcdSnapshot; on one machine also file:///directory/name.db or a path. With --at-time or --at-revision: the EtcdSnapshotSchedule that recorded the changes, or their folder such as s3://bucket/prefix/",
        complete: "file",
      },
      CLUSTER,
    ],
    flags: {
      ...WISH_FLAGS,
      ...NODE_OFF_FLAG,
      plan: { kind: "text", value: "hash", help: "the plan that you have read; nothing else is done" },
    },
    groups: ["confirm", "wait", "dry", "output", "target"],
    examples: [
      { does: "Read the plan, then decide", line: "restore s3://backups/prod/demo.db demo --local" },
      { does: "On Kubernetes, restore an EtcdSnapshot", line: "restore demo-nightly demo" },
      {
        does: "The state before a mistake, from what a schedule with incremental recorded",
        line: "restore demo-nightly demo --at-time 2026-11-17T08:29:00Z",
      },
      {
        does: "Carry out a plan that was read before",
        line: "restore ./demo.db demo --local --plan 51f0a3c2d4e5b697 --yes",
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
    const { version } = cluster.spec;
    if (cluster.spec.paused)
      throw new CommandError(
        EXIT.failed,
        `${name} is paused, and an approval to replace all data does not wait. End the pause first: ${target.command} resume ${name}${target.flags}`,
      );
    const clusterID = cluster.status?.clusterID;
    if (clusterID === undefined)
      throw new CommandError(
        EXIT.failed,
        `${name} has not started yet, so there is nothing to replace: set spec.bootstrap.restore instead`,
      );
    const nodesOff = [...new Set(flags["node-off"])];
    const around = { cwd: io.cwd, target, cluster, clusterID, nodesOff };
    const { asked, plan: approve, description } = await wishOf(args.snapshot, flags, around);
    if (flags.plan !== undefined && flags.plan !== approve)
      throw new CommandError(
        EXIT.conflict,
        `the plan is ${approve} now, not ${flags.plan}. Read it again: ${target.command} restore ${args.snapshot} ${name}${target.flags}`,
      );
    const what = `Restoring ${asked.pointInTime ? description : args.snapshot} into ${name}`;
    io.stderr.write(
      `Plan ${approve}: replace all data of ${name} (cluster ID ${clusterID}) by ${description}, with etcd ${version}${nodesOff.length === 0 ? "" : `, only if ${nodesOff.join(", ")} ${nodesOff.length === 1 ? "is" : "are"} off`}.\n`,
    );
    if (!flags["dry-run"])
      await confirm(io, flags, {
        change: `${what} (plan ${approve})`,
        risk: `all members are stopped, and everything written since is lost${riskOf(nodesOff)}; the present volumes are kept`,
      });
    const operation = newOperation(io, cluster, "restore", { restore: { ...asked, approve } });
    await runOperation(io, flags, target, operation, what);
  },
);
