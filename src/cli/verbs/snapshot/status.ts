/** `quorate snapshot status`: what one snapshot holds. */
import { checkSnapshot } from "../../../snapshot/read.ts";
import { formatted } from "../../output.ts";
import { factsLines, snapshotLines } from "../../screen/snapshots.ts";
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
    name: "snapshot status",
    summary: "show revision, keys and size of a snapshot, as etcdutl would",
    about:
      "With a manifest, it is the manifest's word (verify reads the object itself); a plain file is read and checked. TOTAL KEYS counts the keys that exist, as etcdutl 3.6 and later do; TOTAL ENTRIES is what etcdutl 3.5 calls total keys: every entry of the database, old revisions included.",
    arguments: [SNAPSHOT],
    flags: {
      "no-manifest": { kind: "switch", help: "ignore the manifest and read the object" },
      ...KEY_FLAGS,
      ...STORE_FLAGS,
    },
    groups: ["output"],
    examples: [
      {
        does: "One in a bucket",
        line: "snapshot status s3://backups/prod/etcd-53a6-20261116T234756Z-fb81.db",
      },
      { does: "A file that etcdctl wrote", line: "snapshot status ./snapshot.db -o json" },
    ],
  },
  async ({ args, flags }, io) => {
    const { store, name } = await locationOf(args.snapshot, flags, io);
    const { manifest, size } = await entryOf({ store, name }, io, { ignoreManifest: flags["no-manifest"] });
    const uri = `${store.uri}${name}`;
    if (manifest !== undefined) {
      const text = () => snapshotLines(uri, manifest).join("\n");
      io.stdout.write(await formatted({ data: { uri, ...manifest }, text }, flags.output));
      return;
    }
    const decryption = await decryptionOf(flags, io);
    const facts = await withProgress(io, "Reading", async (progress) =>
      checkSnapshot({
        store,
        name,
        ...decryption,
        signal: io.signal,
        progress: (done) => progress.update(done, size),
      }),
    );
    const text = () => factsLines(uri, facts).join("\n");
    io.stdout.write(await formatted({ data: { uri, ...facts }, text }, flags.output));
  },
);
