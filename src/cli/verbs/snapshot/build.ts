/** `quorate snapshot build`: makes the snapshot of a revision or a time out of a snapshot and a change log. */
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { EtcdutlError } from "../../../etcd/etcdutl.ts";
import { ensureEtcd } from "../../../etcd/install/ensure.ts";
import { minorOf } from "../../../core/version/version.ts";
import { exactVersion, findPin } from "../../../etcd/versions.ts";
import { systemDisk } from "../../../seams/disk.ts";
import { systemProcesses } from "../../../seams/processes.ts";
import { listSnapshots } from "../../../snapshot/catalog.ts";
import type { BuildProgress } from "../../../snapshot/changes/build.ts";
import { findPoint, type Point, type Target } from "../../../snapshot/changes/point.ts";
import { findOwn } from "../../../snapshot/own.ts";
import { resultOf } from "../../../snapshot/result.ts";
import type { Store } from "../../../snapshot/store/store.ts";
import { CommandError, EXIT } from "../../exit.ts";
import type { Flags, ValuesOf } from "../../flag.ts";
import { UsageError, type CliIo } from "../../io.ts";
import { formatted } from "../../output.ts";
import { snapshotLines } from "../../screen/snapshots.ts";
import { ENCODING_FLAGS } from "./encoding.ts";
import { decryptionOf, FOLDER, KEY_FLAGS, locationOf, snapshotVerb, STORE_FLAGS } from "./flags.ts";
import { REPORT_FLAGS } from "./reporter.ts";
import { definitely, reporting, requireId, RESULT_FLAGS } from "./result-file.ts";
import { withTransfer } from "./transfer.ts";
import { withProgress, type Progress } from "./progress.ts";

/** Which point, of which cluster, and with which etcd. */
export const POINT_FLAGS = {
  "at-revision": { kind: "number", value: "revision", help: "the state at this revision" },
  "at-time": {
    kind: "text",
    value: "time",
    help: "the state received by this time, such as 2026-11-16T23:47:56Z",
  },
  "cluster-id": {
    kind: "text",
    value: "id",
    help: "of which cluster, where the folder has snapshots of several",
  },
  "etcd-version": {
    kind: "text",
    value: "version",
    help: "etcd to replay with, of the snapshot's minor version (default: that of its manifest)",
  },
} as const satisfies Flags;

/** Neither: the latest that there is. */
export function targetOf(flags: ValuesOf<typeof POINT_FLAGS>): Target {
  const target = { revision: revisionOf(flags["at-revision"]), time: timeOf(flags["at-time"]) };
  if (target.revision !== undefined && target.time !== undefined)
    throw new UsageError("--at-revision and --at-time exclude each other; give one of them");
  return target;
}

export const verb = snapshotVerb(
  {
    name: "snapshot build",
    summary: "make the snapshot of a revision or a time from a snapshot and the change log after it",
    about:
      "The newest snapshot before the point is restored into a scratch etcd on loopback, the recorded changes up to the point are replayed, and the result is written as an ordinary snapshot, with a manifest: restore it like any other, with any tool. A time means what `snapshot follow` had received by then. Without --at-revision and --at-time it is the latest recorded state. Revisions are the same as in the original. A gap, damage or another cluster's data ends it, and nothing is written. The scratch needs as much disk as three times the snapshot, and the changes.",
    arguments: [
      { ...FOLDER, help: "the folder with the snapshots and the change log" },
      {
        name: "target",
        help: "what to write: a name, or with a slash at its end a folder; as for `snapshot save`",
        complete: "file",
      },
    ],
    flags: {
      ...POINT_FLAGS,
      "scratch-dir": {
        kind: "text",
        value: "directory",
        help: "where to restore it (default: the system's temporary directory)",
      },
      ...RESULT_FLAGS,
      ...REPORT_FLAGS,
      ...ENCODING_FLAGS,
      ...KEY_FLAGS,
      ...STORE_FLAGS,
    },
    groups: ["output"],
    examples: [
      {
        does: "The state before a mistake",
        line: "snapshot build --at-time 2026-11-16T23:47:56Z s3://backups/prod/ ./before.db",
      },
      {
        does: "The state at a revision, beside the snapshots",
        line: "snapshot build --at-revision 48211 s3://backups/prod/ s3://backups/prod/",
      },
    ],
  },
  async ({ args, flags }, io) =>
    await reporting(flags["result-file"], io, async () => {
      const target = targetOf(flags);
      const decryption = await decryptionOf(flags, io);
      if (flags.encrypt && decryption.key === undefined)
        throw new UsageError("--encrypt needs a key: pass --encryption-key-file or set QUORATE_SNAPSHOT_KEY");
      const { store } = await locationOf(args.folder, flags, io, { folder: true });
      const to = await locationOf(args.target, flags, io);
      const { signal } = io;
      const own = flags.id === undefined ? [] : await findOwn(to.store, flags.id, signal);
      const done = own.findLast(({ state }) => state === "complete")?.manifest;
      if (done) return { snapshot: resultOf(done.object, done) };
      const clusterId = flags["cluster-id"]?.toLowerCase() ?? (await onlyCluster(store, io));
      const find = () => findPoint({ store, clusterId, target, ...decryption, signal });
      const point = await (flags["result-file"] === undefined ? find() : definitely(find));
      reportPoint(point, io);
      const etcd = await installed(point, flags["etcd-version"], io);
      const parent = path.resolve(io.cwd, flags["scratch-dir"] ?? os.tmpdir());
      const directory = await scratchIn(
        parent,
        flags.id === undefined ? undefined : requireId(flags.id, args.target),
      );
      try {
        const [{ buildSnapshot }, { createPki }] = await Promise.all([
          import("../../../snapshot/changes/build.ts"),
          import("../../../pki/issue.ts"),
        ]);
        const { manifest, received } = await withTransfer(
          flags,
          io,
          async (tell) =>
            await withProgress(io, "Reading", async (progress) =>
              buildSnapshot({
                ...decryption,
                store,
                point,
                etcd,
                directory,
                pki: createPki(io.clock, io.random),
                world: { processes: systemProcesses, disk: systemDisk, clock: io.clock },
                env: io.env,
                random: io.random,
                signal,
                to: {
                  ...to,
                  id: flags.id === undefined ? undefined : requireId(flags.id, args.target),
                  compression: flags.compress ? "zstd" : "none",
                  key: flags.encrypt ? decryption.key : undefined,
                },
                progress: (event) => {
                  if (event.kind === "reading") tell(event.done, event.of);
                  report(event, progress, io);
                },
              }),
            ),
        );
        const uri = `${to.store.uri}${to.name.slice(0, to.name.lastIndexOf("/") + 1)}${manifest.object}`;
        const text = () => snapshotLines(uri, manifest).join("\n");
        const data = { uri, ...manifest, ...(received !== undefined && { received }) };
        io.stdout.write(await formatted({ data, text }, flags.output));
        return { snapshot: resultOf(manifest.object, manifest) };
      } catch (error) {
        if (error instanceof EtcdutlError)
          throw new CommandError(EXIT.failed, error.message, { cause: error });
        throw error;
      } finally {
        await rm(directory, { recursive: true, force: true });
      }
    }),
);

