/** `quorate snapshot copy`: from one store to another, with manifests. */
import { listSnapshots } from "../../../snapshot/catalog.ts";
import { copySnapshot, type Copied } from "../../../snapshot/copy.ts";
import { UsageError } from "../../io.ts";
import { entryOf, locationOf, snapshotVerb, STORE_FLAGS } from "./flags.ts";
import { withProgress } from "./progress.ts";

const OUTCOMES: Readonly<Record<Copied, string>> = {
  copied: "copied",
  there: "there already",
  unverified:
    "copied, but not verified: it has no manifest, and no hash of etcd at its end that could be compared",
};

export const verb = snapshotVerb(
  {
    name: "snapshot copy",
    summary: "copy a snapshot, or all of a folder, to another place",
    about:
      "Objects are copied byte for byte and compared with their manifests on the way, those without one with the hash that etcd put at their end; where there is neither, the output says so; what is encrypted stays so, and no key is needed. What is there already is left alone, so a copy that was interrupted can be repeated. Flags of S3 apply to both places.",
    arguments: [
      { name: "from", help: "a snapshot, or a folder with a slash at the end", complete: "file" },
      { name: "to", help: "a folder with a slash at the end, or a name for one snapshot", complete: "file" },
    ],
    flags: STORE_FLAGS,
    examples: [
      {
        does: "All snapshots of a bucket, into a directory",
        line: "snapshot copy s3://backups/prod/ ./backups/",
      },
      {
        does: "A file that etcdctl wrote, into a bucket",
        line: "snapshot copy ./snapshot.db s3://backups/prod/",
      },
    ],
  },
  async ({ args, flags }, io) => {
    const from = await locationOf(args.from, flags, io);
    const to = await locationOf(args.to, flags, io);
    const { signal } = io;
    if (from.name === "" && to.name !== "")
      throw new UsageError(`${args.from} is a folder, so the target must be one too: ${args.to}/`);
    const entries =
      from.name === ""
        ? (await listSnapshots(from.store, "", signal)).filter(({ state }) => state === "complete")
        : [await entryOf(from, io)];
    for (const entry of entries) {
      const name = to.name === "" ? entry.name : to.name;
      const done = await withProgress(io, `Copying ${entry.name}`, async (progress) =>
        copySnapshot({
          from: from.store,
          entry,
          to: to.store,
          name,
          signal,
          progress: (bytes) => progress.update(bytes, entry.size),
        }),
      );
      io.stdout.write(`${to.store.uri}${name}: ${OUTCOMES[done]}\n`);
    }
    if (entries.length === 0)
      io.stderr.write(`${from.store.uri} holds no complete snapshot; nothing was copied\n`);
  },
);
