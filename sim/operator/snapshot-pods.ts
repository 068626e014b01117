/**
 * The processes that work for snapshots, and the store they write to: each takes a while and then does what the real
 * command does, unless the next fault says otherwise. They never overwrite, and find what an earlier one finished.
 */
import type { FollowReport } from "../../src/core/snapshots/follower-facts.ts";
import { writeResult, type SnapshotResult } from "../../src/snapshot/result.ts";
import type { Scheduler } from "../engine/scheduler.ts";
import type { Ending, Running, Start } from "../models/kube/nodes/hooks.ts";
import { items, json } from "../models/kube/object.ts";
import type { snapshotFaults } from "./deeds.ts";

/**
 * denied: the store refuses, which is definite. broken: it does not answer. silent: the snapshot is in the store, and
 * the process ends without a word. half: it is killed with an object in the store that has no manifest. hang: for ever.
 */
export type SnapshotFault = (typeof snapshotFaults)[number];

const TAKES_MS = 2_000;
const FETCH = "verify-fetch";
const COMPARE = "verify-compare";

interface Stored {
  readonly id: string;
  readonly whole: SnapshotResult | undefined;
}

export class SnapshotPods {
  readonly #scheduler: Scheduler;
  /** By name. */
  readonly store = new Map<string, Stored>();
  /** What befalls the next processes, in order. */
  readonly faults: SnapshotFault[] = [];
  /** How many are at work now, and how many ever were at once. */
  #active = 0;
  most = 0;
  started = 0;
  /** Objects in the store whose bytes were changed. */
  readonly damaged = new Set<string>();
  /** Which objects were fetched by a verification that has also compared them. */
  readonly verified: string[] = [];

  /** What befalls the next followers, in order. */
  readonly followFaults: "ends"[] = [];
  /** When those that save began, by their addresses. */
  readonly #saving = new Map<string, number>();
  /** By their addresses. */
  readonly #followers = new Map<string, string>();
  mostFollowers = 0;
  /** Whose data the processes say that it is. */
  clusterID = "abc";
  /** Why followers cannot go on, until another snapshot is taken. */
  needsBase: FollowReport["needs"];
  readonly clock: () => number;

  constructor(scheduler: Scheduler, clock: () => number) {
    this.#scheduler = scheduler;
    this.clock = clock;
  }

  /** Whole snapshots in the store. */
  get whole(): readonly string[] {
    return [...this.store].flatMap(([name, { whole }]) => (whole ? [name] : []));
  }

  start(start: Start): Running {
    const [container] = items(json(start.pod["spec"])["containers"]).map(json);
    const args = items(container?.["args"]).map(String);
    const fault = this.faults.shift();
    this.started++;
    const saves = args[1] === "save";
    if (saves) this.most = Math.max(this.most, ++this.#active);
    if (saves) this.#saving.set(start.ip, this.clock());
    let isOver = false;
    const over = () => {
      if (isOver) return;
      isOver = true;
      if (saves) this.#active--;
      this.#saving.delete(start.ip);
    };
    const end = (how: Parameters<Start["ended"]>[0]) => {
      if (isOver) return;
      over();
      start.ended(how);
    };
    if (fault !== "hang")
      this.#scheduler.after(TAKES_MS, () => {
        if (isOver) return;
        end(args[1] === COMPARE ? this.#compared(objectOf(start.pod), fault) : this.#done(args, fault));
      });
    return {
      stop: () => end({ exitCode: 143, reason: "Error" }),
      kill: over,
    };
  }

  /** A follower runs until it is stopped, and needs a snapshot to begin with. */
  follow(start: Start): Running {
    const fault = this.followFaults.shift();
    let isOver = false;
    const end = (how: Ending) => {
      if (isOver) return;
      isOver = true;
      this.#followers.delete(start.ip);
      start.ended(how);
    };
    if (fault === "ends")
      this.#scheduler.after(TAKES_MS, () =>
        end({
          exitCode: 4,
          reason: "Error",
          message: writeResult({ ok: false, reason: "StoreDenied", message: "the store said no" }),
        }),
      );
    else this.#followers.set(start.ip, start.pod.metadata.name);
    this.mostFollowers = Math.max(this.mostFollowers, this.#followers.size);
    return {
      stop: () => end({ exitCode: 0, reason: "Completed" }),
      kill: () => {
        isOver = true;
        this.#followers.delete(start.ip);
      },
    };
  }