function revisionOf(given: number | undefined): number | undefined {
  if (given !== undefined && (!Number.isSafeInteger(given) || given < 1))
    throw new UsageError(`--at-revision ${given}: a revision is a whole number of at least 1`);
  return given;
}

/** With its zone: the same text means another moment elsewhere. */
function timeOf(given: string | undefined): number | undefined {
  if (given === undefined) return undefined;
  const time = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)$/i.test(given)
    ? Date.parse(given)
    : Number.NaN;
  if (Number.isNaN(time))
    throw new UsageError(
      `--at-time ${given}: expected a time with its zone, such as 2026-11-16T23:47:56Z or 2026-11-17T00:47:56+01:00`,
    );
  return time;
}

export async function onlyCluster(store: Store, io: CliIo): Promise<string> {
  const entries = await listSnapshots(store, "", io.signal);
  const ids = new Set(
    entries.flatMap(({ name, state, manifest }) =>
      state === "complete" && manifest && !name.includes("/") ? [manifest.clusterId] : [],
    ),
  );
  const [id, ...others] = ids;
  if (id === undefined)
    throw new CommandError(EXIT.notFound, `${store.uri} holds no complete snapshot: take one first`);
  if (others.length > 0)
    throw new UsageError(
      `${store.uri} holds snapshots of ${ids.size} clusters (${[...ids].join(", ")}): name one with --cluster-id`,
    );
  return id;
}

async function installed(point: Point, given: string | undefined, io: CliIo) {
  const wrote = point.base.manifest.etcdVersion;
  if (given !== undefined && minorOf(exactVersion(given) ?? given) !== minorOf(wrote))
    throw new UsageError(
      `--etcd-version ${given}: etcd ${wrote} wrote ${point.base.name}, so use a version of ${minorOf(wrote)}`,
    );
  const wanted = given ?? (findPin(wrote) === undefined ? minorOf(wrote) : wrote);
  const version = exactVersion(wanted) ?? wanted;
  return await ensureEtcd(version, {
    env: io.env,
    clock: io.clock,
    signal: io.signal,
    progress: ({ text }) => void io.stderr.write(`etcd ${version}: ${text}\n`),
  });
}

function reportPoint({ revision, base, segments, away }: Point, io: CliIo): void {
  io.stderr.write(
    `Building revision ${revision} from ${base.name} (revision ${base.manifest.revision}) and ${segments.length} segments of the change log\n`,
  );
  if (away)
    io.stderr.write(
      `The change log was not followed from ${away.from} to ${away.to}: this is the state at ${away.from}, and changes in between count from their receipt on\n`,
    );
}

function report(event: BuildProgress, progress: Progress, io: CliIo): void {
  if (event.kind === "reading") progress.update(event.done, event.of);
  else if (event.kind === "saving") progress.update(event.done);
  else if (event.kind === "restoring") {
    progress.end();
    io.stderr.write("Restoring the snapshot into a scratch etcd\n");
  } else if (event.kind === "again") io.stderr.write(`${event.error.message} Starting over\n`);
  else progress.count(event.revision, "Replayed to revision");
}

/** With an ID it is always the same one: what a run that was killed has left goes with the next one. */
export async function scratchIn(parent: string, id: string | undefined): Promise<string> {
  const start = path.join(parent, "quorate-build-");
  if (id === undefined) return await mkdtemp(start);
  await rm(`${start}${id}`, { recursive: true, force: true });
  await mkdir(`${start}${id}`, { mode: 0o700 });
  return `${start}${id}`;
}
