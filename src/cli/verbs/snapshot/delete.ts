/** `quorate snapshot delete`: deletes the objects of one snapshot from a store, by the ID that it was taken with. */
import { ChangeLogError } from "../../../snapshot/changes/errors.ts";
import { obsoleteChanges } from "../../../snapshot/changes/retain.ts";
import { leftoversOf } from "../../../snapshot/leftovers.ts";
import { findOwn, isOwn } from "../../../snapshot/own.ts";
import { manifestName } from "../../../snapshot/manifest.ts";
import { confirm } from "../../act/confirm.ts";
import { isStoreError, type Store } from "../../../snapshot/store/store.ts";
import { UsageError, type CliIo } from "../../io.ts";
import { FOLDER, locationOf, snapshotVerb, STORE_FLAGS } from "./flags.ts";
import { reporting, requireId, RESULT_FLAGS } from "./result-file.ts";

export const verb = snapshotVerb(
  {
    name: "snapshot delete",
    summary: "delete what was saved with an --id, from a store",
    about:
      "Deletes every object directly in the folder whose name begins with the ID that `snapshot save --id` was given, its manifest, and what killed attempts with this ID left. Of a change log in the folder, what lies before the oldest snapshot that is left goes too. Nothing else is touched. Deleting what is gone already succeeds.",
    arguments: [FOLDER],
    flags: { ...RESULT_FLAGS, ...STORE_FLAGS },
    groups: ["confirm"],
    examples: [
      {
        does: "One snapshot",
        line: "snapshot delete --id nightly-7f0c9a52 s3://backups/prod/",
      },
    ],
  },
  async ({ args, flags }, io) =>
    await reporting(flags["result-file"], io, async () => {
      if (flags.id === undefined) throw new UsageError("name the snapshot with --id");
      const id = requireId(flags.id, args.folder);
      const { store } = await locationOf(args.folder, flags, io, { folder: true });
      const own = await findOwn(store, id, io.signal);
      const leftovers = await leftoversOf(store, "", ({ of }) => isOwn(of, id), io.signal);
      const all = [...own, ...leftovers].map(({ name }) => name);
      // Where the result is read by a program, nobody can be asked.
      if (flags["result-file"] === undefined && all.length > 0)
        await confirm(io, flags, {
          change: `Delete ${all.join(", ")} in ${store.uri}`,
          risk: "it cannot be brought back",
        });
      for (const { name } of own) {
        await store.delete(name, io.signal);
        await store.delete(manifestName(name), io.signal);
        io.stderr.write(`Deleted ${store.uri}${name}\n`);
      }
      for (const { name } of leftovers) {
        await store.delete(name, io.signal);
        io.stderr.write(`Deleted ${store.uri}${name}\n`);
      }
      await deleteObsolete(store, io);
      return undefined;
    }),
);

/** A log that cannot be read or deleted keeps no snapshot from being deleted: the next deletion tries again. */
export async function deleteObsolete(store: Store, io: CliIo): Promise<void> {
  try {
    for (const name of await obsoleteChanges(store, io.signal)) {
      await store.delete(name, io.signal);
      io.stderr.write(`Deleted ${store.uri}${name}\n`);
    }
  } catch (error) {
    io.signal.throwIfAborted();
    if (!(error instanceof ChangeLogError) && !isStoreError(error)) throw error;
    io.stderr.write(
      `${error.message}; changes that no snapshot needs any more stay until the next snapshot is deleted\n`,
    );
  }
}
