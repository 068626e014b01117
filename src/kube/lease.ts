/**
 * Leader election on a Lease. Protects from two leaders: a leader counts its time from before it asked, a
 * candidate from after it saw, so the one has stopped before the other begins, however their clocks are set. A
 * check is no fence (H10): what must not happen twice needs a resourceVersion too, and a deadline within the term.
 */
import { hostname } from "node:os";
import type { Lease as LeaseObject, LeaseSpec } from "kubernetes-types/coordination/v1.d.ts";
import { sleep, type Clock } from "../seams/clock.ts";
import { hex, type Random } from "../seams/random.ts";
import { fraction } from "../seams/backoff.ts";
import type { CallOptions, KubeClient } from "./client.ts";
import { isReason } from "./errors.ts";
import { silent, textOf, type Log } from "./log.ts";
import { leases, type Ref } from "./resources.ts";
import { LEADS_FOR, Term, type Moment } from "./term.ts";

export interface LeaseOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly random: Random;
  readonly namespace: string;
  readonly name: string;
  /** Unique for each process that may hold the lease. */
  readonly identity: string;
  /** How long others wait for a holder that says nothing. */
  readonly durationMs?: number;
  /** How often the holder renews; candidates look four times as often. */
  readonly retryMs?: number;
  readonly onElected: (term: Term) => void;
  readonly onLost?: (term: Term, why: string) => void;
  readonly log?: Log;
}

/**
 * A look is one small read, and a holder that has ended says so in the Lease: nobody should be without an operator for
 * longer than this part of a renewal. A watch would tell sooner, but needs another right and can die without a word.
 */
const LOOKS = 4;

/** When to go on: somebody else wrote just now; another holds it; there is nothing to see before the next renewal. */
type Again = "at-once" | "soon" | "later";

/** Two processes on one host, and two lives of one Pod name, are different holders. */
export function uniqueIdentity(random: Random): string {
  return `${hostname()}_${hex(random, 8)}`;
}

export class Lease {
  readonly #options: Required<LeaseOptions>;
  readonly #ref: Ref & { namespace: string };
  readonly #ending = new AbortController();
  #running: Promise<void> | undefined;
  #stopping = false;
  #term: Term | undefined;
  /** The Lease as the server last gave it to us, for its resourceVersion. */
  #record: LeaseObject | undefined;
  /** Another's hold, and when we first saw it in this state. */
  #observed: { readonly state: string; readonly at: number } | undefined;

