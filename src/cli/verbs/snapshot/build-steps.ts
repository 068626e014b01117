/** `quorate snapshot build-fetch` and `build-replay`: the steps by which a Pod builds a point in time. */
import { EtcdutlError } from "../../../etcd/etcdutl.ts";
import { createPki } from "../../../pki/issue.ts";
import { systemDisk } from "../../../seams/disk.ts";
import { fetchForBuild, replayScratch } from "../../../snapshot/changes/build-steps.ts";
import { findOwn } from "../../../snapshot/own.ts";
import { resultOf } from "../../../snapshot/result.ts";
import { CommandError, EXIT } from "../../exit.ts";
import { UsageError } from "../../io.ts";
import { onlyCluster, POINT_FLAGS, targetOf } from "./build.ts";
import { ENCODING_FLAGS, encodingOf } from "./encoding.ts";
import { decryptionOf, FOLDER, KEY_FLAGS, locationOf, snapshotVerb, STORE_FLAGS } from "./flags.ts";
import { REPORT_FLAGS } from "./reporter.ts";
import { withTransfer } from "./transfer.ts";
import { definitely, reporting, requireId, RESULT_FLAGS } from "./result-file.ts";
import { scratchOf, STEP_FLAGS } from "./verify-steps.ts";

export const fetch = snapshotVerb(
  {
    name: "snapshot build-fetch",
    summary: "fetch the snapshot before a point in time onto a scratch volume",
    about:
      "The operator runs it in the Pod that builds an EtcdSnapshot of a point in time. The snapshot before the point is read to its end and checked; then it is there as <scratch>/snapshot.db, with certificates for the etcd that will run on it. Whatever else is in the directory is removed.",
    arguments: [FOLDER],
    flags: { ...STEP_FLAGS, ...REPORT_FLAGS, ...POINT_FLAGS, ...KEY_FLAGS, ...STORE_FLAGS },
    examples: [
      {
        does: "As the operator calls it",
        line: "snapshot build-fetch --at-revision 48211 --etcd-version 3.6.16 --scratch-dir /scratch --endpoint https://127.0.0.1:2379 s3://backups/prod/",
      },
    ],
  },
  async ({ args, flags }, io) =>
    await reporting(flags["result-file"], io, async () => {
      const scratch = scratchOf(flags, io);
      const { "etcd-version": etcdVersion } = flags;
      if (etcdVersion === undefined) throw new UsageError("--etcd-version is needed");
      const target = targetOf(flags);
      const { store } = await locationOf(args.folder, flags, io, { folder: true });
      const { clock, random, signal } = io;
      const options = {
        store,
        clusterId: flags["cluster-id"]?.toLowerCase() ?? (await onlyCluster(store, io)),
        target,
        ...(await decryptionOf(flags, io)),
        scratch,
        disk: systemDisk,
        pki: createPki(clock, random),
        random,
        etcdVersion,
        signal,
      };
      const point = await withTransfer(
        flags,
        io,
        async (tell) =>
          await definitely(() =>
            fetchForBuild({
              ...options,
              progress: (event) => {
                if (event.kind === "reading") tell(event.done, event.of);
              },
            }),
          ),
      );
      io.stdout.write(`Fetched ${point.base.name}, to build revision ${point.revision}.\n`);
      // The last step tells what was built.
      return undefined;
    }),
);

export const replay = snapshotVerb(
  {
    name: "snapshot build-replay",
    summary: "replay recorded changes into a scratch etcd, and save the result",
    about:
      "The operator runs it beside the scratch etcd. It waits until etcd answers, replays the changes up to the point that `build-fetch` has found, and saves an ordinary snapshot into the folder. If an earlier run with the same --id finished, its result is reused.",
    arguments: [FOLDER],
    flags: { ...STEP_FLAGS, id: RESULT_FLAGS.id, ...ENCODING_FLAGS, ...KEY_FLAGS, ...STORE_FLAGS },
    examples: [
      {
        does: "As the operator calls it",
        line: "snapshot build-replay --id demo-7f0c --scratch-dir /scratch --endpoint https://127.0.0.1:2379 s3://backups/prod/",
      },
    ],
  },
  async ({ args, flags }, io) =>
    await reporting(flags["result-file"], io, async () => {
      const scratch = scratchOf(flags, io);
      if (flags.id === undefined) throw new UsageError("--id is needed");
      const id = requireId(flags.id, args.folder);
      const encoding = await encodingOf(flags, io);
      const location = await locationOf(args.folder, flags, io, { folder: true });
      const { clock, random, signal } = io;
      const own = await findOwn(location.store, id, signal);
      const done = own.findLast(({ state }) => state === "complete")?.manifest;
      if (done) return { snapshot: resultOf(done.object, done) };
      try {
        const { manifest } = await replayScratch({
          store: location.store,
          ...(await decryptionOf(flags, io)),
          scratch,
          disk: systemDisk,
          clock,
          random,
          signal,
          to: { ...location, ...encoding, id },
        });
        io.stdout.write(`Built ${manifest.object} at revision ${manifest.revision}.\n`);
        return { snapshot: resultOf(manifest.object, manifest) };
      } catch (error) {
        if (error instanceof EtcdutlError)
          throw new CommandError(EXIT.failed, error.message, { cause: error });
        throw error;
      }
    }),
);
