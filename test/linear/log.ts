/**
 * What happened at which revision, from everything that anybody was reported: acknowledged writes, values that
 * were read, events of watches. A write whose outcome was unknown is in it when there is evidence of it.
 * Contradictions on the way are violations.
 */
import {
  describeOperation,
  writesOf,
  type History,
  type Operation,
  type Seen,
  type Violation,
} from "./history.ts";

export interface Commit {
  readonly revision: number;
  /** `undefined`: deleted. */
  readonly changes: ReadonlyMap<string, string | undefined>;
  /** Absent for a deletion that no known operation can have caused, which is a violation. */
  readonly operation: Operation | undefined;
}

export interface Log {
  /** By ascending revision. */
  readonly commits: readonly Commit[];
  /** The commit of each operation that is known to have happened. */
  readonly commitOf: ReadonlyMap<Operation, Commit>;
  /** Writes of unknown outcome for which there is no evidence either way. */
  readonly unresolved: readonly Operation[];
  readonly violations: readonly Violation[];
  /** The key as it was at a revision. */
  stateAt(key: string, revision: number): Seen;
  /** The value that a mod revision of a key stands for. */
  valueOf(key: string, mod: number): string | undefined;
}

export function logOf(history: History): Log {
  const builder = new LogBuilder(history);
  builder.acknowledged();
  builder.observed();
  builder.deletions();
  return builder.finish();
}

class LogBuilder {
  readonly #history: History;
  readonly #writers = new Map<string, Operation>();
  readonly #commits = new Map<number, Commit>();
  readonly #commitOf = new Map<Operation, Commit>();
  readonly #deletions: { key: string; revision: number; at: number }[] = [];
  readonly #violations: Violation[] = [];
  readonly #reported = new Set<string>();

