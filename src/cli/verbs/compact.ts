/** `quorate compact`: discards the history of keys. */
import { newOperation, runOperation } from "../act/operation.ts";
import { UsageError } from "../io.ts";
import { confirm } from "../act/confirm.ts";
import { grouped } from "../screen/words.ts";
import { chosenCluster } from "../target/choose.ts";
import { clusterVerb } from "../verb.ts";
import { CLUSTER } from "../verb-data.ts";

/** As many as a watcher may be behind without noticing. */
const RETAINED = 1_000;

export const verb = clusterVerb(
  {
    name: "compact",
    summary: "discard the history of keys, up to a revision or but for the newest revisions",
    about:
      "Creates an EtcdOperation. Present values remain; reads and watches of older revisions fail with etcd's error ErrCompacted. Compaction frees space inside the database file; defrag returns it to the file system.",
    arguments: [CLUSTER],
    flags: {
      revision: { kind: "number", value: "n", help: "discard the history up to this revision" },
      retain: {
        kind: "number",
        value: "n",
        help: `retain this many of the newest revisions (default: ${RETAINED})`,
      },
    },
    groups: ["confirm", "wait", "dry", "output", "target"],
    examples: [
      { does: "Keep the newest 1000 revisions", line: "compact demo" },
      { does: "Up to one revision", line: "compact demo --revision 48211 --yes" },
    ],
  },
  async ({ flags, args }, io, target) => {
    const { revision, retain = RETAINED } = flags;
    if (revision !== undefined && flags.retain !== undefined)
      throw new UsageError("--revision and --retain contradict each other: use one of the two");
    if (revision === 0) throw new UsageError("--revision 0: must be at least 1");
    const cluster = await chosenCluster(target, args.cluster);
    const { name } = cluster.metadata;
    const newest = cluster.status?.revision;
    const range =
      revision === undefined
        ? `all but the newest ${grouped(retain)} revisions`
        : `revisions up to ${grouped(revision)}`;
    const at = newest === undefined ? "" : ` (the newest is ${grouped(newest)})`;
    const what = `Compacting ${range} of ${name}`;
    const operation = newOperation(io, cluster, "compact", {
      compact: revision === undefined ? { retain } : { revision },
    });
    if (!flags["dry-run"])
      await confirm(io, flags, {
        change: `${what}${at}`,
        risk: "that history cannot be read or watched any more; present values remain",
      });
    await runOperation(io, flags, target, operation, what);
  },
);