  /** Names of the Pods that record changes now. */
  get followers(): readonly string[] {
    return [...this.#followers.values()];
  }

  /** What the process at this address tells. One that hangs has sent half of it. */
  report(ip: string): string | undefined {
    const began = this.#saving.get(ip);
    if (began !== undefined)
      return JSON.stringify({ done: Math.min(this.clock() - began, TAKES_MS / 2), of: TAKES_MS });
    if (!this.#followers.has(ip)) return undefined;
    const needs = this.needsBase ?? (this.whole.length === 0 ? "none" : undefined);
    const position = {
      clusterID: "abc",
      revision: 7 + this.whole.length,
      time: new Date(this.clock()).toISOString(),
    };
    return JSON.stringify(
      needs === undefined ? { state: "following", ...position } : { state: "awaits-base", needs },
    );
  }

  /** The first step of a verification, which reads the object to its end. */
  fetch(pod: Start["pod"]): Ending | undefined {
    const object = objectOf(pod);
    if (object === "") return this.#foundPoint();
    const failed = (reason: string, message: string) => ({
      exitCode: reason === "Damaged" ? 8 : 1,
      reason: "Error",
      message: writeResult({ ok: false, reason, message }),
    });
    if (this.store.get(object)?.whole === undefined) return failed("ObjectMissing", `${object} is gone`);
    if (this.damaged.has(object)) return failed("Damaged", `${object} is damaged`);
    return undefined;
  }

  /** Of a point in time: it needs a snapshot before it. */
  #foundPoint(): Ending | undefined {
    const message = writeResult({ ok: false, reason: "PointUnreachable", message: "nothing leads there" });
    return this.whole.length > 0 ? undefined : { exitCode: 2, reason: "Error", message };
  }

  #compared(object: string, fault: SnapshotFault | undefined): Ending {
    if (fault === "silent") return { exitCode: 0, reason: "Completed" };
    if (fault !== undefined) return { exitCode: 1, reason: "Error" };
    this.verified.push(object);
    const { revision = 0 } = this.store.get(object)?.whole ?? {};
    const verified = { rtoMs: 12_345, revision, totalKeys: 3, hashCompared: true };
    return { exitCode: 0, reason: "Completed", message: writeResult({ ok: true, verified }) };
  }

  #done(args: readonly string[], fault: SnapshotFault | undefined): Parameters<Start["ended"]>[0] {
    const id = args[args.indexOf("--id") + 1] ?? "";
    const failed = (reason: string, exitCode: number) => ({
      exitCode,
      reason: "Error",
      message: writeResult({ ok: false, reason, message: `the store said ${reason}` }),
    });
    if (fault === "denied") return failed("StoreDenied", 4);
    if (fault === "broken") return failed("StoreUnreachable", 3);
    const own = [...this.store].filter(([, stored]) => stored.id === id);
    if (args[1] === "delete") {
      for (const [name] of own) this.store.delete(name);
      return fault === "silent"
        ? { exitCode: 0, reason: "Completed" }
        : { exitCode: 0, reason: "Completed", message: writeResult({ ok: true }) };
    }
    const before = own.find(([, { whole }]) => whole !== undefined)?.[1].whole;
    const object = before?.object ?? `${id}-${this.started}.db`;
    const whole = before ?? { ...resultFor(object), clusterID: this.clusterID };
    this.store.set(object, { id, whole: fault === "half" ? undefined : whole });
    this.needsBase = undefined;
    if (fault === "half") return { exitCode: 137, reason: "OOMKilled" };
    if (fault === "silent") return { exitCode: 0, reason: "Completed" };
    return { exitCode: 0, reason: "Completed", message: writeResult({ ok: true, snapshot: whole }) };
  }
}

/** What a verification reads, as the arguments of its first step say. */
function objectOf(pod: Start["pod"]): string {
  const steps = items(json(pod["spec"])["initContainers"]).map((one) => items(json(one)["args"]).map(String));
  const uri = steps.find((args) => args[1] === FETCH)?.at(-1) ?? "";
  return uri.slice(uri.lastIndexOf("/") + 1);
}

export function resultFor(object: string): SnapshotResult {
  return {
    object,
    size: 20_512,
    storedSize: 20_512,
    sha256: "0".repeat(64),
    revision: 7,
    etcdVersion: "3.6.16",
    clusterID: "abc",
    takenFrom: "demo-1",
  };
}
