/** `quorate snapshot stage` and `place`: the steps of a restore in a member's Pod, before and after etcdutl. */
import { writeFile } from "node:fs/promises";
import { bootstrapSchema, type RestoreRecipe } from "../../../api/bootstrap.ts";
import { systemDisk } from "../../../seams/disk.ts";
import { restoreErrorOf } from "../../../snapshot/restore-error.ts";
import { placeRestored, stageSnapshot, writeFailure, writeStaged } from "../../../snapshot/stage.ts";
import { CommandError, EXIT } from "../../exit.ts";
import { UsageError, type CliIo } from "../../io.ts";
import { plainVerb } from "../../verb.ts";
import { factsLines } from "../../screen/snapshots.ts";
import { decryptionOf, KEY_FLAGS, STORE_FLAGS } from "./flags.ts";
import { REPORT_FLAGS } from "./reporter.ts";
import { RESULT_FLAGS } from "./result-file.ts";
import { withTransfer } from "./transfer.ts";

const VOLUME = { name: "volume", help: "directory of the volume", complete: "file" } as const;

/** etcdutl gets the same flag in the same place; here it means nothing. */
const SAME_FLAG = {
  "skip-hash-check": {
    kind: "choice",
    choices: ["false"],
    help: "accepted for the operator, which gives one flag to all steps; the hash is always checked",
  },
} as const;

export const stage = plainVerb(
  {
    name: "snapshot stage",
    summary: "fetch the snapshot of a restore onto a volume",
    about:
      "The operator runs it in the Pod of a member that starts from a snapshot, and before a restore in place. QUORATE_RESTORE holds spec.bootstrap.restore as JSON. The snapshot is read to its end and checked; only then it is there as <volume>/restore/snapshot.db. Data of a member in <volume>/data is not touched. A failure is written to /dev/termination-log as JSON.",
    arguments: [VOLUME],
    flags: {
      "etcd-version": { kind: "text", value: "version", help: "etcd that the cluster will run" },
      "quota-bytes": { kind: "number", value: "bytes", help: "refuse a database that is larger" },
      "claim-dir": { kind: "text", value: "directory", help: "where the claim of source.pvc is mounted" },
      "store-ca-file": { kind: "text", value: "file", help: "CA certificates of the store" },
      "azure-credentials-dir": STORE_FLAGS["azure-credentials-dir"],
      ...KEY_FLAGS,
      ...SAME_FLAG,
      "result-file": RESULT_FLAGS["result-file"],
      ...REPORT_FLAGS,
    },
    examples: [
      { does: "As the operator calls it", line: "snapshot stage /var/lib/etcd --etcd-version 3.6.16" },
    ],
  },
  async ({ args, flags }, io) => {
    const restore = recipeOf(io);
    const etcdVersion = flags["etcd-version"];
    if (etcdVersion === undefined) throw new UsageError("--etcd-version is missing");
    await withTerminationMessage(io, async () => {
      const decryption = await decryptionOf(flags, io);
      const facts = await withTransfer(
        flags,
        io,
        async (progress) =>
          await stageSnapshot({
            restore: atClaim(restore, flags["claim-dir"]),
            etcdVersion,
            quotaBytes: flags["quota-bytes"],
            volume: args.volume,
            files: { caFile: flags["store-ca-file"], credentialsDir: flags["azure-credentials-dir"] },
            context: { ...io, disk: systemDisk },
            ...decryption,
            signal: io.signal,
            progress,
          }),
      );
      io.stdout.write(`${factsLines(args.volume, facts).join("\n")}\n`);
      const { "result-file": file } = flags;
      if (file !== undefined) await writeFile(file, writeStaged(facts));
    });
  },
);

export const place = plainVerb(
  {
    name: "snapshot place",
    summary: "put what etcdutl restored on a volume in its place",
    about:
      "The operator runs it after etcdutl: <volume>/restore/data becomes <volume>/data, unless that holds a write-ahead log already, and <volume>/restore is removed.",
    arguments: [VOLUME],
    flags: SAME_FLAG,
    examples: [{ does: "As the operator calls it", line: "snapshot place /var/lib/etcd" }],
  },
  async ({ args }, io) => {
    await withTerminationMessage(io, async () => {
      const done = await placeRestored(args.volume, systemDisk);
      io.stdout.write(done === "placed" ? "Restored.\n" : "There is data already; it was left as it is.\n");
    });
  },
);

function recipeOf(io: CliIo): RestoreRecipe {
  const text = io.env["QUORATE_RESTORE"];
  if (!text)
    throw new UsageError("QUORATE_RESTORE is not set: it has to hold spec.bootstrap.restore as JSON");
  try {
    const { source, ...rest } = bootstrapSchema.parse({ restore: JSON.parse(text) as unknown }).restore;
    if (source === undefined) throw new TypeError("source is missing");
    return { ...rest, source };
  } catch (error) {
    throw new UsageError(
      `QUORATE_RESTORE is not a valid spec.bootstrap.restore: ${(error as Error).message}`,
    );
  }
}

/** A claim is a directory here. */
function atClaim(restore: RestoreRecipe, directory: string | undefined): RestoreRecipe {
  const { pvc } = restore.source;
  if (pvc === undefined) return restore;
  if (directory === undefined) throw new UsageError("source.pvc needs --claim-dir");
  return { ...restore, source: { file: { path: `${directory}/${pvc.path}` } } };
}

/** What went wrong is said to the kubelet too, which keeps it for the operator. */
async function withTerminationMessage(io: CliIo, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (io.signal.aborted) throw error;
    const failure = restoreErrorOf(error);
    const log = io.env["QUORATE_TERMINATION_LOG"] ?? "/dev/termination-log";
    // Outside of a Pod there is none, and the message goes to the terminal anyway.
    await writeFile(log, writeFailure(failure), { flag: "r+" }).catch(() => undefined);
    throw new CommandError(EXIT.failed, failure.message, { cause: failure });
  }
}
