/**
 * The quick way to a verdict: etcd's revisions are a proposed order, and an order is easily checked. If
 * every operation fits the state at its revision and the order agrees with real time, the history is
 * linearizable, and more: it is so in the order that etcd's revisions tell.
 */
import {
  describeOperation,
  describeSeen,
  type Answer,
  type History,
  type Operation,
  type Seen,
  type Violation,
} from "./history.ts";
import type { Log } from "./log.ts";

export interface Contradiction extends Violation {
  /** The revision at which the state did not fit; absent when no unseen write could explain it. */
  readonly stateOf?: number;
}

/** Where an operation stands in the order of revisions. */
interface Place {
  readonly operation: Operation;
  readonly revision: number;
  readonly commits: boolean;
}

export function contradictions(history: History, log: Log): Contradiction[] {
  const places = placesOf(history, log);
  return [...outOfTime(places), ...places.flatMap((place) => misfits(place, log))];
}

function placesOf({ operations }: History, { commitOf }: Log): Place[] {
  return operations.flatMap((operation): Place[] => {
    const { outcome, request } = operation;
    if (request.kind === "stale-get") return [];
    const commit = commitOf.get(operation);
    if (commit !== undefined) return [{ operation, revision: commit.revision, commits: true }];
    if (outcome.kind !== "answered") return [];
    return [{ operation, revision: outcome.answer.revision, commits: false }];
  });
}

/**
 * Who was called after another had returned stands after it: at the same revision or later, and a write
 * strictly later. Only the highest revision that has returned matters, so one walk through time suffices.
 */
function outOfTime(places: readonly Place[]): Contradiction[] {
  const byCall = places.toSorted((a, b) => a.operation.call - b.operation.call);
  const byEnd = places
    .filter(({ operation }) => operation.outcome.kind === "answered")
    .toSorted((a, b) => a.operation.end - b.operation.end);
  const found: Contradiction[] = [];
  let returned = 0;
  let highest: Place | undefined;
  for (const place of byCall) {
    for (; returned < byEnd.length; returned++) {
      const next = byEnd[returned];
      if (next === undefined || next.operation.end >= place.operation.call) break;
      if (highest === undefined || next.revision > highest.revision) highest = next;
    }
    if (highest === undefined) continue;
    const late = place.commits ? place.revision <= highest.revision : place.revision < highest.revision;
    if (late)
      found.push({
        rule: "real time",
        message: `${describeOperation(place.operation)} is of revision ${place.revision}, although ${describeOperation(highest.operation)} of revision ${highest.revision} had returned before it was called`,
        operations: [place.operation.id, highest.operation.id],
        at: place.operation.end,
      });
  }
  return found;
}

/** What the operation says of the state, against the log. */
function misfits({ operation, revision, commits }: Place, log: Log): Contradiction[] {
  const { request, outcome } = operation;
  const answer: Answer | undefined = outcome.kind === "answered" ? outcome.answer : undefined;
  const before = commits ? revision - 1 : revision;
  const found: Contradiction[] = [];
  const say = (key: string, message: string) =>
    found.push({
      rule: "state",
      message: `${describeOperation(operation)} ${message}`,
      operations: [operation.id],
      key,
      at: operation.end,
      stateOf: before,
    });
  if (request.kind === "delete" && answer !== undefined) {
    const there = log.stateAt(request.key, before);
    if (answer.deleted === true && there === undefined)
      say(request.key, `deleted what was not there at revision ${before}`);
    if (answer.deleted !== true && there !== undefined)
      say(
        request.key,
        `found nothing to delete at revision ${before}, where there was ${describeSeen(there)}`,
      );
  }
  if (request.kind === "txn") {
    const mod = log.stateAt(request.key, before)?.mod ?? 0;
    if (commits && mod !== request.mod)
      say(request.key, `went through at revision ${revision} although the key was of revision ${mod}`);
    if (answer?.succeeded === false && mod === request.mod)
      say(request.key, `failed at revision ${before} although the key was of revision ${mod}`);
    // Without writes it succeeds without a commit.
    if (answer?.succeeded === true && !commits && mod !== request.mod)
      say(request.key, `succeeded although the key was of revision ${mod}`);
  }
  for (const [key, seen] of answer?.seen ?? []) {
    const expected = log.stateAt(key, revision);
    if (!same(seen, expected))
      say(
        key,
        `saw ${describeSeen(seen)} in ${key} at revision ${revision}, where there was ${describeSeen(expected)}${seen && expected && seen.mod === expected.mod ? ` (created ${seen.create} or ${expected.create}, version ${seen.version} or ${expected.version})` : ""}`,
      );
  }
  return found;
}

export function same(a: Seen, b: Seen): boolean {
  if (a === undefined || b === undefined) return a === b;
  return a.value === b.value && a.mod === b.mod && a.create === b.create && a.version === b.version;
}
