/** `quorate snapshot get`: one snapshot as a plain etcd file, checked on its way. */
import path from "node:path";
import { SnapshotReader } from "../../../snapshot/read.ts";
import { FileStore } from "../../../snapshot/store/file.ts";
import { formatted } from "../../output.ts";
import { factsLines } from "../../screen/snapshots.ts";
import {
  decryptionOf,
  entryOf,
  KEY_FLAGS,
  locationOf,
  SNAPSHOT,
  snapshotVerb,
  STORE_FLAGS,
} from "./flags.ts";
import { withProgress } from "./progress.ts";

export const verb = snapshotVerb(
  {
    name: "snapshot get",
    summary: "fetch a snapshot as a plain file that etcdutl restores",
    about:
      "It is decrypted, decompressed, and checked against the hash at its end and its manifest; the file appears only if all of it is right. An existing file is never overwritten.",
    arguments: [SNAPSHOT, { name: "file", help: "where to write it", complete: "file" }],
    flags: {
      "no-manifest": { kind: "switch", help: "ignore the manifest" },
      ...KEY_FLAGS,
      ...STORE_FLAGS,
    },
    groups: ["output"],
    examples: [
      {
        does: "Fetch one, then restore it with etcdutl",
        line: "snapshot get s3://backups/prod/etcd-53a6-20261116T234756Z-fb81.db ./snapshot.db",
      },
    ],
  },
  async ({ args, flags }, io) => {
    const { store, name } = await locationOf(args.snapshot, flags, io);
    const { manifest, size } = await entryOf({ store, name }, io, { ignoreManifest: flags["no-manifest"] });
    const decryption = await decryptionOf(flags, io);
    const file = path.resolve(io.cwd, args.file);
    const facts = await withProgress(io, "Fetching", async (progress) => {
      const { signal } = io;
      const of = manifest?.size ?? size;
      const reader = new SnapshotReader({
        store,
        name,
        manifest,
        ...decryption,
        signal,
        progress: (done) => progress.update(done, of),
      });
      const target = new FileStore(path.dirname(file), io.random);
      await target.put(path.basename(file), reader, { signal, ifAbsent: true });
      return reader.facts;
    });
    if (facts === undefined) return;
    const text = () => factsLines(file, facts).join("\n");
    io.stdout.write(await formatted({ data: { file, ...facts }, text }, flags.output));
  },
);
