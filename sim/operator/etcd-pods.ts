/**
 * The etcd of each Pod: a process of the model etcd, started with the configuration that is mounted from the
 * member's Secret, on the disk that is behind its volume, at the address of its Pod.
 */
import type { RestoreFault, RestoreRecipe } from "../../src/api/bootstrap.ts";
import {
  ANNOTATIONS,
  ETCD_CONTAINER,
  LABELS,
  RESTORE_CONTAINERS,
  VERIFY_CONTAINERS,
  FOLLOW_CONTAINER,
} from "../../src/operator/names.ts";
import { SNAPSHOT_CONTAINER } from "../../src/operator/render/snapshot-job.ts";
import { FILES, PATHS } from "../../src/operator/render/config.ts";
import { RESTORE_FLAG } from "../../src/operator/render/restore-flag.ts";
import { ERASE_CONTAINER, ERASE_MOUNT, ERASE_VOLUME } from "../../src/operator/render/erase-pod.ts";
import { VOLUMES } from "../../src/operator/render/volumes.ts";
import { ERASE_REFUSED } from "../../src/recovery/erase.ts";
import { writeResult } from "../../src/snapshot/result.ts";
import { RestoreError } from "../../src/snapshot/restore-error.ts";
import { writeFailure } from "../../src/snapshot/stage.ts";
import { isValidAt } from "../machine/model-pki.ts";
import { ModelTls, type PlaneFiles } from "../machine/model-tls.ts";
import type { DataDir, DataDirs } from "../models/etcd/data-dir.ts";
import { restoredAs, STORED, type Saved } from "../models/etcd/restored.ts";
import type { Server, ServerEnd } from "../models/etcd/server.ts";
import type { EtcdWorld } from "../models/etcd/world.ts";
import type { Ending, Hooks, Running, Start } from "../models/kube/nodes/hooks.ts";
import { items, json } from "../models/kube/object.ts";
import type { FetchPods } from "./fetch-pods.ts";
import type { RecoveryPods } from "./recovery-pods.ts";
import type { SnapshotPods } from "./snapshot-pods.ts";

export type EraseFault = "refused" | "failed" | "hang";

/** Pods that work for a cluster and are no members. */
export interface HelperPods {
  readonly snapshots: SnapshotPods;
  readonly recovery: RecoveryPods;
  readonly fetches: FetchPods;
}

/** The nodes, and what the clock of each shows. */
export interface PodClocks {
  readonly names: readonly string[];
  readonly now: (node: string) => number;
}

/** A kubelet keeps the last of it. */
const LOG_LINES = 20;

/** Directories of etcd on the disks of the cluster. */
export class Disks implements DataDirs {
  readonly #dirs = new Map<string, DataDir>();
  readonly #full = new Set<string>();
  onData: (dir: DataDir) => void = () => {};
  /** A disk with data is gone for ever. */
  onLoss: (dir: DataDir) => void = () => {};

  read(path: string): DataDir | undefined {
    return this.#dirs.get(path);
  }

  write(path: string, dir: DataDir): void {
    this.#dirs.set(path, dir);
    this.onData(dir);
  }

  isFull(path: string): boolean {
    return this.#full.has(path);
  }

  fill(disk: string): void {
    this.#full.add(pathOn(disk));
  }

  free(): void {
    this.#full.clear();
  }

  /** Which disks hold data. */
  get paths(): readonly string[] {
    return [...this.#dirs.keys()];
  }

  of(disk: string): DataDir | undefined {
    return this.#dirs.get(pathOn(disk));
  }

  wipe(disk: string): void {
    this.#dirs.delete(pathOn(disk));
  }

  /** What was taken for wiped is found again, as it was. */
  putBack(disk: string, dir: DataDir): void {
    this.#dirs.set(pathOn(disk), dir);
  }

  /** An older snapshot of the disk is restored in place: its log has only `length` entries. */
  rollBack(disk: string, length: number): void {
    const dir = this.of(disk);
    if (dir) this.#dirs.set(pathOn(disk), dir.olderCopy(length));
  }

  gone(disk: string): void {
    const dir = this.of(disk);
    if (!dir) return;
    this.onLoss(dir);
    this.wipe(disk);
  }
}

const pathOn = (disk: string) => `${disk}/data`;

/** A peer that was refused tries again. */
const HANDSHAKE_MS = 1_000;

export class EtcdPods implements Hooks {
  readonly #world: EtcdWorld;
  readonly #disks: Disks;
  readonly #clocks: () => PodClocks;
  readonly #helpers: HelperPods | undefined;
  readonly #nodes = new WeakMap<Server, string>();
  /** Files as its kubelet has written them by now, and CAs as they were at the start. */
  readonly tls = new ModelTls();
  /** Processes whose certificate peers do not take now, and the nodes by whose clocks they do not. */
  readonly #refused = new Map<Server, ReadonlySet<string>>();
  #started = 0;
  onProcess: (configText: string, hasData: boolean) => void = () => {};
  /** How soon a kubelet starts a process again that ended for the first time. */
  restartMs = 500;
  /** Members whose processes receive slowly. */
  readonly slow = new Set<string>();
  /** What keeps snapshots from being fetched. */
  snapshotFault: RestoreFault | undefined;
  /** Which etcd is in an image that is pinned by its digest. */
  readonly digests = new Map<string, string>();

