/** `quorate restore`: replaces the data of a running cluster by a snapshot, when a person agrees to just that. */
import { restorePlan } from "../../core/assess/restore-plan.ts";
import { confirm } from "../act/confirm.ts";
import { newOperation, runOperation } from "../act/operation.ts";
import { SOURCE_FLAGS, sourceOf } from "../act/source.ts";
import { CommandError, EXIT } from "../exit.ts";
import { UsageError } from "../io.ts";
import { chosenCluster } from "../target/choose.ts";
import { clusterVerb } from "../verb.ts";
import { CLUSTER } from "../verb-data.ts";

export const verb = clusterVerb(
  {
    name: "restore",
    summary: "replace all data of a running cluster by a snapshot",
    about:
      "Shows the plan, asks, and creates an EtcdOperation that approves just this plan by its hash. The controller fetches and checks the snapshot with the credentials of its own environment while the members serve; then it stops all members, starts the cluster again from the snapshot with a revision above all that it had, so that watchers see a compaction, and rebuilds the other members. What was written since the snapshot is lost. The data directories of the former members are kept. Only for clusters of `quorate local`; on Kubernetes, create a new cluster with spec.bootstrap.restore.",
    arguments: [
      {
        name: "snapshot",
        help: "s3://, gs:// or azblob://bucket/name.db, file:///directory/name.db or a path",
        complete: "file",
      },
      CLUSTER,
    ],
    flags: {
      ...SOURCE_FLAGS,
      checksum: {
        kind: "text",
        value: "sha256",
        help: "SHA-256 of the plain snapshot; another one is not restored",
      },
      plan: { kind: "text", value: "hash", help: "the plan that you have read; nothing else is done" },
    },
    groups: ["confirm", "wait", "dry", "output", "target"],
    examples: [
      { does: "Read the plan, then decide", line: "restore s3://backups/prod/demo.db demo --local" },
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
    const { checksum } = flags;
    const source = sourceOf(args.snapshot, flags, io.cwd);
    const cluster = await chosenCluster(target, args.cluster);
    const { name, uid = "" } = cluster.metadata;
    const { version } = cluster.spec;
    const asked = { source, ...(checksum !== undefined && { checksum }) };
    const clusterID = cluster.status?.clusterID;
    if (clusterID === undefined)
      throw new CommandError(
        EXIT.failed,
        `${name} has not started yet, so there is nothing to replace: set spec.bootstrap.restore instead`,
      );
    const approve = restorePlan({ uid, clusterID, version }, asked);
    if (flags.plan !== undefined && flags.plan !== approve)
      throw new CommandError(
        EXIT.conflict,
        `the plan is ${approve} now, not ${flags.plan}. Read it again: ${target.command} restore ${args.snapshot} ${name}${target.flags}`,
      );
    const what = `Restoring ${args.snapshot} into ${name}`;
    io.stderr.write(
      `Plan ${approve}: replace all data of ${name} (cluster ID ${clusterID}) by ${args.snapshot}, with etcd ${version}.\n`,
    );
    if (!flags["dry-run"])
      await confirm(io, flags, {
        change: `${what} (plan ${approve})`,
        risk: "all members are stopped, and everything written since the snapshot is lost; the present data directories are kept",
      });
    const operation = newOperation(io, cluster, "restore", { restore: { ...asked, approve } });
    await runOperation(io, flags, target, operation, what);
  },
);
