/**
 * Histories that are right by construction: a real sequential store, clients that overlap, answers that
 * come late or not at all. Tests take one as it is, or break one thing in it.
 */
import { SeededRandom } from "../../sim/engine/random.ts";
import type { History, Operation, Outcome, Request, Seen, WatchEvent, WatchItem } from "./history.ts";

export interface Shape {
  readonly seed: number;
  readonly operations: number;
  readonly clients?: number;
  readonly keys?: number;
  /** Share of operations whose outcome stays unknown; half of them happen. */
  readonly unknown?: number;
  readonly watch?: boolean;
  /** Reads of one key and writes of one key only, as a register has them. */
  readonly single?: boolean;
}

interface Planned {
  readonly id: number;
  readonly client: string;
  readonly call: number;
  readonly effect: number;
  readonly end: number;
  readonly fate: "answered" | "refused" | "unknown" | "never";
}

const BASE = 10;

export function generate(shape: Shape): History {
  const random = new SeededRandom(shape.seed);
  const keys = Array.from({ length: shape.keys ?? 3 }, (_, i) => `k${i + 1}`);
  const store = new SampleStore(keys);
  const latest = new Map<string, ReadonlyMap<string, Seen>>();
  const operations: Operation[] = [];
  for (const planned of plan(shape, random).toSorted((a, b) => a.effect - b.effect)) {
    const { id, client, call, end, fate } = planned;
    const request = draw(planned, keys, latest.get(client), random, shape.single === true);
    const isRead = request.kind === "get" || request.kind === "range" || request.kind === "stale-get";
    const answered = (): Outcome => {
      const answer = store.apply(request);
      if (answer.seen && fate === "answered")
        latest.set(client, new Map([...(latest.get(client) ?? []), ...answer.seen]));
      return { kind: "answered", answer };
    };
    const outcome: Outcome =
      fate === "answered"
        ? answered()
        : fate === "unknown" && !isRead
          ? (answered(), { kind: "unknown", why: "timed out" })
          : fate === "refused"
            ? { kind: "refused", why: "no leader" }
            : { kind: "unknown", why: "timed out" };
    operations.push({ id, client, call, end, request, outcome });
  }
  const items = store.events.map(([, events], i): WatchItem => ({ at: 1e9 + i, type: "events", events }));
  return {
    keys,
    base: BASE,
    operations: operations.toSorted((a, b) => a.id - b.id),
    watches: shape.watch ? [{ client: "watcher", start: BASE + 1, items }] : [],
  };
}

function plan(shape: Shape, random: SeededRandom): Planned[] {
  const clients = shape.clients ?? 5;
  const free = Array.from({ length: clients }, () => random.fraction() * 10);
  return Array.from({ length: shape.operations }, (_, index) => {
    const who = free.indexOf(Math.min(...free));
    const call = (free[who] ?? 0) + random.fraction() * 2;
    const effect = call + 0.1 + random.fraction() * 8;
    const end = effect + 0.1 + random.fraction() * 4;
    free[who] = end;
    const common = { id: index + 1, client: `c${who + 1}`, call, end };
    if (!random.chance(shape.unknown ?? 0))
      return { ...common, effect, fate: random.chance(0.02) ? ("refused" as const) : ("answered" as const) };
    // It may take effect long after its client gave up.
    const late = call + 0.1 + random.fraction() * 40;
    return { ...common, effect: late, fate: random.chance(0.5) ? ("unknown" as const) : ("never" as const) };
  });
}

function draw(
  { id }: Planned,
  keys: readonly string[],
  known: ReadonlyMap<string, Seen> | undefined,
  random: SeededRandom,
  single: boolean,
): Request {
  const key = random.pick(keys);
  const value = `v${id}`;
  const mod = known?.get(key)?.mod ?? 0;
  switch (random.between(1, 12)) {
    case 1:
    case 2:
    case 3:
      return { kind: "put", key, value };
    case 4:
      return { kind: "delete", key };
    case 5:
    case 6:
      return { kind: "txn", key, mod, writes: [{ key, value }] };
    case 7: {
      if (single) return { kind: "txn", key, mod, writes: [{ key, value }] };
      const other = keys.find((one) => one !== key) ?? key;
      return {
        kind: "txn",
        key,
        mod,
        writes: [
          { key, value },
          { key: other, value: `${value}b` },
        ],
      };
    }
    case 8:
      return single ? { kind: "get", key } : { kind: "range" };
    default:
      return { kind: "get", key };
  }
}

/** One thing after the other, with etcd's revisions. */
class SampleStore {
  readonly #keys: readonly string[];
  readonly #state = new Map<string, Seen>();
  readonly events: [revision: number, events: WatchEvent[]][] = [];
  #revision = BASE;

  constructor(keys: readonly string[]) {
    this.#keys = keys;
  }

  apply(request: Request): (Outcome & { kind: "answered" })["answer"] {
    const see = (keys: readonly string[]) => new Map(keys.map((key) => [key, this.#state.get(key)] as const));
    switch (request.kind) {
      case "get":
      case "stale-get":
        return { revision: this.#revision, seen: see([request.key]) };
      case "range":
        return { revision: this.#revision, seen: see(this.#keys) };
      case "put":
        return { revision: this.#commit([[request.key, request.value]]) };
      case "delete":
        if (this.#state.get(request.key) === undefined) return { revision: this.#revision, deleted: false };
        return { revision: this.#commit([[request.key, undefined]]), deleted: true };
      case "txn": {
        if ((this.#state.get(request.key)?.mod ?? 0) !== request.mod)
          return { revision: this.#revision, succeeded: false, seen: see([request.key]) };
        const revision = this.#commit(request.writes.map(({ key, value }) => [key, value]));
        return { revision, succeeded: true };
      }
    }
  }

  #commit(changes: readonly (readonly [string, string | undefined])[]): number {
    const revision = ++this.#revision;
    const events = changes.map(([key, value]): WatchEvent => {
      const before = this.#state.get(key);
      const now: Seen =
        value === undefined
          ? undefined
          : {
              value,
              mod: revision,
              create: before?.create ?? revision,
              version: (before?.version ?? 0) + 1,
            };
      this.#state.set(key, now);
      return { key, revision, now, before: { seen: before } };
    });
    this.events.push([revision, events]);
    return revision;
  }
}
