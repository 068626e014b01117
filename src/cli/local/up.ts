/**
 * `quorate local up`: the controller of a local cluster, in the foreground. Makes the cluster if there is
 * none, runs and heals it, and stops its members when it is told to stop.
 */
import { API_VERSION } from "../../api/metadata.ts";
import { etcdPins } from "../../etcd/versions.ts";
import { checkManifest } from "../../local/change.ts";
import { Controller } from "../../local/controller.ts";
import { checkDirectory, createCluster, DirectoryRefused } from "../../local/create.ts";
import { thisMachine } from "../../local/machine.ts";
import { checkChange, operations, Refused, warningsOf, type Change } from "../../local/operations.ts";
import { serve } from "../../local/server.ts";
import { Store, type StoredCluster } from "../../local/store.ts";
import { liveSubject } from "../../local/subject.ts";
import { freeBytes } from "../../seams/disk.ts";
import { UsageError, type CliIo } from "../io.ts";
import { changeOptions, changeUsage, readChange } from "./change.ts";
import { haveEtcd } from "./installing.ts";
import { warn } from "./output.ts";
import { DEFAULT_NAME, exactly, parse, placeOf, type Place } from "./place.ts";
import { socketPath } from "./socket.ts";
import { createView } from "./view.ts";
import { ending } from "./usage.ts";

export const summary = "run a cluster on this machine, in the foreground; Ctrl-C stops it";
export const usage = (
  command: string,
): string => `Usage: ${command} local up [-f <file>] [--replicas <n>] [--version <v>] [options]

Runs an etcd cluster as processes on this machine, with TLS, and repairs it. The next \`up\` reuses
its data. Without -f it starts the existing cluster, or creates one of three members.

While it runs, from another terminal: ${command} local status, kill, wipe, scale, upgrade, plan, why, …

Options:
${changeUsage}
${ending(command, ["Three members in the foreground, with the newest etcd 3.6", "up --version 3.6"], ["A second cluster beside it, of one member", "up --name test --replicas 1"], ["The cluster of a manifest", "up -f cluster.yaml"])}`;

const BYTES_PER_MEMBER = 160 * 1024 ** 2;

export async function run(args: string[], io: CliIo): Promise<number> {
  const { values, positionals } = parse(args, changeOptions);
  exactly(positionals);
  const given = await readChange(values, io);
  const place = placeOf(values, io, given.name);
  if (values.name !== undefined && given.name !== undefined && values.name !== given.name) {
    throw new UsageError(
      `--name ${values.name}: the manifest names the cluster ${given.name}; use one of the two names in both places`,
    );
  }
  const machine = thisMachine(io);
  const { disk, clock, processes } = machine.seams;
  await checkDirectory(place.layout, disk);
  const store = new Store(place.layout, machine.seams);
  const stored = await store.cluster();
  const checked = checkWanted(given.change, stored, values.name);
  if (!stored) await checkRoom(place, checked.spec.replicas);
  const etcd = await haveEtcd(checked.spec.version, io);
  warn(io, warningsOf(checked));

  await disk.makeDirectory(place.layout.dir);
  const socket = await socketPath(place.layout.dir, io.env["XDG_RUNTIME_DIR"]);
  const stop = new AbortController();
  io.signal.addEventListener("abort", () => stop.abort(), { once: true });
  if (io.signal.aborted) stop.abort();
  const self = { pid: (await processes.self()).pid, since: clock.now() };
  const controller = await Controller.open({
    ...machine,
    layout: place.layout,
    installed: [etcd],
    socket,
    // The last pass of a deleted cluster has nothing left to show.
    onPass: () =>
      void view.refresh().catch((error: unknown) => (deleted(error) ? undefined : view.trouble(error))),
    onStep: (entry) => view.step(entry),
    onTrouble: (error) => view.trouble(error),
  });
  const subject = liveSubject(controller, place.layout, machine, self, () => stop.abort());
  const view = createView(io, place, etcd, () => operations.status(subject));
  let door: { close(): Promise<void> } | undefined;
  let end: "stopped" | "gone" = "stopped";
  try {
    if (!stored) await createCluster(place.layout, checked, machine.seams);
    else if (given.change) await operations.apply(subject, given.change);
    door = await serve(socket, subject, { disk, clock: io.clock });
    view.begin();
    end = await controller.run(stop.signal);
  } finally {
    await door?.close();
    view.stopping();
    await controller.close({ stopMembers: true });
    await disk.remove(socket);
    view.end(end);
  }
  return 0;
}

function checkWanted(change: Change | undefined, stored: StoredCluster | undefined, name?: string) {
  if (stored) {
    const wanted = checkChange(stored, change ?? {});
    return name === undefined || name === stored.name
      ? wanted
      : checkManifest(
          { apiVersion: API_VERSION, kind: "EtcdCluster", metadata: { name }, spec: stored.spec },
          stored,
        );
  }
  if (change && "manifest" in change) return checkManifest(change.manifest, undefined);
  const fields = change ?? {};
  return checkManifest(
    {
      apiVersion: API_VERSION,
      kind: "EtcdCluster",
      metadata: { name: name ?? DEFAULT_NAME },
      spec: { version: defaultVersion(), replicas: 3, ...fields },
    },
    undefined,
  );
}

/** etcd allots two segments of its write-ahead log at once; on a full disk it would end in its first second. */
async function checkRoom({ layout: { dir } }: Place, replicas: number): Promise<void> {
  const [free, needed] = [await freeBytes(dir), replicas * BYTES_PER_MEMBER];
  if (free >= needed) return;
  const mib = (bytes: number) => `${Math.floor(bytes / 1024 ** 2)} MiB`;
  throw new DirectoryRefused(
    `--dir ${dir}: not enough disk space (${mib(free)} free, ${replicas} members need about ${mib(needed)} to start). Free some space, or use a --dir on another disk`,
  );
}

function defaultVersion(): string {
  return etcdPins.find((pin) => pin.role === "newest" && pin.version.startsWith("3.6."))?.version ?? "3.6.16";
}

function deleted(error: unknown): boolean {
  return error instanceof Refused;
}
