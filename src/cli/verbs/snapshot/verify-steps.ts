/** `quorate snapshot verify-fetch` and `verify-compare`: the steps of a verification in a Pod; `verify-here`: all on one machine. */
import path from "node:path";
import { createPki } from "../../../pki/issue.ts";
import { ensureEtcd } from "../../../etcd/install/ensure.ts";
import { systemDisk } from "../../../seams/disk.ts";
import { systemProcesses } from "../../../seams/processes.ts";
import { compareScratch, fetchForVerification } from "../../../snapshot/verification.ts";
import { verifyHere } from "../../../snapshot/verify-here.ts";
import { UsageError, type CliIo } from "../../io.ts";
import type { Flags } from "../../flag.ts";
import { decryptionOf, KEY_FLAGS, locationOf, SNAPSHOT, snapshotVerb, STORE_FLAGS } from "./flags.ts";
import { REPORT_FLAGS } from "./reporter.ts";
import { reporting, RESULT_FLAGS } from "./result-file.ts";
import { withTransfer } from "./transfer.ts";

export const STEP_FLAGS = {
  "scratch-dir": { kind: "text", value: "directory", help: "the scratch volume" },
  endpoint: { kind: "text", value: "url", help: "client URL of the scratch etcd, with an IP address" },
  "result-file": RESULT_FLAGS["result-file"],
} as const satisfies Flags;

export const fetch = snapshotVerb(
  {
    name: "snapshot verify-fetch",
    summary: "fetch a snapshot onto a scratch volume, to be verified there",
    about:
      "The operator runs it in the Pod that verifies an EtcdSnapshot. The snapshot is read to its end, and compared with its manifest and with --sha256; then it is there as <scratch>/snapshot.db, with certificates for the etcd that will run on it. Whatever else is in the directory is removed.",
    arguments: [SNAPSHOT],
    flags: {
      ...STEP_FLAGS,
      ...REPORT_FLAGS,
      sha256: { kind: "text", value: "hash", help: "SHA-256 of the snapshot, as the EtcdSnapshot says" },
      ...KEY_FLAGS,
      ...STORE_FLAGS,
    },
    examples: [
      {
        does: "As the operator calls it",
        line: "snapshot verify-fetch --scratch-dir /scratch --endpoint https://127.0.0.1:2379 s3://backups/prod/demo-7f0c.db",
      },
    ],
  },
  async ({ args, flags }, io) =>
    await reporting(flags["result-file"], io, async () => {
      const scratch = scratchOf(flags, io);
      const from = await locationOf(args.snapshot, flags, io);
      const decryption = await decryptionOf(flags, io);
      const manifest = await withTransfer(
        flags,
        io,
        async (progress) =>
          await fetchForVerification({
            ...from,
            ...decryption,
            sha256: flags.sha256,
            scratch,
            disk: systemDisk,
            pki: createPki(io.clock, io.random),
            clock: io.clock,
            random: io.random,
            signal: io.signal,
            progress,
          }),
      );
      io.stdout.write(`Fetched ${manifest.object} at revision ${manifest.revision}.\n`);
      // The last step tells what was found.
      return undefined;
    }),
);

export const compare = snapshotVerb(
  {
    name: "snapshot verify-compare",
    summary: "compare a scratch etcd with the snapshot that it was restored from",
    about:
      "The operator runs it beside the scratch etcd. It waits until etcd answers, and compares revision, number of keys and hash with what was recorded.",
    arguments: [],
    flags: STEP_FLAGS,
    examples: [
      {
        does: "As the operator calls it",
        line: "snapshot verify-compare --scratch-dir /scratch --endpoint https://127.0.0.1:2379",
      },
    ],
  },
  async ({ flags }, io) =>
    await reporting(flags["result-file"], io, async () => {
      const { clock, signal } = io;
      const found = await compareScratch({ scratch: scratchOf(flags, io), disk: systemDisk, clock, signal });
      const { rtoMs, revision, totalKeys, hashCompared } = found;
      io.stdout.write(
        `Verified: revision ${revision}, ${totalKeys} keys${hashCompared ? ", and their hash" : ""}; restored in ${(rtoMs / 1_000).toFixed(1)} s.\n`,
      );
      return { verified: { rtoMs: Math.round(rtoMs), revision, totalKeys, hashCompared } };
    }),
);

export const here = snapshotVerb(
  {
    name: "snapshot verify-here",
    summary: "restore a snapshot into a scratch etcd on this machine, and compare",
    about:
      "The controller of `quorate local` runs it to verify an EtcdSnapshot: what `verify-fetch`, etcdutl, etcd and `verify-compare` do in a Pod. The scratch directory is removed in the end.",
    arguments: [SNAPSHOT],
    flags: {
      "scratch-dir": STEP_FLAGS["scratch-dir"],
      "result-file": RESULT_FLAGS["result-file"],
      ...REPORT_FLAGS,
      sha256: { kind: "text", value: "hash", help: "SHA-256 of the snapshot, as the EtcdSnapshot says" },
      "etcd-version": { kind: "text", value: "version", help: "etcd that wrote it" },
      ...KEY_FLAGS,
      ...STORE_FLAGS,
    },
    examples: [
      {
        does: "As the controller calls it",
        line: "snapshot verify-here --scratch-dir /tmp/scratch --etcd-version 3.6.16 s3://backups/prod/demo-7f0c.db",
      },
    ],
  },
  async ({ args, flags }, io) =>
    await reporting(flags["result-file"], io, async () => {
      const { "scratch-dir": directory, "etcd-version": version } = flags;
      if (directory === undefined || version === undefined)
        throw new UsageError("--scratch-dir and --etcd-version are needed");
      const { clock, random, signal, env } = io;
      const from = await locationOf(args.snapshot, flags, io);
      const decryption = await decryptionOf(flags, io);
      const etcd = await ensureEtcd(version, { env, clock, signal });
      const { rtoMs, revision, totalKeys, hashCompared } = await withTransfer(
        flags,
        io,
        async (progress) =>
          await verifyHere({
            ...from,
            ...decryption,
            sha256: flags.sha256,
            directory: path.resolve(io.cwd, directory),
            etcd,
            world: { processes: systemProcesses, disk: systemDisk, clock },
            pki: createPki(clock, random),
            env,
            clock,
            random,
            signal,
            progress,
          }),
      );
      return { verified: { rtoMs: Math.round(rtoMs), revision, totalKeys, hashCompared } };
    }),
);

export function scratchOf(
  flags: { readonly "scratch-dir": string | undefined; readonly endpoint: string | undefined },
  io: CliIo,
): { directory: string; clientURL: string } {
  const { "scratch-dir": directory, endpoint } = flags;
  if (directory === undefined || endpoint === undefined)
    throw new UsageError("--scratch-dir and --endpoint are needed");
  if (!URL.canParse(endpoint)) throw new UsageError(`--endpoint ${JSON.stringify(endpoint)} is not a URL`);
  return { directory: path.resolve(io.cwd, directory), clientURL: endpoint };
}
