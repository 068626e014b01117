/** `quorate snapshot ls`: what a store holds. */
import { listSnapshots } from "../../../snapshot/catalog.ts";
import { listLogs } from "../../../snapshot/changes/log.ts";
import { reachOf } from "../../../snapshot/changes/retain.ts";
import { leftoversOf } from "../../../snapshot/leftovers.ts";
import { commandOf } from "../../called.ts";
import { formatted, tableWidthOf } from "../../output.ts";
import { listLines, type ListedEntry } from "../../screen/snapshots.ts";
import { bytes } from "../../screen/words.ts";
import { FOLDER, locationOf, snapshotVerb, STORE_FLAGS } from "./flags.ts";

export const verb = snapshotVerb(
  {
    name: "snapshot ls",
    summary: "list the snapshots in a directory or an S3 bucket",
    about:
      "STATE is `complete` for a snapshot whose object fits its manifest, `plain` for a file without one (as etcdctl or etcd-cloud-operator writes it), `damaged` where object and manifest do not fit, and `orphan` for a manifest whose object is gone. CHANGES TO is the last revision to which a change log (`snapshot follow`) leads from a snapshot, and the time by which it was received: any point between them can be built with `snapshot build`.",
    arguments: [FOLDER],
    flags: STORE_FLAGS,
    groups: ["output"],
    examples: [{ does: "What a bucket holds", line: "snapshot ls s3://backups/prod/" }],
  },
  async ({ args, flags }, io) => {
    const { store } = await locationOf(args.folder, flags, io, { folder: true });
    const logs = await listLogs(store, io.signal);
    const entries = (await listSnapshots(store, "", io.signal)).map((entry): ListedEntry => {
      const { name, state, manifest } = entry;
      const log = logs.find(({ clusterId }) => clusterId === manifest?.clusterId);
      if (log === undefined || manifest === undefined || state !== "complete" || name.includes("/"))
        return entry;
      const reaches = reachOf(log, manifest);
      return reaches === undefined ? entry : { ...entry, reaches };
    });
    const data = entries.map((entry) => ({ uri: `${store.uri}${entry.name}`, ...entry }));
    io.stdout.write(
      await formatted(
        { data, text: () => listLines(entries, store.uri, tableWidthOf(io)).join("\n") },
        flags.output,
      ),
    );
    for (const { name, size } of await leftoversOf(store, "", () => true, io.signal))
      io.stderr.write(
        `${name} has ${bytes(size)} of a write that is under way or was killed; ${commandOf(io)} snapshot prune deletes it a day after its last byte\n`,
      );
  },
);