  constructor(history: History) {
    this.#history = history;
    for (const operation of history.operations)
      for (const { value } of writesOf(operation.request)) {
        if (this.#writers.has(value)) throw new TypeError(`two operations write ${value}: not a history`);
        this.#writers.set(value, operation);
      }
  }

  acknowledged(): void {
    for (const operation of this.#history.operations) {
      const { outcome, request } = operation;
      if (outcome.kind !== "answered") continue;
      const { revision, succeeded, deleted } = outcome.answer;
      if (
        request.kind === "put" ||
        (request.kind === "txn" && succeeded === true && request.writes.length > 0)
      )
        this.#commit(operation, revision);
      if (request.kind === "delete" && deleted === true) this.#commit(operation, revision);
    }
  }

  /** Values that somebody saw: each names its write, and its mod revision is when that was. */
  observed(): void {
    for (const operation of this.#history.operations) {
      if (operation.outcome.kind !== "answered") continue;
      for (const [key, seen] of operation.outcome.answer.seen ?? [])
        this.#observe(key, seen, operation.end, describeOperation(operation), operation);
    }
    for (const { client, items } of this.#history.watches)
      for (const item of items)
        for (const { key, now, before, revision } of item.type === "events" ? item.events : []) {
          const by = `the watch of ${client}`;
          this.#observe(key, now, item.at, by);
          this.#observe(key, before?.seen, item.at, by);
          if (now === undefined) this.#deletions.push({ key, revision, at: item.at });
        }
  }

  #observe(key: string, seen: Seen, at: number, by: string, reader?: Operation): void {
    if (seen === undefined) return;
    const writer = this.#writers.get(seen.value);
    const readers = reader === undefined ? [] : [reader];
    const involved = [...(writer === undefined ? [] : [writer]), ...readers];
    if (
      writer === undefined ||
      !writesOf(writer.request).some((w) => w.key === key && w.value === seen.value)
    ) {
      this.#violate(
        "phantom write",
        `${by} saw ${seen.value} in ${key}, which nobody wrote there`,
        involved,
        at,
        key,
      );
      return;
    }
    const { outcome } = writer;
    const name = describeOperation(writer);
    const known = this.#commitOf.get(writer);
    if (outcome.kind === "refused")
      this.#violate(
        "phantom write",
        `${name} was refused (${outcome.why}) and ${by} saw it`,
        involved,
        at,
        key,
      );
    else if (known === undefined && outcome.kind === "answered")
      this.#violate(
        "phantom write",
        `${name} was answered that it wrote nothing, and ${by} saw it`,
        involved,
        at,
        key,
      );
    else if (known === undefined) this.#commit(writer, seen.mod);
    else if (known.revision !== seen.mod)
      this.#violate(
        "state",
        `${by} saw ${seen.value} of revision ${seen.mod}, and it was written at revision ${known.revision}`,
        involved,
        at,
        key,
      );
  }

  #commit(operation: Operation, revision: number): void {
    const { request } = operation;
    const other = this.#commits.get(revision);
    if (other !== undefined && other.operation !== operation) {
      const rival = other.operation;
      this.#violate(
        "state",
        `${describeOperation(operation)} and ${rival === undefined ? "a deletion" : describeOperation(rival)} both have revision ${revision}`,
        [operation, ...(rival === undefined ? [] : [rival])],
        operation.end,
      );
    }
    const changes = new Map<string, string | undefined>(
      request.kind === "delete"
        ? [[request.key, undefined]]
        : writesOf(request).map(({ key, value }) => [key, value]),
    );
    const commit: Commit = { revision, changes, operation };
    this.#commitOf.set(operation, commit);
    if (other === undefined) this.#commits.set(revision, commit);
  }

  /**
   * Deletions carry no value that names them: those that watches saw and nobody was reported belong to
   * deletes of unknown outcome, the earliest called first, since it can have been any of the later ones' turn
   * whenever it was theirs.
   */
  deletions(): void {
    const candidates = this.#history.operations
      .filter(({ request, outcome }) => request.kind === "delete" && outcome.kind === "unknown")
      .toSorted((a, b) => a.call - b.call);
    for (const { key, revision, at } of this.#deletions.toSorted((a, b) => a.revision - b.revision)) {
      const known = this.#commits.get(revision);
      if (known !== undefined) {
        const right = known.changes.has(key) && known.changes.get(key) === undefined;
        if (!right)
          this.#violate(
            "watch",
            `a watch saw ${key} deleted at revision ${revision}, which ${known.operation === undefined ? "was another deletion" : `was ${describeOperation(known.operation)}`}`,
            known.operation === undefined ? [] : [known.operation],
            at,
            key,
          );
        continue;
      }
      const found = candidates.findIndex(
        ({ request, call }) => request.kind === "delete" && request.key === key && call <= at,
      );
      const [operation] = found < 0 ? [] : candidates.splice(found, 1);
      if (operation !== undefined) this.#commit(operation, revision);
      else {
        this.#violate("phantom write", `${key} was deleted at revision ${revision}, by nobody`, [], at, key);
        this.#commits.set(revision, { revision, changes: new Map([[key, undefined]]), operation: undefined });
      }
    }
  }

  finish(): Log {
    const commits = [...this.#commits.values()].toSorted((a, b) => a.revision - b.revision);
    const states = statesOf(commits);
    const unresolved = this.#history.operations.filter(
      (operation) =>
        operation.outcome.kind === "unknown" &&
        (operation.request.kind === "put" ||
          operation.request.kind === "delete" ||
          operation.request.kind === "txn") &&
        !this.#commitOf.has(operation),
    );
    return {
      commits,
      commitOf: this.#commitOf,
      unresolved,
      violations: this.#violations,
      stateAt: (key, revision) => at(states.get(key) ?? [], revision)?.seen,
      valueOf: (key, mod) => {
        const found = at(states.get(key) ?? [], mod)?.seen;
        return found?.mod === mod ? found.value : undefined;
      },
    };
  }

  #violate(
    rule: Violation["rule"],
    message: string,
    involved: readonly Operation[],
    when: number,
    key?: string,
  ): void {
    // A phantom that is read a thousand times is one violation.
    const identity = `${rule} ${involved[0]?.id ?? message} ${key ?? ""}`;
    if (this.#reported.has(identity)) return;
    this.#reported.add(identity);
    const operations = involved.map(({ id }) => id);
    this.#violations.push({ rule, message, operations, at: when, ...(key !== undefined && { key }) });
  }
}

interface State {
  readonly revision: number;
  readonly seen: Seen;
}

/** Every state of every key, from the commits alone. */
function statesOf(commits: readonly Commit[]): Map<string, State[]> {
  const states = new Map<string, State[]>();
  for (const { revision, changes } of commits)
    for (const [key, value] of changes) {
      const list = states.get(key) ?? [];
      const before = list.at(-1)?.seen;
      const seen: Seen =
        value === undefined
          ? undefined
          : { value, mod: revision, create: before?.create ?? revision, version: (before?.version ?? 0) + 1 };
      list.push({ revision, seen });
      states.set(key, list);
    }
  return states;
}

/** The last state at or before the revision. */
function at(states: readonly State[], revision: number): State | undefined {
  let [low, high] = [0, states.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((states[middle]?.revision ?? 0) <= revision) low = middle + 1;
    else high = middle;
  }
  return states[low - 1];
}
