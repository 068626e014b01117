/** `quorate recover inspect`: what data directories of stopped members hold, and which of them has the newest log. */
import { writeFile } from "node:fs/promises";
import path from "node:path";
import { newest } from "../../../recovery/compare.ts";
import { startedAlone } from "../../../recovery/alone.ts";
import { inspectDirectory } from "../../../recovery/directory.ts";
import { recoveriesOn } from "../../../recovery/places.ts";
import { summaryOf, writeSummary } from "../../../recovery/summary.ts";
import { systemDisk } from "../../../seams/disk.ts";
import { CommandError, EXIT } from "../../exit.ts";
import { UsageError } from "../../io.ts";
import { formatted } from "../../output.ts";
import { directoryLines, newestLine, type InspectedDirectory } from "../../screen/directories.ts";
import { plainVerb } from "../../verb.ts";

export const verb = plainVerb(
  {
    name: "recover inspect",
    summary: "show cluster, member, term, index and revision of etcd data directories",
    about:
      "Reads the write-ahead log, the raft snapshots and the database as etcd would at its start, and changes nothing. Use it on stopped members: of a running one it may miss what is being written. Of several directories of one cluster it says which log is the newest, by the term and then the index of its last entry.",
    arguments: [
      {
        name: "directory",
        help: "what etcd has as --data-dir; several may be given",
        many: true,
        complete: "file",
      },
    ],
    flags: {
      "wal-dir": {
        kind: "text",
        value: "directory",
        help: "where the write-ahead log is, if the member ran with --wal-dir; only with one directory",
      },
      "result-file": {
        kind: "text",
        value: "file",
        help: "write a summary there, as one line of JSON; only with one directory, which need not exist",
      },
    },
    groups: ["output"],
    examples: [
      {
        does: "Which cluster and member wrote the data, and up to which revision?",
        line: "recover inspect /var/lib/etcd",
      },
      { does: "Which of three has the newest log?", line: "recover inspect ./node-1 ./node-2 ./node-3" },
    ],
    exitCodes: [{ code: EXIT.failed, meaning: "etcd could not start from at least one of the directories" }],
  },
  async ({ args, flags }, io) => {
    const walDir = flags["wal-dir"];
    if (walDir !== undefined && args.directory.length > 1)
      throw new UsageError(
        "--wal-dir belongs to one member: pass one directory with it, and call again for the next",
      );
    const resultFile = flags["result-file"];
    if (resultFile !== undefined) {
      const [only = "", more] = args.directory;
      if (more !== undefined) throw new UsageError("--result-file takes the summary of one directory");
      const wal = walDir === undefined ? undefined : path.resolve(io.cwd, walDir);
      const directory = path.resolve(io.cwd, only);
      const facts = await inspectDirectory(systemDisk, directory, wal);
      const volume = path.dirname(directory);
      const alone = await startedAlone(systemDisk, recoveriesOn(volume));
      const summary = summaryOf(facts, alone && path.relative(volume, alone));
      await writeFile(path.resolve(io.cwd, resultFile), writeSummary(summary));
      return EXIT.done;
    }
    const all: InspectedDirectory[] = [];
    for (const given of args.directory) {
      const directory = path.resolve(io.cwd, given);
      if ((await systemDisk.stat(directory))?.kind !== "directory")
        throw new CommandError(
          EXIT.notFound,
          `there is no directory ${directory}. Pass what etcd has as --data-dir.`,
        );
      const wal = walDir === undefined ? undefined : path.resolve(io.cwd, walDir);
      all.push({ directory, facts: await inspectDirectory(systemDisk, directory, wal) });
    }
    const best = newest(all.map(({ facts }) => facts));
    const text = () =>
      [
        ...all.flatMap((one, index) => [...(index > 0 ? [""] : []), ...directoryLines(one)]),
        ...newestLine(all, best),
      ].join("\n");
    const data = all.map(({ directory, facts }) => ({ directory, ...facts }));
    io.stdout.write(await formatted({ data, text }, flags.output));
    return all.every(({ facts }) => facts.state === "data") ? EXIT.done : EXIT.failed;
  },
);
