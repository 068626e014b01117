/**
 * Processes of a simulated machine. A command `…/<version>/etcd --config-file=<file>` is an etcd of the model;
 * it outlives whoever started it, writes its log to the disk, and is known by pid and start time.
 */
import { ModelTls, type PlaneFiles } from "./model-tls.ts";
import type {
  Processes,
  ProcessExit,
  ProcessIdentity,
  RunningProcess,
  SpawnRequest,
} from "../../src/seams/processes.ts";
import type { Server, ServerEnd } from "../models/etcd/server.ts";
import type { EtcdWorld } from "../models/etcd/world.ts";
import type { ModelDisk } from "./model-disk.ts";

interface Child extends ProcessIdentity {
  readonly args: readonly string[];
  server: Server | undefined;
  readonly exit: Promise<ProcessExit>;
  ended: boolean;
  /** Stopped before its etcd was there to be frozen. */
  frozen: boolean;
}

const CONFIG = "--config-file=";

export class ModelProcesses {
  readonly #children = new Map<number, Child>();
  readonly #world: EtcdWorld;
  readonly tls = new ModelTls();
  readonly #disk: ModelDisk;
  #pids = 1000;
  /** A process is about to start. */
  onStart: (configText: string, dataDir: string) => void = () => {};
  /** Members whose processes receive slowly, by name. */
  readonly slow = new Set<string>();

  constructor(world: EtcdWorld, disk: ModelDisk) {
    this.#world = world;
    this.#disk = disk;
  }

  /** The view that one controller has; `self` is its own process. */
  seenBy(self: ProcessIdentity, isAlive: (identity: ProcessIdentity) => boolean): Processes {
    return {
      spawn: (request) => Promise.resolve(this.#spawn(request)),
      adopt: (identity) => Promise.resolve(this.#adopt(identity)),
      find: (argument) => Promise.resolve(this.#find(argument)),
      isAlive: (identity) => Promise.resolve(this.#living(identity) !== undefined || isAlive(identity)),
      self: () => Promise.resolve(self),
    };
  }

  nextPid(): number {
    return ++this.#pids;
  }

  /** The running etcd of a member, by its name. */
  server(name: string): Server | undefined {
    return this.#world.network.all().find((server) => server.config.name === name);
  }

  #spawn(request: SpawnRequest): RunningProcess {
    const pid = this.nextPid();
    let resolveExit: (exit: ProcessExit) => void = () => {};
    const exit = new Promise<ProcessExit>((resolve) => (resolveExit = resolve));
    const startTime = `t${this.#world.scheduler.now}/${pid}`;
    const child: Child = {
      pid,
      startTime,
      args: request.args,
      server: undefined,
      exit,
      ended: false,
      frozen: false,
    };
    this.#children.set(pid, child);
    const configFile = request.args.find((arg) => arg.startsWith(CONFIG))?.slice(CONFIG.length) ?? "";
    const given = this.#disk.text(configFile) ?? "";
    const [, keyFile] = /priv-key=([^,"]+)/.exec(given) ?? [];
    const tokenKey = keyFile === undefined ? undefined : this.#disk.text(keyFile);
    const configText = keyFile !== undefined && !tokenKey ? given.replace(keyFile, "") : given;
    this.onStart(configText, dataDirOf(configText));
    child.server = this.#world.start({
      key: `${pid}`,
      version: request.command.split("/").at(-2) ?? "",
      configText,
      print: (line) => this.#disk.append(request.log, line),
      onEnd: (end) => {
        child.ended = true;
        resolveExit(toExit(end));
      },
    });
    if (child.server) child.server.tokenKey = tokenKey;
    if (child.server) this.tls.started(child.server, this.#filesOf(configText));
    if (child.server && this.slow.has(child.server.config.name)) child.server.speed = 0.1;
    return this.#running(child);
  }

  /** The files that its configuration names. */
  #filesOf(configText: string): Readonly<Record<"client" | "peer", PlaneFiles>> {
    const config = JSON.parse(configText) as Readonly<Record<string, Readonly<Record<string, string>>>>;
    const of = (section: string): PlaneFiles => {
      const { "cert-file": pem = "", "trusted-ca-file": ca = "" } = config[section] ?? {};
      return { trusted: this.#disk.text(ca), shown: () => this.#disk.text(pem) };
    };
    return { client: of("client-transport-security"), peer: of("peer-transport-security") };
  }

  #running(child: Child): RunningProcess {
    const { pid, startTime, exit } = child;
    return {
      pid,
      startTime,
      exit,
      signal: (signal) => {
        if (child.ended) return false;
        const { server } = child;
        if (!server) return true;
        if (signal === "SIGSTOP") this.#world.freeze(server);
        else if (signal === "SIGCONT") this.#world.thaw(server);
        else this.#world.signal(server, signal);
        return true;
      },
    };
  }

  #living(identity: ProcessIdentity): Child | undefined {
    const child = this.#children.get(identity.pid);
    return child && !child.ended && child.startTime === identity.startTime ? child : undefined;
  }

  /** Not our child: that it ended is all one can know. */
  #adopt(identity: ProcessIdentity): RunningProcess | undefined {
    const child = this.#living(identity);
    return child && { ...this.#running(child), exit: child.exit.then(() => ({})) };
  }

  #find(argument: string): ProcessIdentity[] {
    return [...this.#children.values()]
      .filter((child) => !child.ended && child.args.includes(argument))
      .map(({ pid, startTime }) => ({ pid, startTime }));
  }
}

function toExit(end: ServerEnd): ProcessExit {
  return end.kind === "exited" ? { code: end.code } : { signal: end.signal };
}

function dataDirOf(configText: string): string {
  const found = /"data-dir":\s*"([^"]+)"/.exec(configText);
  return found?.[1] ?? "";
}
