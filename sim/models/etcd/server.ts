/**
 * One etcd process: what it was started with, what it holds open, and how it ended. All behaviour that
 * involves others is in `network.ts` (who reaches whom), `raft.ts` and the calls.
 */
import type { Scheduled } from "../../engine/scheduler.ts";
import { minorNumber } from "../../../src/core/version/version.ts";
import type { ServerConfig } from "./config.ts";
import type { DataDir } from "./data-dir.ts";
import type { Member } from "./state.ts";

export type ServerEnd =
  | { readonly kind: "exited"; readonly code: number }
  | { readonly kind: "signalled"; readonly signal: string };

/** `booting`: its ports are bound, nothing is answered yet. */
export type ServerPhase = "booting" | "running" | "ended";

export interface ServerStart {
  /** Tells one process from another, for ever. */
  readonly key: string;
  readonly version: string;
  readonly configText: string;
  /** Each line it prints. */
  readonly print: (line: string) => void;
  readonly onEnd: (end: ServerEnd) => void;
}

export class Server {
  readonly start: ServerStart;
  readonly version: string;
  readonly minor: number;
  readonly config: ServerConfig;
  phase: ServerPhase = "booting";
  frozen = false;
  readonly bootedAt: number;
  /** Set once it runs. */
  #dir: DataDir | undefined;
  /** The members it was told of before its own log says anything (joiners). */
  introduced: readonly Member[] = [];
  /** Answers clients: it has published itself, for which it needs a leader. */
  serving = false;
  published = false;
  /** Holds all the leader has; commits reach it at once. */
  synced = false;
  /** Below 1: it receives slower. */
  speed = 1;
  /** The last leader it heard. */
  leaderID = "0";
  /** What it signs auth tokens with, as it was in its file at the start (R53); undefined: tokens of type Simple. */
  tokenKey: string | undefined;
  /** What it had applied when it started: tokens of type Simple that were given by then it does not know any more. */
  bootIndex = 0;
  delivery: Scheduled | undefined;
  readonly timers: Scheduled[] = [];
  /** Since when it has been connected to each other process, by key. */
  readonly activeSince = new Map<string, number>();
  /** Processes that it is connected to, by key. */
  readonly linked = new Set<string>();
  /** Processes that it counts as lost although it is connected to them, until a connection breaks (R19). */
  readonly doubts = new Set<string>();

  constructor(start: ServerStart, config: ServerConfig, now: number) {
    this.start = start;
    this.version = start.version;
    this.minor = minorNumber(start.version);
    this.config = config;
    this.bootedAt = now;
  }

  /** From now on it counts a process as lost that it is connected to. */
  doubt(other: Server): void {
    this.doubts.add(other.key);
    this.activeSince.delete(other.key);
  }

  get key(): string {
    return this.start.key;
  }

  get dir(): DataDir {
    if (this.#dir === undefined) throw new Error(`${this.config.name} has not opened its data directory yet`);
    return this.#dir;
  }

  open(dir: DataDir): void {
    this.#dir = dir;
    this.bootIndex = dir.log.length;
    dir.state.compactions = [];
  }

  get id(): string {
    return this.dir.memberID;
  }

  get runs(): boolean {
    return this.phase === "running";
  }

  /** The members it knows, as its peers would hear from it. */
  knownMembers(): readonly Member[] {
    const applied = this.dir.state.members;
    return applied.size > 0 ? [...applied.values()] : this.introduced;
  }

  get isLearner(): boolean {
    return this.knownMembers().find((member) => member.id === this.id)?.isLearner ?? false;
  }

  /** A line as etcd's zap logger prints it. */
  log(level: "info" | "warn" | "error" | "fatal" | "panic", msg: string, error?: string): void {
    this.start.print(JSON.stringify(error === undefined ? { level, msg } : { level, msg, error }));
  }
}
