/**
 * Serializable reads may be old, not wrong: each shows a state that the store once had, none of the future,
 * and one client that asks one life of one member never goes back in time.
 */
import { describeOperation, describeSeen, type History, type Operation, type Violation } from "./history.ts";
import type { Horizon } from "./horizon.ts";
import type { Log } from "./log.ts";
import { same, type Contradiction } from "./witness.ts";

export function staleReads(history: History, log: Log, horizon: Horizon): Contradiction[] {
  const found: Contradiction[] = [];
  const latest = new Map<string, { readonly revision: number; readonly operation: Operation }>();
  const reads = history.operations
    .filter(({ request, outcome }) => request.kind === "stale-get" && outcome.kind === "answered")
    .toSorted((a, b) => a.call - b.call || a.end - b.end);
  for (const operation of reads) {
    const { request, outcome, client, life } = operation;
    if (request.kind !== "stale-get" || outcome.kind !== "answered") continue;
    const { revision, seen } = outcome.answer;
    const say = (message: string, others: readonly Operation[] = []): Violation => ({
      rule: "serializable read",
      message: `${describeOperation(operation)} ${message}`,
      operations: [operation.id, ...others.map(({ id }) => id)],
      key: request.key,
      at: operation.end,
    });
    for (const [key, version] of seen ?? []) {
      const expected = log.stateAt(key, revision);
      if (!same(version, expected))
        found.push({
          ...say(
            `saw ${describeSeen(version)} at revision ${revision}, where there was ${describeSeen(expected)}`,
          ),
          stateOf: revision,
        });
    }
    const future = horizon.ahead(operation.end, revision);
    if (future !== undefined)
      found.push(say(`saw revision ${revision} before ${describeOperation(future)} was called`, [future]));
    if (life === undefined) continue;
    const connection = `${client} ${request.member} ${life}`;
    const before = latest.get(connection);
    if (before !== undefined && before.operation.end < operation.call && revision < before.revision)
      found.push(say(`went back from revision ${before.revision} to ${revision}`, [before.operation]));
    if (before === undefined || revision > before.revision) latest.set(connection, { revision, operation });
  }
  return found;
}