  constructor(world: EtcdWorld, disks: Disks, clocks: () => PodClocks, helpers?: HelperPods) {
    this.#helpers = helpers;
    this.#world = world;
    this.#clocks = clocks;
    this.#disks = disks;
  }

  /** The process of a member that runs now. */
  server(member: string): Server | undefined {
    return this.#world.network.all().find((server) => server.config.name === member);
  }

  nodeOf(server: Server): string | undefined {
    return this.#nodes.get(server);
  }

  hasImage(image: string): boolean {
    return !image.includes("nowhere");
  }

  onDiskGone(disk: string): void {
    this.#helpers?.fetches.gone(disk);
    this.#disks.gone(disk);
  }

  /** What befalls processes that delete a directory: each failure once, the others for good. */
  readonly eraseFaults: EraseFault[] = [];

  /** Does at once what the real command does. */
  #erase(start: Start): Running {
    const { pod, disks } = start;
    const [container] = items(json(pod["spec"])["containers"]).map(json);
    const below = String(items(container?.["args"])[2]).slice(ERASE_MOUNT.length);
    const [fault] = this.eraseFaults;
    if (fault === "failed") this.eraseFaults.shift();
    const refusal = { ok: false, reason: ERASE_REFUSED, message: "it was not deleted: a test" } as const;
    if (fault === undefined) this.#disks.gone(`${disks[ERASE_VOLUME]}${below}`);
    if (fault === "refused") start.ended({ exitCode: 1, reason: "Error", message: writeResult(refusal) });
    else if (fault === "failed") start.ended({ exitCode: 1, reason: "Error" });
    else if (fault === undefined) start.ended({ exitCode: 0, reason: "Completed" });
    return { stop: () => start.ended({ exitCode: 143, reason: "Error" }), kill: () => {} };
  }

