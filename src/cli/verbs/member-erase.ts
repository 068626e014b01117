/** `quorate member erase`: deletes the directory of a member that has left, on its node. The operator runs it there. */
import { writeFile } from "node:fs/promises";
import path from "node:path";
import { ERASE_REFUSED, EraseRefused, eraseDirectory } from "../../recovery/erase.ts";
import { systemDisk } from "../../seams/disk.ts";
import { writeResult, type JobResult } from "../../snapshot/result.ts";
import { confirm } from "../act/confirm.ts";
import { CommandError, EXIT } from "../exit.ts";
import { UsageError } from "../io.ts";
import { plainVerb } from "../verb.ts";

export const verb = plainVerb(
  {
    name: "member erase",
    summary: "delete the HostPath directory of a member that has left, on its node",
    about:
      "The operator runs it in a Pod on the node when `storage.retention` is Delete; where it could not, you can run it there yourself. The name of the directory has to end with the UID of the EtcdMember, and its data has to be of that cluster and member; anything else is left as it is. A directory that is gone already is no error.",
    arguments: [{ name: "directory", help: "directory of one member", complete: "file" }],
    flags: {
      uid: { kind: "text", value: "uid", help: "UID of the EtcdMember" },
      "cluster-uid": {
        kind: "text",
        value: "uid",
        help: "UID of the EtcdCluster: the directory above, if its name ends with it, is deleted too when it is empty",
      },
      "cluster-id": { kind: "text", value: "id", help: "ID of the etcd cluster, in hexadecimal" },
      "member-id": { kind: "text", value: "id", help: "ID of the etcd member, in hexadecimal" },
      "result-file": {
        kind: "text",
        value: "file",
        help: "write the result there, as one line of JSON",
      },
    },
    groups: ["confirm"],
    examples: [
      {
        does: "A directory that an event names as left on a node",
        line: "member erase /var/lib/etcd/default/demo.5c7e0f7a/demo-2.b1d6f0c2 --uid b1d6f0c2",
      },
    ],
  },
  async ({ args, flags }, io) => {
    const file = flags["result-file"];
    const report = async (result: JobResult) => {
      if (file === undefined) return;
      await writeFile(path.resolve(io.cwd, file), writeResult(result)).catch((error: unknown) => {
        io.stderr.write(`cannot write --result-file ${file}: ${(error as Error).message}\n`);
      });
    };
    if (!flags.uid) throw new UsageError("name the member with --uid");
    const directory = path.resolve(io.cwd, args.directory);
    // Where the result is read by a program, nobody can be asked.
    if (file === undefined)
      await confirm(io, flags, { change: `Delete ${directory}`, risk: "the data cannot be brought back" });
    try {
      const done = await eraseDirectory({
        disk: systemDisk,
        directory,
        uid: flags.uid,
        clusterUID: flags["cluster-uid"],
        clusterID: flags["cluster-id"],
        memberID: flags["member-id"],
      });
      await report({ ok: true });
      io.stdout.write(done === "erased" ? `Deleted ${directory}\n` : `${directory} does not exist\n`);
    } catch (error) {
      const refused = error instanceof EraseRefused;
      const message = error instanceof Error ? error.message : String(error);
      await report({ ok: false, reason: refused ? ERASE_REFUSED : "EraseFailed", message });
      throw refused ? new CommandError(EXIT.failed, message, { cause: error }) : error;
    }
  },
);
