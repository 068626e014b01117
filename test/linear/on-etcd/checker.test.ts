/** The checker itself is checked: stores that lie are caught in each kind of lie, and honest etcd is not. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Checker, type CheckReport } from "../../support/checker.ts";
import {
  EtcdStore,
  StoreError,
  type CheckedStore,
  type StoredValue,
  type StoreEvent,
} from "../../support/checker-store.ts";
import { eventually } from "../../../testbed/eventually.ts";
import { TestCluster } from "../../support/etcd-cluster.ts";
import { newestVersions } from "../../support/etcd-versions.ts";
import { sampledVersions } from "../../support/sample.ts";

/** A store in memory that keeps its word, unless a test overrides a part of it. */
class MemoryStore implements CheckedStore {
  readonly kvs = new Map<string, StoredValue>();
  revision = 0n;
  #listeners: ((events: readonly StoreEvent[]) => void)[] = [];

  write(_worker: number, entries: readonly (readonly [string, string])[]): Promise<bigint> {
    this.revision++;
    const events = entries.map(([key, value]) => ({ key, value, revision: this.revision }));
    for (const event of events) this.kvs.set(event.key, event);
    this.emit(events);
    return Promise.resolve(this.revision);
  }
  emit(events: readonly StoreEvent[]): void {
    for (const listener of this.#listeners) listener(events);
  }
  read(_worker: number, key: string): Promise<StoredValue | undefined> {
    return Promise.resolve(this.kvs.get(key));
  }
  list(prefix: string): Promise<ReadonlyMap<string, StoredValue>> {
    return Promise.resolve(new Map([...this.kvs].filter(([key]) => key.startsWith(prefix))));
  }
  async *watch(_prefix: string, signal: AbortSignal): AsyncGenerator<"begun" | readonly StoreEvent[]> {
    const queue: (readonly StoreEvent[])[] = [];
    let wake = () => undefined as void;
    this.#listeners.push((events) => (queue.push(events), wake()));
    signal.addEventListener("abort", () => wake());
    yield "begun";
    while (!signal.aborted) {
      for (const events of queue.splice(0)) yield events;
      await new Promise<void>((resolve) =>
        queue.length > 0 || signal.aborted ? resolve() : (wake = resolve),
      );
    }
  }
}

async function check(store: CheckedStore): Promise<CheckReport> {
  const checker = await Checker.start(store, { everyMs: 1, catchUpMs: 300 });
  await eventually("some writes", () => checker.acknowledged > 50);
  return await checker.stop();
}

test("a store that keeps its word has no violations", async () => {
  const report = await check(new MemoryStore());
  assert.deepEqual(report.violations, []);
  assert.ok(report.writes.acknowledged > 50 && report.events === report.writes.acknowledged);
  assert.ok(report.reads.answered > 0);
});

const lies: [string, RegExp, (store: MemoryStore) => void][] = [
  [
    "an acknowledged write that is gone",
    /write 7 was acknowledged at revision \d+ and is gone/,
    (store) => {
      const list = store.list.bind(store);
      store.list = async (prefix) =>
        new Map([...(await list(prefix))].filter(([, { value }]) => value !== "7"));
    },
  ],
  [
    "a refused write that is there",
    /write \d+ was refused and is there/,
    (store) => {
      const write = store.write.bind(store);
      let count = 0;
      store.write = async (...args) => {
        const revision = await write(...args);
        if (++count === 9) throw new StoreError("refused", "no");
        return revision;
      };
    },
  ],
  [
    "a write changed afterwards",
    /write \d+ \(revision \d+\) reads 999/,
    (store) => {
      const list = store.list.bind(store);
      store.list = async (prefix) =>
        new Map([...(await list(prefix))].map(([key, { revision }]) => [key, { value: "999", revision }]));
    },
  ],
  [
    "a key nobody wrote",
    /check\/n\/x was never written/,
    (store) => void store.kvs.set("check/n/x", { value: "x", revision: 1n }),
  ],
  [
    "a stale read",
    /a read saw revision 1 after \d+ was acknowledged/,
    (store) => {
      store.read = () => Promise.resolve({ value: "1", revision: 1n });
    },
  ],
  [
    "an event left out",
    /the watch never showed write 5/,
    (store) => {
      const emit = store.emit.bind(store);
      store.emit = (events) => emit(events.filter(({ value }) => value !== "5"));
    },
  ],
  [
    "an event shown twice",
    /the watch showed write 5 more than once/,
    (store) => {
      const emit = store.emit.bind(store);
      store.emit = (events) => emit(events[0]?.value === "5" ? [...events, ...events] : events);
    },
  ],
  [
    "events out of order",
    /the watch went back from revision/,
    (store) => {
      const emit = store.emit.bind(store);
      let held: readonly StoreEvent[] = [];
      store.emit = (events) => {
        const [first] = events;
        if (first?.value === "5") held = events;
        else emit(first?.value === "9" ? [...events, ...held] : events);
      };
    },
  ],
];
for (const [what, words, lie] of lies)
  test(`${what} is found`, async () => {
    const store = new MemoryStore();
    lie(store);
    const { violations } = await check(store);
    assert.ok(
      violations.some((violation) => words.test(violation)),
      violations.join("\n"),
    );
  });

test("the time without writes is measured", async () => {
  const store = new MemoryStore();
  const write = store.write.bind(store);
  let blocked = false;
  let refused = 0;
  store.write = (...args) => {
    if (!blocked) return write(...args);
    refused += 1;
    return Promise.reject(new StoreError("refused", "no"));
  };
  const began = performance.now();
  const checker = await Checker.start(store, { everyMs: 1 });
  await eventually("some writes", () => checker.acknowledged > 10);
  blocked = true;
  const from = performance.now();
  await eventually("some refusals", () => refused > 10 && performance.now() - from > 300);
  const blockedMs = performance.now() - from;
  blocked = false;
  const before = checker.acknowledged;
  await eventually("writes go on", () => checker.acknowledged > before);
  const { longestWriteGapMs, longestWriteGapAtMs, writes } = await checker.stop();
  const wholeMs = performance.now() - began;
  assert.ok(
    longestWriteGapMs >= blockedMs - 10 && longestWriteGapMs <= wholeMs,
    `${longestWriteGapMs} of ${blockedMs}`,
  );
  assert.ok(longestWriteGapAtMs > 0 && writes.refused > 10);
});

for (const version of sampledVersions)
  test(`etcd ${version}: the leader is killed under load; nothing acknowledged is lost`, async (t) => {
    await using cluster = await TestCluster.start({ version, members: 3 });
    const store = new EtcdStore({ transport: cluster.transport(), endpoints: cluster.endpoints });
    const checker = await Checker.start(store);
    await eventually("some writes", () => Promise.resolve(checker.acknowledged > 50));
    const leader = await cluster.leader();
    await leader.running.kill();
    const before = checker.acknowledged;
    await eventually("writes go on", () => Promise.resolve(checker.acknowledged > before + 50));
    await cluster.restart(leader);
    await eventually("and on", () => Promise.resolve(checker.acknowledged > before + 100));
    const report = await checker.stop();
    assert.deepEqual(report.violations, []);
    assert.deepEqual(report.lost, []);
    assert.ok(report.longestWriteGapMs > 100, "an election takes its time");
    assert.ok(report.longestWriteGapMs < 10_000, String(report.longestWriteGapMs));
    t.diagnostic(
      `longest write gap ${report.longestWriteGapMs.toFixed(0)} ms, ${report.writes.acknowledged} writes, ${report.writes.unknown} unknown`,
    );
  });

test("members are restarted one after the other: writes go on and every event is seen once", async (t) => {
  await using cluster = await TestCluster.start({ version: newestVersions.at(-1) as string, members: 3 });
  const store = new EtcdStore({ transport: cluster.transport(), endpoints: cluster.endpoints });
  const checker = await Checker.start(store);
  for (const member of [...(await cluster.followers()), await cluster.leader()]) {
    await member.running.stop({ graceMs: 20_000 });
    await cluster.restart(member);
    const before = checker.acknowledged;
    await eventually("writes go on", () => Promise.resolve(checker.acknowledged > before + 50));
  }
  const report = await checker.stop();
  assert.deepEqual(report.violations, []);
  assert.ok(report.longestWriteGapMs < 5_000, String(report.longestWriteGapMs));
  t.diagnostic(
    `longest write gap ${report.longestWriteGapMs.toFixed(0)} ms, ${report.writes.unknown} unknown`,
  );
});
