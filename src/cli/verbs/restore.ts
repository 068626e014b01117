/** `quorate restore`: replaces the data of a running cluster by a snapshot, when a person agrees to just that. */
import path from "node:path";
import type { EtcdOperationSpec } from "../../api/etcd-operation.ts";
import { plannedText, restorePlan, type PlannedRestore } from "../../core/assess/restore-plan.ts";
import { namedSnapshot } from "../../operator/observe/restore-source.ts";
import { systemDisk } from "../../seams/disk.ts";
import { confirm } from "../act/confirm.ts";
import { newOperation, runOperation } from "../act/operation.ts";
import { SOURCE_FLAGS, sourceOf } from "../act/source.ts";
import { CommandError, EXIT } from "../exit.ts";
import type { ValuesOf } from "../flag.ts";
import { UsageError } from "../io.ts";
import { chosenCluster } from "../target/choose.ts";
import type { ClusterObject, Target } from "../target/target.ts";
import { clusterVerb } from "../verb.ts";
import { CLUSTER } from "../verb-data.ts";

export const verb = clusterVerb(
  {
    name: "restore",
    summary: "replace all data of a running cluster by a snapshot",
    about:
      "Shows the plan, asks, and creates an EtcdOperation that approves just this plan by its hash. The snapshot is fetched and checked while the members serve: on Kubernetes by a Pod with the Secrets that are named, on one machine by the controller with the credentials of its own environment. Then all members are stopped, the cluster starts again from the snapshot with a revision above all that it had, so that watchers see a compaction, and the other members are rebuilt. What was written since the snapshot is lost. The volumes of the former members are kept.",
    arguments: [
      {
        name: "snapshot",
        help: "s3://, gs:// or azblob://bucket/name.db; on Kubernetes also pvc://claim/name.db or the name of an EtcdSnapshot; on one machine also file:///directory/name.db or a path",
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
      "key-secret": {
        kind: "text",
        value: "name",
        help: "Kubernetes: Secret with the key of an encrypted snapshot",
      },
      plan: { kind: "text", value: "hash", help: "the plan that you have read; nothing else is done" },
    },
    groups: ["confirm", "wait", "dry", "output", "target"],
    examples: [
      { does: "Read the plan, then decide", line: "restore s3://backups/prod/demo.db demo --local" },
      { does: "On Kubernetes, restore an EtcdSnapshot", line: "restore demo-nightly demo" },
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
    const { name, uid = "" } = cluster.metadata;
    const { version } = cluster.spec;
    const { asked, recipe } = await wishOf(args.snapshot, flags, io.cwd, target, cluster);
    const clusterID = cluster.status?.clusterID;
    if (clusterID === undefined)
      throw new CommandError(
        EXIT.failed,
        `${name} has not started yet, so there is nothing to replace: set spec.bootstrap.restore instead`,
      );
    const approve = restorePlan({ uid, clusterID, version }, recipe);
    if (flags.plan !== undefined && flags.plan !== approve)
      throw new CommandError(
        EXIT.conflict,
        `the plan is ${approve} now, not ${flags.plan}. Read it again: ${target.command} restore ${args.snapshot} ${name}${target.flags}`,
      );
    const what = `Restoring ${args.snapshot} into ${name}`;
    io.stderr.write(
      `Plan ${approve}: replace all data of ${name} (cluster ID ${clusterID}) by ${plannedText(recipe)}, with etcd ${version}.\n`,
    );
    if (!flags["dry-run"])
      await confirm(io, flags, {
        change: `${what} (plan ${approve})`,
        risk: "all members are stopped, and everything written since the snapshot is lost; the present volumes are kept",
      });
    const operation = newOperation(io, cluster, "restore", { restore: { ...asked, approve } });
    await runOperation(io, flags, target, operation, what);
  },
);

type Asked = Omit<NonNullable<EtcdOperationSpec["restore"]>, "approve">;
type Wishes = ValuesOf<typeof SOURCE_FLAGS> & {
  readonly checksum?: string | undefined;
  "key-secret"?: string | undefined;
};

/** What the operation says, and what it comes to: an EtcdSnapshot knows its place, its checksum and its key. */
async function wishOf(
  text: string,
  flags: Wishes,
  cwd: string,
  target: Target,
  cluster: ClusterObject,
): Promise<{ asked: Asked; recipe: PlannedRestore }> {
  const { checksum, "key-secret": keySecret } = flags;
  const isNamed = target.kind === "kubernetes" && !text.includes("://");
  if (!isNamed) {
    const source = sourceOf(text, flags, cwd);
    // The controller looks on this very machine; elsewhere only the operator can tell.
    if (source.file !== undefined && target.kind === "local" && !(await systemDisk.stat(source.file.path)))
      throw new CommandError(
        EXIT.notFound,
        `there is no snapshot ${source.file.path}. List what there is: ${target.command} snapshot ls ${path.dirname(source.file.path)}/`,
      );
    const recipe = {
      source,
      ...(checksum !== undefined && { checksum }),
      ...(keySecret !== undefined && { encryption: { keySecret } }),
    };
    return { asked: recipe, recipe };
  }
  for (const flag of [...Object.keys(SOURCE_FLAGS), "checksum", "key-secret"] as (keyof Wishes)[])
    if (flags[flag] !== undefined)
      throw new UsageError(`--${flag} cannot be used with an EtcdSnapshot, which says it itself`);
  const found = namedSnapshot(text, await target.snapshot?.(text, cluster));
  if ("refused" in found)
    throw new CommandError(
      EXIT.notFound,
      `${found.refused}. Name one that succeeded (kubectl get es), or a place such as s3://bucket/name.db`,
    );
  return { asked: { snapshot: text }, recipe: found.recipe };
}
