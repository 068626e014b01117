/** `quorate snapshot save`: takes a snapshot of any etcd into a store. */
import type { ClusterLife } from "../../../core/snapshots/life.ts";
import { isEtcdError } from "../../../etcd/errors.ts";
import { NoMemberError } from "../../../snapshot/choose.ts";
import type { Manifest } from "../../../snapshot/manifest.ts";
import { findOwn } from "../../../snapshot/own.ts";
import { resultOf } from "../../../snapshot/result.ts";
import { saveSnapshot } from "../../../snapshot/save.ts";
import type { Location } from "../../../snapshot/location.ts";
import { CommandError, EXIT } from "../../exit.ts";
import { UsageError, type CliIo } from "../../io.ts";
import { formatted } from "../../output.ts";
import { snapshotLines } from "../../screen/snapshots.ts";
import { ETCD_FLAGS, openEtcd } from "./etcd.ts";
import { ENCODING_FLAGS, encodingOf } from "./encoding.ts";
import { FOLDER, KEY_FLAGS, locationOf, snapshotVerb, STORE_FLAGS } from "./flags.ts";
import type { Parsed, VerbData } from "../../verb-data.ts";
import { reportSave, withProgress } from "./progress.ts";
import { REPORT_FLAGS } from "./reporter.ts";
import { reporting, requireId, RESULT_FLAGS } from "./result-file.ts";
import { withTransfer } from "./transfer.ts";

const data = {
  name: "snapshot save",
  summary: "take a snapshot of an etcd cluster into a directory or an S3 bucket",
  about:
    "The freshest healthy voter that is not the leader sends it; without quorum, the survivor with the most data. It is streamed: no copy is made on this machine, and memory holds an index of its pages and keys, not the snapshot. A folder (with a slash at the end) gets a name with cluster and time; an existing object is never overwritten.",
  arguments: [
    {
      ...FOLDER,
      help: "s3://bucket/prefix/, file:///directory/ or a path; without a slash at the end, the name of the object",
    },
  ],
  flags: {
    ...ETCD_FLAGS,
    ...ENCODING_FLAGS,
    "hash-kv": {
      kind: "switch",
      help: "record the hash of the keys for verify --restore; the member reads all of its data for it",
    },
    "cluster-token": {
      kind: "text",
      value: "text",
      help: "the initial-cluster-token of the cluster, for the manifest: etcd does not tell it",
    },
    "cluster-life": {
      kind: "number",
      value: "n",
      help: "how often the cluster has begun, after restores in place and recoveries, for the manifest",
    },
    ...RESULT_FLAGS,
    ...REPORT_FLAGS,
    ...KEY_FLAGS,
    ...STORE_FLAGS,
  },
  groups: ["output"],
  examples: [
    {
      does: "Of any etcd, into a bucket",
      line: "snapshot save --endpoints https://10.0.0.1:2379 --cacert ca.pem --cert client.pem --key client-key.pem s3://backups/prod/",
    },
    { does: "Of a cluster on this machine, into a directory", line: "snapshot save --local ./backups/" },
  ],
} as const satisfies VerbData;

export const verb = snapshotVerb(data, async (parsed, io) => {
  const { args, flags } = parsed;
  await reporting(flags["result-file"], io, async () => {
    const id = flags.id === undefined ? undefined : requireId(flags.id, args.folder);
    const location = await locationOf(args.folder, flags, io);
    const { store, name } = location;
    const manifest = (id && (await finished(location, id, io))) || (await save(parsed, location, io));
    const folder = name.slice(0, name.lastIndexOf("/") + 1);
    const uri = `${store.uri}${folder}${manifest.object}`;
    io.stdout.write(
      await formatted(
        { data: { uri, ...manifest }, text: () => snapshotLines(uri, manifest).join("\n") },
        flags.output,
      ),
    );
    return { snapshot: resultOf(manifest.object, manifest) };
  });
});

/** What an earlier run of the same command has put into the store, whole. */
async function finished({ store }: Location, id: string, io: CliIo): Promise<Manifest | undefined> {
  const own = await findOwn(store, id, io.signal);
  const done = own.findLast(({ state, manifest }) => state === "complete" && manifest !== undefined);
  if (done) io.stderr.write(`Already taken: ${store.uri}${done.name}\n`);
  return done?.manifest;
}

function lifeOf(flags: Parsed<typeof data>["flags"]): ClusterLife | undefined {
  const { "cluster-token": token, "cluster-life": life } = flags;
  if (token === undefined && life === undefined) return undefined;
  if (token === undefined || life === undefined)
    throw new UsageError("--cluster-token and --cluster-life go together");
  return { token, life };
}

async function save({ flags }: Parsed<typeof data>, { store, name }: Location, io: CliIo): Promise<Manifest> {
  const encoding = await encodingOf(flags, io);
  const { client, close } = await openEtcd(flags, io);
  try {
    return await withTransfer(
      flags,
      io,
      async (tell) =>
        await withProgress(
          io,
          "Saving",
          async (progress) =>
            await saveSnapshot({
              client,
              store,
              name,
              id: flags.id,
              ...encoding,
              life: lifeOf(flags),
              hashKv: flags["hash-kv"],
              clock: io.clock,
              random: io.random,
              signal: io.signal,
              progress: (event) => {
                if (event.kind === "bytes") tell(event.done, event.of);
                reportSave(event, progress, io);
              },
            }),
        ),
    );
  } catch (error) {
    if (error instanceof NoMemberError || isEtcdError(error))
      throw new CommandError(EXIT.failed, error.message, { cause: error });
    throw error;
  } finally {
    await close();
  }
}
