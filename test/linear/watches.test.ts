/** Watches and serializable reads: what etcd promises passes, and each broken promise is named. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { check } from "./check.ts";
import { generate } from "./generate.ts";
import type { History, Operation, Seen, WatchEvent, WatchItem } from "./history.ts";

const honest = generate({ seed: 5, operations: 300, watch: true });
const items = honest.watches[0]?.items ?? [];

function withItems(history: History, changed: readonly WatchItem[], start = history.base + 1): History {
  return { ...history, watches: [...history.watches, { client: "second", start, items: changed }] };
}

function saysOf(history: History): string {
  return check(history)
    .violations.map(({ rule, message }) => `${rule}: ${message}`)
    .join("\n");
}

const eventsAt = (i: number) => (items[i]?.type === "events" ? items[i].events : []);
const revisionAt = (i: number) => eventsAt(i)[0]?.revision ?? 0;
const several = items.findIndex((item) => item.type === "events" && item.events.length > 1);
const batch = (events: readonly WatchEvent[], at = 2e9): WatchItem => ({ at, type: "events", events });
const progress = (revision: number, at = 2e9): WatchItem => ({ at, type: "progress", revision });

test("a watch that saw everything, in batches of any size, over interruptions, with progress", () => {
  const merged = items.reduce<WatchItem[]>((all, item, i) => {
    const last = all.at(-1);
    if (i % 3 === 0 || last?.type !== "events" || item.type !== "events") return [...all, item];
    return [...all.slice(0, -1), batch([...last.events, ...item.events], item.at)];
  }, []);
  const interrupted: WatchItem[] = [
    ...merged.slice(0, 20),
    { at: 2e9, type: "interrupted", why: "stream" },
    { at: 2e9, type: "created", revision: 30, member: "m2" },
    ...merged.slice(20),
    progress(revisionAt(items.length - 1)),
  ];
  assert.equal(saysOf(withItems(honest, interrupted)), "");
});

test("a watch that began in the middle owes only what came after", () => {
  assert.equal(saysOf(withItems(honest, items.slice(40), revisionAt(40))), "");
});

const broken: [string, RegExp, WatchItem[]][] = [
  [
    "a revision left out",
    new RegExp(`watch: the watch of second .* left out revision ${revisionAt(7)}, #`),
    items.filter((_, i) => i !== 7),
  ],
  [
    "a revision shown twice",
    /showed k\d of revision \d+ after everything up to/,
    [...items.slice(0, 9), ...items.slice(8)],
  ],
  [
    "revisions in the wrong order",
    /showed k\d of revision \d+ after everything up to/,
    [...items.slice(0, 5), items[6] as WatchItem, items[5] as WatchItem, ...items.slice(7)],
  ],
  [
    "a transaction in halves",
    /showed revision \d+ without k\d/,
    items.flatMap((item, i) =>
      i === several && item.type === "events"
        ? [batch(item.events.slice(0, 1)), batch(item.events.slice(1))]
        : [item],
    ),
  ],
  [
    "a value that was not there",
    /showed v1 of revision 1 in k\d at revision/,
    items.map((item, i) =>
      i === 3
        ? batch(
            eventsAt(3).map((event) => ({ ...event, now: { value: "v1", mod: 1, create: 1, version: 1 } })),
          )
        : item,
    ),
  ],
  [
    "a wrong value before",
    /showed nothing before revision/,
    items.map((item) =>
      item.type === "events"
        ? batch(item.events.map((event) => ({ ...event, before: { seen: undefined } })))
        : item,
    ),
  ],
  [
    "progress that is ahead of the events",
    new RegExp(`left out revision ${revisionAt(9)}`),
    [...items.slice(0, 9), progress(revisionAt(9)), ...items.slice(9)],
  ],
  [
    "an event before its write was called",
    /told by an event of revision \d+ before #\d+ .* was called/,
    items.map((item, i) => (i === 30 ? batch(eventsAt(30), 0) : item)),
  ],
  [
    "progress into the future",
    /told by a progress notification of revision \d+ before/,
    [...items.slice(0, 9), progress(revisionAt(items.length - 1), 3), ...items.slice(9)],
  ],
];
for (const [what, words, changed] of broken)
  test(`a watch: ${what} is found`, () => {
    assert.match(saysOf(withItems(honest, changed)), words);
  });

/** Serializable reads added to a history, each of the state at a revision. */
function withStaleReads(
  reads: readonly { call: number; revision: number; life?: string; seen?: Seen; client?: string }[],
): History {
  const states = new Map<number, Seen>();
  let now: Seen;
  for (const event of items.flatMap((item) => (item.type === "events" ? item.events : []))) {
    if (event.key === "k1") now = event.now;
    states.set(event.revision, now);
  }
  const added = reads.map(({ call, revision, life, client, ...rest }, i): Operation => {
    const seen = "seen" in rest ? rest.seen : states.get(revision);
    return {
      id: 10_000 + i,
      client: client ?? "reader",
      call,
      end: call + 1,
      request: { kind: "stale-get", key: "k1", member: "m3" },
      outcome: { kind: "answered", answer: { revision, seen: new Map([["k1", seen]]) } },
      ...(life !== undefined && { life }),
    };
  });
  return { ...honest, operations: [...honest.operations, ...added] };
}

test("serializable reads of the past are fine, also backwards after a restart or at another client", () => {
  const reads = [
    { call: 5e3, revision: revisionAt(50), life: "1" },
    { call: 6e3, revision: revisionAt(60), life: "1" },
    { call: 7e3, revision: revisionAt(20), life: "2" },
    { call: 7e3, revision: revisionAt(10), life: "1", client: "other" },
    { call: 8e3, revision: revisionAt(5) },
  ];
  assert.equal(saysOf(withStaleReads(reads)), "");
});

test("serializable reads that go back within one life of a member are found", () => {
  const reads = [
    { call: 5e3, revision: revisionAt(50), life: "1" },
    { call: 6e3, revision: revisionAt(40), life: "1" },
  ];
  assert.match(saysOf(withStaleReads(reads)), /went back from revision \d+ to \d+/);
});

test("a serializable read of a state that never was is found", () => {
  const seen = { value: "v999", mod: 3, create: 3, version: 1 };
  const says = saysOf(withStaleReads([{ call: 5e3, revision: revisionAt(50), seen }]));
  assert.match(says, /serializable read: .* where there was/);
  assert.match(says, /phantom write/);
});

test("a serializable read of the future is found", () => {
  const says = saysOf(withStaleReads([{ call: 1, revision: revisionAt(60) }]));
  assert.match(says, /saw revision \d+ before #\d+ .* was called/);
});
