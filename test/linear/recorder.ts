/**
 * Concurrent clients on a few hot keys, and the history of what they did. Each client does two things at a
 * time at a pace; what it does is drawn from a seed, when it happens is up to the machine.
 */
import { SeededRandom } from "../../sim/engine/random.ts";
import type { TlsCredentials } from "../../src/etcd/types.ts";
import type { Endpoint } from "../../src/seams/etcd-transport.ts";
import { WriteLog } from "../support/failed-writes.ts";
import type { Answer, History, Operation, Outcome, Request, Seen, Violation } from "./history.ts";
import { Session } from "./session.ts";
import { Watcher } from "./watcher.ts";

export interface RecorderOptions {
  readonly seed: number;
  readonly endpoints: readonly Endpoint[];
  readonly credentials?: TlsCredentials;
  readonly clients?: number;
  readonly keys?: number;
  /** A client begins something no more often than this, in each of its lanes. */
  readonly everyMs?: number;
  readonly timeoutMs?: number;
  /** Names the present life of a member's process. */
  readonly lifeOf: (member: string) => string;
}

const [CLIENTS, LANES, KEYS, EVERY_MS, TIMEOUT_MS] = [16, 2, 5, 40, 1_000];
/** Now and then somebody watches from a revision of the past on, for a while. */
const LATE_WATCH = { everyMs: 3_000, forMs: 2_500, back: 500 };
const CATCH_UP_MS = 20_000;
const FINAL_READ_MS = 30_000;

export class Recorder implements AsyncDisposable {
  readonly #options: RecorderOptions;
  readonly #keys: readonly string[];
  readonly #prefix: string;
  readonly #sessions: Session[] = [];
  readonly #operations: Operation[] = [];
  readonly #watchers: Watcher[] = [];
  readonly #stop = new AbortController();
  readonly #random: SeededRandom;
  readonly #violations: Violation[] = [];
  /** Why writes failed that did. */
  readonly writes = new WriteLog();
  #endpoints: readonly Endpoint[];
  #workers: Promise<void>[] = [];
  #base = 0;
  #next = 0;
  #beganAt = 0;
  #endedAt = 0;

  private constructor(options: RecorderOptions) {
    this.#options = options;
    this.#endpoints = options.endpoints;
    this.#random = new SeededRandom(options.seed);
    this.#keys = Array.from({ length: options.keys ?? KEYS }, (_, i) => `k${i + 1}`);
    this.#prefix = `linear/${options.seed}/`;
  }

  /** Begins; the first watch is from before the first operation on. */
  static async start(options: RecorderOptions): Promise<Recorder> {
    const recorder = new Recorder(options);
    const first = recorder.#session("final");
    const found = await first.perform({ kind: "range" });
    if (found.kind !== "answered") throw new Error(`the first read failed: ${found.why}`);
    if ([...(found.answer.seen ?? [])].some(([, seen]) => seen !== undefined))
      throw new Error(`${recorder.#prefix} is in use already`);
    recorder.#base = found.answer.revision;
    recorder.#beganAt = performance.now();
    recorder.#watch(recorder.#session("w1"), recorder.#base + 1);
    recorder.#workers.push(recorder.#lateWatches(recorder.#random.fork()));
    for (let i = 0; i < (options.clients ?? CLIENTS); i++) {
      const session = recorder.#session(`c${i + 1}`, i);
      for (let lane = 0; lane < LANES; lane++)
        recorder.#workers.push(recorder.#work(session, recorder.#random.fork()));
    }
    return recorder;
  }