  constructor(options: LeaseOptions) {
    this.#options = { durationMs: 15_000, retryMs: 2_000, onLost: () => undefined, log: silent, ...options };
    this.#ref = { namespace: options.namespace, name: options.name };
    if (this.#options.retryMs * 3 > this.#options.durationMs)
      throw new RangeError("the lease duration must be at least three renewal intervals");
  }

  /** The term we lead in; undefined when another does, or nobody. */
  get term(): Term | undefined {
    return this.#term;
  }

  start(): void {
    this.#running ??= this.#run();
  }

  /**
   * Ends our term (its signal aborts and its check refuses), waits for `drained` while still renewing, so that
   * nobody begins before we have ended, then hands the lease over.
   */
  async stop(drained: () => Promise<void> = () => Promise.resolve()): Promise<void> {
    this.#stopping = true;
    this.#term?.end("the process is stopping");
    try {
      await drained();
    } finally {
      this.#ending.abort(new Error("stopped"));
      await this.#running;
      await this.#release();
    }
  }

  async #run(): Promise<void> {
    const { clock, random, retryMs, log } = this.#options;
    while (!this.#ending.signal.aborted) {
      let again: Again = "later";
      try {
        again = await this.#attempt();
      } catch (error) {
        if (this.#ending.signal.aborted) return;
        const level = isReason(error, "Conflict", "AlreadyExists") ? "info" : "warn";
        log(level, `lease ${this.#ref.name}: ${textOf(error)}`, { error });
        // Somebody else wrote: see who, before the time for it is up.
        again = isReason(error, "Conflict") && this.#record !== undefined ? "at-once" : "later";
        this.#record = undefined;
      }
      if (again === "at-once") continue;
      const periodMs = again === "soon" ? retryMs / LOOKS : retryMs;
      const waitMs = periodMs * (0.75 + fraction(random) / 4);
      await sleep(clock, waitMs, this.#ending.signal).catch(() => undefined);
    }
  }

  async #attempt(): Promise<Again> {
    // Before anything is asked: our time counts from here, others' from when they see it.
    const asked = this.#now();
    if (this.#term !== undefined && this.#record !== undefined) return await this.#take(this.#record, asked);
    const found = await this.#options.client.find(leases, this.#ref, this.#call());
    if (this.#stopping && this.#term === undefined) return "later";
    if (found === undefined) return await this.#create(asked);
    const holder = found.spec?.holderIdentity ?? "";
    if (holder === this.#options.identity || holder === "") return await this.#take(found, asked);
    this.#lose(`${holder} holds the lease now`);
    return this.#hasExpired(found) ? await this.#take(found, asked) : "soon";
  }

  /** By our own clock only: the holder has not stirred for as long as it said it would. */
  #hasExpired({ spec, metadata }: LeaseObject): boolean {
    const state = `${metadata?.uid} ${metadata?.resourceVersion}`;
    const now = this.#options.clock.monotonic();
    if (this.#observed?.state !== state) this.#observed = { state, at: now };
    const durationMs = (spec?.leaseDurationSeconds ?? 0) * 1_000 || this.#options.durationMs;
    return now - this.#observed.at > durationMs;
  }

  async #create(asked: Moment): Promise<"later"> {
    const { client } = this.#options;
    const metadata = { ...this.#ref };
    this.#hold(await client.create(leases, { metadata, spec: this.#spec(undefined) }, this.#call()), asked);
    return "later";
  }

  async #take(known: LeaseObject, asked: Moment): Promise<"later"> {
    const { client } = this.#options;
    const wanted = { ...known, spec: this.#spec(known.spec) };
    this.#hold(await client.replace(leases, wanted, this.#call()), asked);
    return "later";
  }

  #spec(before: LeaseSpec | undefined): LeaseSpec {
    const { identity, durationMs } = this.#options;
    const now = this.#microTime();
    const ours = before?.holderIdentity === identity;
    return {
      holderIdentity: identity,
      leaseDurationSeconds: Math.ceil(durationMs / 1_000),
      acquireTime: (ours ? before.acquireTime : undefined) ?? now,
      renewTime: now,
      leaseTransitions: (before?.leaseTransitions ?? 0) + (ours || before === undefined ? 0 : 1),
    };
  }

  /** The server has written our name. */
  #hold(record: LeaseObject, asked: Moment): void {
    const { clock, durationMs, onElected, log } = this.#options;
    this.#record = record;
    this.#observed = undefined;
    if (this.#term !== undefined) {
      this.#term.extend(asked);
      return;
    }
    const term = new Term(clock, durationMs * LEADS_FOR, asked, (why) => this.#lose(why));
    // The answer was so long on its way that the time is over already.
    if (term.remainingMs() <= 0) {
      term.end("the term ended before it began");
      return;
    }
    this.#term = term;
    if (this.#stopping) {
      term.end("the process is stopping");
      return;
    }
    log("info", `lease ${this.#ref.name}: became the leader (as ${this.#options.identity})`);
    this.#guarded(() => onElected(term));
  }

  #lose(why: string): void {
    const term = this.#term;
    if (term === undefined) return;
    this.#term = undefined;
    this.#record = undefined;
    term.end(why);
    this.#options.log("warn", `lease ${this.#ref.name}: lost leadership: ${why}`);
    this.#guarded(() => this.#options.onLost(term, why));
  }

  /** Hands over at once, if it is still ours; otherwise others just wait for its end. */
  async #release(): Promise<void> {
    const term = this.#term;
    this.#term = undefined;
    term?.end("the process is stopping");
    if (term === undefined || term.leftMs() <= 0) return;
    const { client, identity, retryMs, log } = this.#options;
    const call: CallOptions = { urgent: true, timeoutMs: retryMs };
    try {
      // Read again: a renewal that was cut off may have been written.
      const record = await client.get(leases, this.#ref, call);
      const { holderIdentity, ...spec } = record.spec ?? {};
      if (holderIdentity !== identity) return;
      await client.replace(leases, { ...record, spec: { ...spec, renewTime: this.#microTime() } }, call);
      log("info", `lease ${this.#ref.name}: released`);
    } catch (error) {
      this.#options.log("info", `lease ${this.#ref.name}: could not release it: ${textOf(error)}`, { error });
    }
  }

  #guarded(tell: () => void): void {
    try {
      tell();
    } catch (error) {
      this.#options.log("error", `lease ${this.#ref.name}: ${textOf(error)}`, { error });
    }
  }

  #call(): CallOptions {
    // Short: a call that hangs takes the time of two others.
    return { signal: this.#ending.signal, timeoutMs: this.#options.retryMs * 1.5, urgent: true };
  }

  #now(): Moment {
    return { monotonic: this.#options.clock.monotonic(), wall: this.#options.clock.now() };
  }

  /** Six digits after the point, as the API wants them. For people: nothing is decided by it. */
  #microTime(): string {
    return new Date(this.#options.clock.now()).toISOString().replace("Z", "000Z");
  }
}
