/** `quorate snapshot verify`: reads a snapshot to its end, and restores it into a scratch etcd if asked to. */
import { mkdtemp, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { ensureEtcd } from "../../../etcd/install/ensure.ts";
import { EtcdutlError } from "../../../etcd/etcdutl.ts";
import { minorOf } from "../../../core/version/version.ts";
import { exactVersion, findPin } from "../../../etcd/versions.ts";
import { systemDisk } from "../../../seams/disk.ts";
import { systemProcesses } from "../../../seams/processes.ts";
import type { Manifest } from "../../../snapshot/manifest.ts";
import { checkSnapshot, hasNoHash, SnapshotReader, type Decryption } from "../../../snapshot/read.ts";
import type { SnapshotFacts } from "../../../snapshot/inspect.ts";
import type { RestoreCheck } from "../../../snapshot/restore-check.ts";
import { SNAPSHOT_NAME } from "../../../snapshot/scratch.ts";
import { FileStore } from "../../../snapshot/store/file.ts";
import type { Location } from "../../../snapshot/location.ts";
import { CommandError, EXIT } from "../../exit.ts";
import { UsageError, type CliIo } from "../../io.ts";
import { formatted } from "../../output.ts";
import { factsLines, restoreLines } from "../../screen/snapshots.ts";
import {
  decryptionOf,
  entryOf,
  KEY_FLAGS,
  locationOf,
  SNAPSHOT,
  snapshotVerb,
  STORE_FLAGS,
} from "./flags.ts";
import { withProgress, type Progress } from "./progress.ts";

export const verb = snapshotVerb(
  {
    name: "snapshot verify",
    summary: "check that a snapshot is whole, and that it can be restored",
    about:
      "Reads all of it: the hash at its end, the structure of its database, and what its manifest says. With --restore it is also restored with the etcdutl of its own minor version into a scratch etcd on loopback, whose revision, keys and hash are compared; the time that takes is what a restore takes at least. The scratch needs as much disk as three times the snapshot.",
    arguments: [SNAPSHOT],
    flags: {
      restore: { kind: "switch", help: "restore it into a scratch etcd and compare" },
      "etcd-version": {
        kind: "text",
        value: "version",
        help: "etcd for --restore (default: that of the manifest)",
      },
      "scratch-dir": {
        kind: "text",
        value: "directory",
        help: "where to restore it (default: the system's temporary directory)",
      },
      ...KEY_FLAGS,
      ...STORE_FLAGS,
    },
    groups: ["output"],
    examples: [
      {
        does: "Read it to its end",
        line: "snapshot verify s3://backups/prod/etcd-53a6-20261116T234756Z-fb81.db",
      },
      {
        does: "Restore it, too",
        line: "snapshot verify --restore ./backups/etcd-53a6-20261116T234756Z-fb81.db",
      },
    ],
  },
  async ({ args, flags }, io) => {
    const { store, name } = await locationOf(args.snapshot, flags, io);
    const { manifest, size } = await entryOf({ store, name }, io);
    const decryption = await decryptionOf(flags, io);
    const { signal } = io;
    if (!flags.restore && (flags["etcd-version"] !== undefined || flags["scratch-dir"] !== undefined))
      throw new UsageError("--etcd-version and --scratch-dir need --restore");
    const read = { store, name, manifest, ...decryption, signal };
    const checked = await withProgress(io, "Reading", async (progress) => {
      const update = (done: number) => progress.update(done, manifest?.size ?? size);
      if (!flags.restore) return { facts: await checkSnapshot({ ...read, progress: update }) };
      return await byRestoring(
        { ...read, progress: update, version: flags["etcd-version"], scratch: flags["scratch-dir"] },
        io,
        progress,
      );
    });
    const { facts, restored } = checked;
    const uri = `${store.uri}${name}`;
    const text = () =>
      [
        ...factsLines(uri, facts),
        ...(restored ? restoreLines(restored) : []),
        manifest
          ? "Verified: it is whole and matches its manifest."
          : hasNoHash({ name, manifest })
            ? "Verified: the structure of its database is sound; a backup of etcd-cloud-operator has no hash and no manifest to compare with."
            : "Verified: it is whole; it has no manifest to compare with.",
      ].join("\n");
    io.stdout.write(
      await formatted({ data: { uri, ...facts, ...(restored && { restored }) }, text }, flags.output),
    );
  },
);

interface Request extends Location, Decryption {
  readonly manifest: Manifest | undefined;
  readonly signal: AbortSignal;
  readonly progress: (done: number) => void;
  readonly version: string | undefined;
  readonly scratch: string | undefined;
}

async function byRestoring(
  request: Request,
  io: CliIo,
  progress: Progress,
): Promise<{ facts: SnapshotFacts; restored?: RestoreCheck }> {
  const parent = path.resolve(io.cwd, request.scratch ?? os.tmpdir());
  const scratch = await mkdtemp(path.join(parent, "quorate-verify-"));
  try {
    const reader = new SnapshotReader(request);
    const files = new FileStore(scratch, io.random);
    await files.put(SNAPSHOT_NAME, reader, { signal: request.signal, ifAbsent: true });
    progress.end();
    const { facts } = reader;
    if (facts === undefined) throw new Error("the snapshot was not read to its end");
    const version = versionFor(request, facts);
    const etcd = await ensureEtcd(version, {
      env: io.env,
      clock: io.clock,
      signal: request.signal,
      progress: ({ text }) => void io.stderr.write(`etcd ${version}: ${text}\n`),
    });
    io.stderr.write(`Restoring with etcdutl ${version}\n`);
    const [{ checkByRestoring }, { createPki }] = await Promise.all([
      import("../../../snapshot/restore-check.ts"),
      import("../../../pki/issue.ts"),
    ]);
    const restored = await checkByRestoring({
      directory: scratch,
      etcd,
      database: facts.database,
      hashKv: request.manifest?.hashKv,
      pki: createPki(io.clock, io.random),
      world: { processes: systemProcesses, disk: systemDisk, clock: io.clock },
      env: io.env,
      signal: request.signal,
    });
    return { facts, restored };
  } catch (error) {
    if (error instanceof EtcdutlError) throw new CommandError(EXIT.failed, error.message, { cause: error });
    throw error;
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

/** The newest supported patch of the minor version that wrote it; 3.5 leaves no trace of its version in the data. */
function versionFor({ version, manifest }: Request, { database }: SnapshotFacts): string {
  const wanted = version ?? manifest?.etcdVersion ?? database.storageVersion;
  if (wanted === undefined)
    throw new UsageError(
      "this file does not say which etcd wrote it (3.5 or older): pass --etcd-version, such as 3.5",
    );
  if (version === undefined && findPin(wanted) === undefined) return exactVersion(minorOf(wanted)) ?? wanted;
  return exactVersion(wanted) ?? wanted;
}