  onStart(start: Start): Running | undefined {
    if (start.container === SNAPSHOT_CONTAINER) return this.#helpers?.snapshots.start(start);
    if (start.container === FOLLOW_CONTAINER) return this.#helpers?.snapshots.follow(start);
    if (start.container === ERASE_CONTAINER) return this.#erase(start);
    const recovers = this.#helpers?.recovery.start(start) ?? this.#helpers?.fetches.start(start);
    if (recovers) return recovers;
    if (start.container !== ETCD_CONTAINER) return undefined;
    const disk = start.disks[VOLUMES.data] ?? "";
    // In its container it has an address and a file system of its own.
    const files = start.files(VOLUMES.config);
    const given = files[FILES.config] ?? "";
    const [keyFile = ""] = /auth-token-\d+\.key/.exec(given) ?? [];
    const tokenKey = files[keyFile];
    const placed = given.replaceAll("0.0.0.0", start.ip).replaceAll(PATHS.dataDir, pathOn(disk));
    const configText = tokenKey ? placed : placed.replace(`${PATHS.configDir}/${keyFile || "none"}`, "");
    this.onProcess(configText, this.#disks.of(disk) !== undefined);
    const lines: string[] = [];
    const server = this.#world.start({
      key: `${start.pod.metadata.name}/${++this.#started}`,
      version: this.#versionOf(start),
      configText,
      print: (line) => {
        lines.push(line);
        if (lines.length > LOG_LINES) lines.shift();
      },
      onEnd: (end) => start.ended(endingOf(end, lines)),
    });
    if (server) this.#nodes.set(server, start.node);
    if (server) server.tokenKey = tokenKey;
    if (server) this.tls.started(server, filesOf(start));
    if (server) this.#shakeHands(server, () => start.files(VOLUMES.config)[FILES.peerPem]);
    if (server && this.slow.has(server.config.name)) server.speed = 0.1;
    return this.#running(server);
  }

  /** The init containers of a recovery, and of a member that starts from a snapshot. */
  onInit(start: Omit<Start, "ended">): Ending | undefined {
    const { pod, container, disks } = start;
    const failed = this.#helpers?.recovery.init(start);
    if (failed) return failed;
    if (json(pod.metadata["labels"])[LABELS.snapshotUID] !== undefined)
      return container === VERIFY_CONTAINERS.fetch ? this.#helpers?.snapshots.fetch(pod) : undefined;
    const flag = json(pod.metadata["annotations"])[ANNOTATIONS.restore];
    // With it every command ends at once.
    if (flag === RESTORE_FLAG.done) return undefined;
    // What is on a volume already needs no store.
    const isInStore = disks["snapshots"] === undefined;
    if (container === RESTORE_CONTAINERS.stage && this.snapshotFault !== undefined && isInStore) {
      const failure = new RestoreError(this.snapshotFault, "no snapshot");
      return { exitCode: 1, message: writeFailure(failure) };
    }
    const disk = disks[VOLUMES.data] ?? "";
    if (container === RESTORE_CONTAINERS.place && this.#disks.of(disk) === undefined) {
      const saved = this.#snapshotOf(pod, disks);
      if (!saved) return { exitCode: 1, message: writeFailure(new RestoreError("not-found", "no snapshot")) };
      const { bump, ...member } = restoredMember(pod);
      this.#disks.write(pathOn(disk), restoredAs(member, saved, bump));
    }
    return undefined;
  }

  /** What a recovery or a restore in place left on a volume, or what every store of a simulation has. */
  #snapshotOf(pod: Start["pod"], disks: Start["disks"]): Saved | undefined {
    const disk = disks["snapshots"];
    if (disk === undefined) return STORED;
    const stage = items(json(pod["spec"])["initContainers"]).find(
      ({ name }) => name === RESTORE_CONTAINERS.stage,
    );
    const text = items(stage?.["env"]).find(({ name }) => name === "QUORATE_RESTORE")?.["value"];
    const { pvc, file } = (JSON.parse(String(text)) as RestoreRecipe).source;
    const path = pvc?.path ?? file?.path.split("/").at(-1) ?? "";
    return this.#helpers?.recovery.snapshotAt(disk, path) ?? this.#helpers?.fetches.snapshotAt(disk, path);
  }

  /**
   * By the date of the certificate of either, and the clock of the other's node: looked at when a process begins, and
   * again until all take it. Connections that are there outlast a clock that is set.
   */
  isRefused(a: Server, b: Server): boolean {
    return this.#refused.size > 0 && (this.#refusesBy(a, b) || this.#refusesBy(b, a));
  }

  #refusesBy(one: Server, other: Server): boolean {
    return this.#refused.get(one)?.has(this.#nodes.get(other) ?? "") === true;
  }

  #shakeHands(server: Server, certificate: () => string | undefined): void {
    const text = certificate();
    const before = this.#refused.get(server)?.size ?? 0;
    this.#refused.delete(server);
    const { names, now } = this.#clocks();
    const refuses = (node: string) => text !== undefined && !isValidAt(text, now(node));
    const by = server.phase === "ended" ? [] : names.filter(refuses);
    if (by.length > 0) {
      this.#refused.set(server, new Set(by));
      this.#world.scheduler.after(HANDSHAKE_MS, () => this.#shakeHands(server, certificate));
    }
    if (by.length < before) this.#world.reconsiderAll();
  }

  #versionOf({ pod, container }: Start): string {
    const found = items(json(pod["spec"])["containers"]).find(({ name }) => name === container);
    const [, version, digest] = /(?::v([\d.]+)|@(sha256:.*))$/.exec(String(found?.["image"])) ?? [];
    return version ?? this.digests.get(digest ?? "") ?? "";
  }

  /** A process with a file that it cannot read ends by itself at once. */
  #running(server: Server | undefined): Running {
    const world = this.#world;
    if (!server) return { stop: () => undefined, kill: () => undefined };
    return {
      stop: () => world.signal(server, "SIGTERM"),
      kill: () => world.signal(server, "SIGKILL"),
      freeze: () => world.freeze(server),
      thaw: () => world.thaw(server),
      isReady: () =>
        server.serving && server.runs && !server.frozen && world.raftOf(server).leaderOf(server) !== "0",
      isAlive: () => !server.frozen,
    };
  }
}

function filesOf(start: Start): Readonly<Record<"client" | "peer", PlaneFiles>> {
  const files = () => start.files(VOLUMES.config);
  const of = (ca: string, pem: string) => ({ trusted: files()[ca], shown: () => files()[pem] });
  return { client: of(FILES.clientCA, FILES.serverPem), peer: of(FILES.peerCA, FILES.peerPem) };
}

/** Who etcdutl makes a directory for, as its arguments say. */
function restoredMember(pod: Start["pod"]): { name: string; peerURL: string; token: string; bump: number } {
  const found = items(json(pod["spec"])["initContainers"]).find(
    ({ name }) => name === RESTORE_CONTAINERS.etcdutl,
  );
  const args = (found?.["args"] as readonly string[] | undefined) ?? [];
  const valueOf = (flag: string) =>
    args.find((one) => one.startsWith(`--${flag}=`))?.slice(flag.length + 3) ?? "";
  return {
    name: valueOf("name"),
    peerURL: valueOf("initial-advertise-peer-urls"),
    token: valueOf("initial-cluster-token"),
    bump: Number(valueOf("bump-revision")),
  };
}

/** Runtimes tell a signal as 128 + its number. */
function endingOf(end: ServerEnd, lines: readonly string[]): Ending {
  const exitCode = end.kind === "exited" ? end.code : end.signal === "SIGKILL" ? 137 : 143;
  return { exitCode, ...(exitCode !== 0 && lines.length > 0 && { message: lines.join("\n") }) };
}
