/**
 * Why writes failed under what a test did to a cluster: with the leader, or with the member, that they were sent to; or
 * on their way between two members. Anything else is a fault.
 */
import assert from "node:assert/strict";
import type { EtcdError } from "../../src/etcd/errors.ts";

export interface FailedWrites {
  /** A member that ends takes the requests along that it has not answered; those that were not sent go to another one. */
  readonly lost: readonly FailedWrite[];
  /**
   * What was between two members when the connection between them ended: etcd drops it, and answers the client only
   * when its own time is up. A test bounds them by the restarts and changes of URLs that it causes.
   */
  readonly dropped: readonly FailedWrite[];
  /** No restart and no change of leader explains them. */
  readonly unexplained: readonly FailedWrite[];
  /** When each leader but the first was heard of. */
  readonly leadersAt: readonly number[];
}

class FailedWrite {
  readonly error: EtcdError;
  readonly began: number;
  readonly ended: number;

  constructor(error: EtcdError, began: number, ended: number) {
    this.error = error;
    this.began = began;
    this.ended = ended;
  }

  toString(): string {
    return `${String(this.error)}, from ${Math.round(this.began)} to ${Math.round(this.ended)} ms`;
  }
}

/** etcd looks as far back from an election (twice its timeout) for writes that the former leader took along. */
const BEFORE_MS = 2_000;

/** Failures of one or more clients, and the terms that they were answered in: a new one is a new leader. */
export class WriteLog {
  readonly #failures: FailedWrite[] = [];
  /** When each term was heard of first. */
  readonly #terms = new Map<bigint, number>();

  answered(term: bigint, at: number): void {
    if (!this.#terms.has(term)) this.#terms.set(term, at);
  }

  failed(error: EtcdError, began: number, ended: number): void {
    this.#failures.push(new FailedWrite(error, began, ended));
  }

  get errors(): readonly EtcdError[] {
    return this.#failures.map(({ error }) => error);
  }

  get #leadersAt(): readonly number[] {
    return [...this.#terms.values()].slice(1);
  }

  get sorted(): FailedWrites {
    const isLost = (failure: FailedWrite) =>
      EXPLAINED.has(failure.error.kind) ||
      LOST.has(failure.error.said) ||
      (isTimedOut(failure) && this.#hadNewLeader(failure));
    const others = this.#failures.filter((failure) => !isLost(failure));
    return {
      lost: this.#failures.filter(isLost),
      dropped: others.filter(isTimedOut),
      unexplained: others.filter((failure) => !isTimedOut(failure)),
      leadersAt: this.#leadersAt,
    };
  }

  /**
   * etcd says so itself only where the newest leader is the one that was elected then: not of two that follow each other
   * while the write waits.
   */
  #hadNewLeader({ began, ended }: FailedWrite): boolean {
    return this.#leadersAt.some((at) => at >= began - BEFORE_MS && at <= ended);
  }
}

/** etcd said so, or the client gave up before. */
const isTimedOut = ({ error }: FailedWrite) =>
  error.said === "request timed out" || error.kind === "deadline";

/** No write failed but those that a restart, a change of leader or of a URL explains, and not many were dropped by it. */
export function assertExplained(told: FailedWrites, mostDropped: number, story: string): void {
  const leaders = `leaders since the first: ${told.leadersAt.map((at) => `${Math.round(at)} ms`).join(", ")}`;
  const [dropped, unexplained] = [told.dropped.map(String), told.unexplained.map(String)];
  assert.deepEqual(unexplained, [], [...unexplained, story].join("\n"));
  assert.ok(
    dropped.length <= mostDropped,
    [`${dropped.length} writes dropped`, ...dropped, leaders, story].join("\n"),
  );
}

const EXPLAINED: ReadonlySet<string> = new Set(["leader-changed", "no-leader", "server-stopped"]);
/** What a follower says of writes that were on their way to a leader that is none any more; etcd gives them no code. */
const LOST: ReadonlySet<string> = new Set([
  "raft proposal dropped",
  "request timed out, possibly due to previous leader failure",
  "request timed out, possibly due to connection lost",
]);
