/**
 * The verdict on a history. Revisions first, which decide almost everything in one walk; where a write of
 * unknown outcome that nobody saw could explain what does not fit, the key is searched. Undecided is an
 * answer of its own and never a pass.
 */
import { writesOf, type History, type Violation } from "./history.ts";
import { Horizon } from "./horizon.ts";
import { logOf, type Log } from "./log.ts";
import { stepsOf } from "./registers.ts";
import { LIMITS, search, type Found, type SearchLimits } from "./search.ts";
import { staleReads } from "./stale-reads.ts";
import { deliveredUpTo, watchViolations } from "./watches.ts";
import { contradictions, type Contradiction } from "./witness.ts";

export interface CheckOptions {
  readonly limits?: SearchLimits;
  /** Search every key, whatever the revisions say; slower, and independent of them. */
  readonly searchAll?: boolean;
}

export interface Verdict {
  readonly kind: "linearizable" | "violation" | "undecided";
  readonly violations: readonly Violation[];
  /** What could not be decided, in words. */
  readonly undecided: readonly string[];
  /** Keys that had to be searched. */
  readonly searched: readonly string[];
  /** Writes of unknown outcome: how many happened after all, and of how many nothing is known. */
  readonly unknown: { readonly happened: number; readonly unseen: number };
  readonly commits: number;
  readonly events: number;
  readonly tookMs: number;
}

export function check(history: History, options: CheckOptions = {}): Verdict {
  const began = performance.now();
  const log = logOf(history);
  const horizon = new Horizon(log);
  const found = [...contradictions(history, log), ...staleReads(history, log, horizon)];
  const covered = coveredUpTo(history);
  const open = new Set(found.filter((one) => couldBeExplained(one, covered, log)));
  const violations: Violation[] = [...log.violations, ...found.filter((one) => !open.has(one))];
  // A serializable read has no place in the order of the others, so that a search cannot explain it.
  const undecided = [...open]
    .filter(({ rule }) => rule === "serializable read")
    .map(({ message }) => message);
  const keys = options.searchAll ? history.keys : [...new Set([...open].flatMap(({ key }) => key ?? []))];
  for (const key of keys) {
    const answer = search(stepsOf(history, log, key, options.searchAll !== true), options.limits ?? LIMITS);
    if (answer.kind === "undecided") undecided.push(`${key}: ${answer.why}`);
    if (answer.kind !== "none") continue;
    violations.push(...[...open].filter((one) => one.key === key));
    const stuck = history.operations.find(({ id }) => id === answer.stuck);
    violations.push({
      rule: "no linearization",
      message: `no order of the operations on ${key} agrees with what was answered: ${answer.prefix.length} fit, then none can come before the return of #${answer.stuck}`,
      operations: [answer.stuck],
      key,
      at: stuck?.end ?? 0,
    });
  }
  for (const watch of history.watches) violations.push(...watchViolations(watch, log, horizon));
  const kind = violations.length > 0 ? "violation" : undecided.length > 0 ? "undecided" : "linearizable";
  const unknown = history.operations.filter(({ outcome }) => outcome.kind === "unknown");
  return {
    kind,
    violations: violations.toSorted((a, b) => a.at - b.at),
    undecided,
    searched: keys,
    unknown: {
      happened: unknown.filter((operation) => log.commitOf.has(operation)).length,
      unseen: log.unresolved.length,
    },
    commits: log.commits.length,
    events: eventsOf(history),
    tookMs: performance.now() - began,
  };
}

/**
 * A second opinion that does not look at revisions: every key searched as a plain register. Writes of
 * unknown outcome that no watch showed, though one watched to the end, are left out: they did not happen.
 */
export function searchOnly(history: History, limits: SearchLimits = LIMITS): Map<string, Found> {
  const log = logOf(history);
  const last = log.commits.at(-1)?.revision ?? history.base;
  const unseen = new Set(coveredUpTo(history) >= last ? log.unresolved : []);
  const operations = history.operations.filter((operation) => !unseen.has(operation));
  const seen = { ...history, operations };
  return new Map(history.keys.map((key) => [key, search(stepsOf(seen, log, key, false), limits)]));
}

/** Up to which revision a watch from the beginning would have shown every write. */
function coveredUpTo({ base, watches }: History): number {
  return Math.max(base, ...watches.filter(({ start }) => start <= base + 1).map(deliveredUpTo));
}

/** By a write of unknown outcome to the same key that no watch would have shown. */
function couldBeExplained({ stateOf, key, at }: Contradiction, covered: number, log: Log): boolean {
  if (stateOf === undefined || stateOf <= covered) return false;
  return log.unresolved.some(({ request, call }) => {
    const keys = request.kind === "delete" ? [request.key] : writesOf(request).map((write) => write.key);
    return call <= at && key !== undefined && keys.includes(key);
  });
}

function eventsOf({ watches }: History): number {
  return watches.reduce(
    (sum, { items }) =>
      sum + items.reduce((n, item) => n + (item.type === "events" ? item.events.length : 0), 0),
    0,
  );
}