  #session(name: string, rotation = 0): Session {
    const { credentials, timeoutMs = TIMEOUT_MS } = this.#options;
    const endpoints = rotate(this.#endpoints, rotation);
    const known = { name, prefix: this.#prefix, keys: this.#keys };
    const session = new Session({ ...known, endpoints, timeoutMs, log: this.writes });
    if (credentials) session.setCredentials(credentials);
    this.#sessions.push(session);
    return session;
  }

  /** The cluster changed, as an application would learn it. */
  setEndpoints(endpoints: readonly Endpoint[]): void {
    this.#endpoints = endpoints;
    for (const [i, session] of this.#sessions.entries()) session.client.setEndpoints(rotate(endpoints, i));
  }

  setCredentials(credentials: TlsCredentials): void {
    for (const session of this.#sessions) session.setCredentials(credentials);
  }

  /** Each may have one operation under way. */
  get lanes(): number {
    return LANES * (this.#options.clients ?? CLIENTS);
  }

  get keys(): readonly string[] {
    return this.#keys;
  }

  #watch(session: Session, start: number): Watcher {
    const watcher = new Watcher(session, this.#prefix, start);
    this.#watchers.push(watcher);
    return watcher;
  }

  async #lateWatches(random: SeededRandom): Promise<void> {
    const session = this.#session("w2", 1);
    while (!this.#stop.signal.aborted) {
      await pause(LATE_WATCH.everyMs, this.#stop.signal);
      const newest = this.#watchers[0]?.upTo ?? this.#base;
      const start = Math.max(this.#base + 1, newest - random.between(0, LATE_WATCH.back));
      const watcher = this.#watch(session, start);
      await pause(LATE_WATCH.forMs, this.#stop.signal);
      await watcher.stop();
    }
  }

  /** An operation that a test does itself, and says what it is to be recorded as. */
  async record(
    client: string,
    request: Request,
    work: (session: Session) => Promise<Answer>,
  ): Promise<Operation> {
    const session = this.#sessions.find(({ name }) => name === client) ?? this.#session(client);
    return await this.#recorded(session, request, async () => {
      try {
        return { kind: "answered", answer: await work(session) };
      } catch (error) {
        return { kind: "unknown", why: String(error) };
      }
    });
  }

  async #work(session: Session, random: SeededRandom): Promise<void> {
    const known = new Map<string, Seen>();
    const everyMs = this.#options.everyMs ?? EVERY_MS;
    while (!this.#stop.signal.aborted) {
      const began = performance.now();
      const request = this.#draw(random, known);
      const { outcome } = await this.#recorded(session, request, () => session.perform(request));
      if (outcome.kind === "answered")
        for (const [key, seen] of outcome.answer.seen ?? []) known.set(key, seen);
      const left = everyMs - (performance.now() - began);
      if (left > 0) await pause(left, this.#stop.signal);
    }
  }

  async #recorded(session: Session, request: Request, perform: () => Promise<Outcome>): Promise<Operation> {
    const id = ++this.#next;
    const member = request.kind === "stale-get" ? request.member : undefined;
    const life = member && this.#options.lifeOf(member);
    const call = performance.now();
    const outcome = await perform();
    const end = performance.now();
    const operation: Operation = {
      id,
      client: session.name,
      call,
      end,
      request,
      outcome,
      ...(member !== undefined && life === this.#options.lifeOf(member) && { life }),
    };
    this.#operations.push(operation);
    return operation;
  }

  #draw(random: SeededRandom, known: ReadonlyMap<string, Seen>): Request {
    const key = random.pick(this.#keys);
    // Also the number of operations so far: no value is written twice, whatever the seed draws.
    const value = `v${this.#next + 1}`;
    const mod = known.get(key)?.mod ?? 0;
    const chance = random.fraction();
    if (chance < 0.25) return { kind: "put", key, value };
    if (chance < 0.3) return { kind: "delete", key };
    if (chance < 0.5) return { kind: "txn", key, mod, writes: [{ key, value }] };
    if (chance < 0.56) {
      const other = random.pick(this.#keys.filter((one) => one !== key));
      const writes = [
        { key, value },
        { key: other, value: `${value}b` },
      ];
      return { kind: "txn", key, mod, writes };
    }
    if (chance < 0.64) return { kind: "range" };
    const member = chance < 0.76 ? random.pick(this.#endpoints).name : undefined;
    return member === undefined ? { kind: "get", key } : { kind: "stale-get", key, member };
  }

  /**
   * Ends the clients, reads everything once more and lets the watches catch up; with `progressMs` waits so
   * long for a progress notification.
   */
  async stop(
    progressMs = 0,
  ): Promise<{ history: History; violations: readonly Violation[]; durationMs: number }> {
    this.#stop.abort();
    await Promise.all(this.#workers);
    this.#workers = [];
    this.#endedAt ||= performance.now();
    await this.#finalRead();
    await this.#catchUp();
    await this.#idle(progressMs);
    for (const watcher of this.#watchers) {
      await watcher.stop();
      if (watcher.failure !== undefined)
        this.#violate(`the watch of ${watcher.record.client} failed: ${String(watcher.failure)}`);
    }
    const history: History = {
      keys: this.#keys,
      base: this.#base,
      operations: this.#operations,
      watches: this.#watchers.map(({ record }) => record),
    };
    return { history, violations: this.#violations, durationMs: this.#endedAt - this.#beganAt };
  }

  async #finalRead(): Promise<void> {
    const [session] = this.#sessions;
    if (session === undefined) return;
    const end = performance.now() + FINAL_READ_MS;
    for (;;) {
      const { outcome } = await this.#recorded(session, { kind: "range" }, () =>
        session.perform({ kind: "range" }),
      );
      if (outcome.kind === "answered") return;
      if (performance.now() > end) throw new Error(`the last read failed: ${outcome.why}`);
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }

  /** The newest revision that anybody saw a key of: a watch from the beginning owes it. */
  async #catchUp(): Promise<void> {
    const [first] = this.#watchers;
    const last = this.#operations.at(-1)?.outcome;
    if (first === undefined || last?.kind !== "answered") return;
    const owed = Math.max(0, ...[...(last.answer.seen ?? [])].map(([, seen]) => seen?.mod ?? 0));
    const end = performance.now() + CATCH_UP_MS;
    while (first.upTo < owed && first.failure === undefined) {
      if (performance.now() > end) {
        this.#violate(`the watch of ${first.record.client} stands at ${first.upTo}, the store at ${owed}`);
        return;
      }
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  /** etcd tells of its progress when there was nothing else to tell. */
  async #idle(ms: number): Promise<void> {
    const items = this.#watchers[0]?.record.items ?? [];
    const end = performance.now() + ms;
    while (items.at(-1)?.type !== "progress" && performance.now() < end)
      await new Promise((resolve) => setTimeout(resolve, 50));
  }

  #violate(message: string): void {
    this.#violations.push({ rule: "watch", message, operations: [], at: performance.now() });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await Promise.all(this.#workers);
    for (const watcher of this.#watchers) await watcher.stop();
    for (const session of this.#sessions) await session.close();
  }
}

/** Waits, or until the signal. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  await new Promise<void>((resolve) => {
    const timer = setTimeout(done, ms);
    function done() {
      clearTimeout(timer);
      signal.removeEventListener("abort", done);
      resolve();
    }
    signal.addEventListener("abort", done, { once: true });
  });
}

function rotate(endpoints: readonly Endpoint[], by: number): readonly Endpoint[] {
  const at = by % Math.max(1, endpoints.length);
  return [...endpoints.slice(at), ...endpoints.slice(0, at)];
}
