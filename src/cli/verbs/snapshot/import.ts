/** `quorate snapshot import`: snapshots that other tools made, with a manifest. */
import { importSnapshot, ImportRefused } from "../../../snapshot/import.ts";
import { CommandError, EXIT } from "../../exit.ts";
import { UsageError } from "../../io.ts";
import { formatted } from "../../output.ts";
import { snapshotLines } from "../../screen/snapshots.ts";
import { entryOf, locationOf, SNAPSHOT, snapshotVerb, STORE_FLAGS } from "./flags.ts";
import { withProgress } from "./progress.ts";

export const verb = snapshotVerb(
  {
    name: "snapshot import",
    summary: "take a snapshot of another tool into a store, with a manifest",
    about:
      "Reads a file of `etcdctl snapshot save`, or a backup in a bucket of etcd-cloud-operator, to its end, checks it, and writes it with a manifest, so that it is listed, verified, restored and pruned like others. A backup of etcd-cloud-operator has no hash of its own: its structure is checked, and the hash that etcd would have put at its end is added. The source is left as it is.",
    arguments: [
      SNAPSHOT,
      { name: "to", help: "a folder with a slash at the end, or a name for the object", complete: "file" },
    ],
    flags: {
      "etcd-version": {
        kind: "text",
        value: "version",
        help: "etcd that wrote it, as 3.5.21; needed for 3.5 and older, which leave no trace",
      },
      "cluster-id": {
        kind: "text",
        value: "id",
        help: "etcd's ID of the cluster, in hexadecimal; prune groups snapshots by it (default: 0, unknown)",
      },
      ...STORE_FLAGS,
    },
    groups: ["output"],
    examples: [
      {
        does: "A file that etcdctl wrote",
        line: "snapshot import --etcd-version 3.5.21 ./snapshot.db s3://backups/prod/",
      },
      {
        does: "A backup of etcd-cloud-operator",
        line: "snapshot import --etcd-version 3.5.21 s3://eco-backups/i-0ccf_0000000000557690_etcd.backup ./backups/",
      },
    ],
  },
  async ({ args, flags }, io) => {
    const { "etcd-version": etcdVersion, "cluster-id": clusterId } = flags;
    if (etcdVersion !== undefined && !/^3\.\d{1,2}\.\d{1,3}$/.test(etcdVersion))
      throw new UsageError(`--etcd-version ${etcdVersion}: must be a release such as 3.5.21`);
    if (clusterId !== undefined && !/^[0-9a-f]{1,16}$/.test(clusterId))
      throw new UsageError(`--cluster-id ${clusterId}: must be lower-case hexadecimal, as etcdctl prints it`);
    const source = await locationOf(args.snapshot, flags, io);
    const target = await locationOf(args.to, flags, io);
    const entry = await entryOf(source, io);
    try {
      const manifest = await withProgress(io, "Importing", async (progress) =>
        importSnapshot({
          from: source.store,
          entry,
          to: target.store,
          name: target.name,
          etcdVersion,
          clusterId,
          random: io.random,
          signal: io.signal,
          progress: (done) => progress.update(done, entry.size),
        }),
      );
      const uri = `${target.store.uri}${manifest.object}`;
      const text = () => snapshotLines(uri, manifest).join("\n");
      io.stdout.write(await formatted({ data: { uri, ...manifest }, text }, flags.output));
    } catch (error) {
      if (error instanceof ImportRefused) throw new CommandError(EXIT.usage, error.message, { cause: error });
      throw error;
    }
  },
);
