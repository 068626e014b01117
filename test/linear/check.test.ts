/** The verdict on whole histories: honest ones pass, each kind of lie is found and named. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { SeededRandom } from "../../sim/engine/random.ts";
import { check, type CheckOptions } from "./check.ts";
import { generate } from "./generate.ts";
import type { Answer, History, Operation, Outcome, Request, Seen, WatchItem } from "./history.ts";

const at = (value: string, mod: number, create = mod, version = 1): Seen => ({ value, mod, create, version });
const answered = (answer: Answer): Outcome => ({ kind: "answered", answer });
const unknown: Outcome = { kind: "unknown", why: "timed out" };
const saw = (revision: number, key: string, seen: Seen) =>
  answered({ revision, seen: new Map([[key, seen]]) });

type Line = readonly [call: number, end: number, request: Request, outcome: Outcome];

function historyOf(lines: readonly Line[], items?: readonly WatchItem[]): History {
  const operations = lines.map(([call, end, request, outcome], i): Operation => ({
    id: i + 1,
    client: `c${i + 1}`,
    call,
    end,
    request,
    outcome,
  }));
  const watches = items ? [{ client: "w", start: 1, items }] : [];
  return { keys: ["k", "l"], base: 0, operations, watches };
}

const put = (value: string, key = "k"): Request => ({ kind: "put", key, value });
const cas = (mod: number, value: string): Request => ({
  kind: "txn",
  key: "k",
  mod,
  writes: [{ key: "k", value }],
});
const get: Request = { kind: "get", key: "k" };
const del: Request = { kind: "delete", key: "k" };

test("a history in order is linearizable", () => {
  const verdict = check(
    historyOf([
      [0, 1, put("a"), answered({ revision: 1 })],
      [2, 3, get, saw(1, "k", at("a", 1))],
      [4, 5, cas(1, "b"), answered({ revision: 2, succeeded: true })],
      [
        6,
        7,
        cas(1, "c"),
        answered({ revision: 2, succeeded: false, seen: new Map([["k", at("b", 2, 1, 2)]]) }),
      ],
      [8, 9, del, answered({ revision: 3, deleted: true })],
      [10, 11, get, saw(3, "k", undefined)],
    ]),
  );
  assert.deepEqual(verdict.violations, []);
  assert.equal(verdict.kind, "linearizable");
  assert.deepEqual([verdict.commits, verdict.searched], [3, []]);
});

/** The rule that is broken, the words, the history. */
const lies: [string, RegExp, Line[]][] = [
  [
    "a stale read",
    /get k by c3 is of revision 1, although #2 put k=b by c2 of revision 2 had returned/,
    [
      [0, 1, put("a"), answered({ revision: 1 })],
      [2, 3, put("b"), answered({ revision: 2 })],
      [4, 5, get, saw(1, "k", at("a", 1))],
    ],
  ],
  [
    "a lost write",
    /saw a of revision 1 in k at revision 2, where there was b of revision 2/,
    [
      [0, 1, put("a"), answered({ revision: 1 })],
      [2, 3, put("b"), answered({ revision: 2 })],
      [4, 5, get, saw(2, "k", at("a", 1))],
    ],
  ],
  [
    "a value that nobody wrote",
    /saw x in k, which nobody wrote there/,
    [[0, 1, get, saw(1, "k", at("x", 1))]],
  ],
  [
    "a value that was written elsewhere",
    /saw a in k, which nobody wrote there/,
    [
      [0, 1, put("a", "l"), answered({ revision: 1 })],
      [2, 3, get, saw(1, "k", at("a", 1))],
    ],
  ],
  [
    "a refused write that happened",
    /was refused \(no leader\) and #2 get k by c2 saw it/,
    [
      [0, 1, put("a"), { kind: "refused", why: "no leader" }],
      [2, 3, get, saw(1, "k", at("a", 1))],
    ],
  ],
  [
    "a failed swap that happened",
    /was answered that it wrote nothing/,
    [
      [0, 1, cas(5, "a"), answered({ revision: 1, succeeded: false, seen: new Map([["k", undefined]]) })],
      [2, 3, get, saw(2, "k", at("a", 2))],
    ],
  ],
  [
    "two swaps from one revision",
    /went through at revision 3 although the key was of revision 2/,
    [
      [0, 1, put("a"), answered({ revision: 1 })],
      [2, 9, cas(1, "b"), answered({ revision: 2, succeeded: true })],
      [2, 9, cas(1, "c"), answered({ revision: 3, succeeded: true })],
    ],
  ],
  [
    "swaps in the wrong order",
    /went through at revision 2 although the key was of revision 1/,
    [
      [0, 1, put("a"), answered({ revision: 1 })],
      [2, 3, cas(3, "c"), answered({ revision: 2, succeeded: true })],
      [4, 5, cas(1, "b"), answered({ revision: 3, succeeded: true })],
    ],
  ],
  [
    "a swap that fails against its own revision",
    /failed at revision 1 although the key was of revision 1/,
    [
      [0, 1, put("a"), answered({ revision: 1 })],
      [2, 3, cas(1, "b"), answered({ revision: 1, succeeded: false, seen: new Map([["k", at("a", 1)]]) })],
    ],
  ],
  [
    "a revision given twice",
    /both have revision 1/,
    [
      [0, 9, put("a"), answered({ revision: 1 })],
      [0, 9, put("b"), answered({ revision: 1 })],
    ],
  ],
  [
    "a write in the past",
    /put k=b by c2 is of revision 1, although/,
    [
      [0, 1, put("a"), answered({ revision: 2 })],
      [2, 3, put("b"), answered({ revision: 1 })],
    ],
  ],
  [
    "a transaction seen in halves",
    /saw nothing in l at revision 1, where there was b of revision 1/,
    [
      [
        0,
        1,
        {
          kind: "txn",
          key: "k",
          mod: 0,
          writes: [
            { key: "k", value: "a" },
            { key: "l", value: "b" },
          ],
        },
        answered({ revision: 1, succeeded: true }),
      ],
      [
        2,
        3,
        { kind: "range" },
        answered({
          revision: 1,
          seen: new Map([
            ["k", at("a", 1)],
            ["l", undefined],
          ]),
        }),
      ],
    ],
  ],
  [
    "an unknown swap that happened against its condition",
    /went through at revision 2 although the key was of revision 1/,
    [
      [0, 1, put("a"), answered({ revision: 1 })],
      [2, 3, cas(7, "b"), unknown],
      [4, 5, get, saw(2, "k", at("b", 2, 1, 2))],
    ],
  ],
  [
    "an unknown write that happened before it was called",
    /put k=b by c3 is of revision 2, although #2 get k by c2 of revision 2 had returned/,
    [
      [0, 1, put("a"), answered({ revision: 1 })],
      [2, 3, get, saw(2, "k", at("b", 2, 1, 2))],
      [4, 5, put("b"), unknown],
    ],
  ],
  [
    "a version count that is off",
    /version 1 or 2/,
    [
      [0, 1, put("a"), answered({ revision: 1 })],
      [2, 3, put("b"), answered({ revision: 2 })],
      [4, 5, get, saw(2, "k", at("b", 2, 1, 1))],
    ],
  ],
];
for (const [what, words, lines] of lies)
  test(`${what} is found`, () => {
    const verdict = check(historyOf(lines));
    assert.equal(verdict.kind, "violation");
    const said = verdict.violations.map(({ message }) => message).join("\n");
    assert.match(said, words);
  });

test("an unknown write that was seen later happened, one that was never seen did not matter", () => {
  const verdict = check(
    historyOf([
      [0, 1, put("a"), answered({ revision: 1 })],
      [2, 3, put("b"), unknown],
      [2, 3, put("c"), unknown],
      [4, 5, get, saw(1, "k", at("a", 1))],
      [90, 91, get, saw(2, "k", at("b", 2, 1, 2))],
    ]),
  );
  assert.equal(verdict.kind, "linearizable");
  assert.deepEqual(verdict.unknown, { happened: 1, unseen: 1 });
});

test("an unknown delete that nobody saw explains an absent key, by search", () => {
  const lines: Line[] = [
    [0, 1, put("a"), answered({ revision: 1 })],
    [2, 3, del, unknown],
    [4, 5, get, saw(2, "k", undefined)],
  ];
  const verdict = check(historyOf(lines));
  assert.equal(verdict.kind, "linearizable");
  assert.deepEqual(verdict.searched, ["k"]);
  // Without the delete nothing explains it; with a watch that would have shown it neither.
  assert.equal(check(historyOf(lines.filter(([, , request]) => request !== del))).kind, "violation");
  const events = [{ key: "k", revision: 1, now: at("a", 1) }];
  const items: WatchItem[] = [
    { at: 6, type: "events", events },
    { at: 7, type: "progress", revision: 2 },
  ];
  assert.equal(check(historyOf(lines, items)).kind, "violation");
});

test("an unknown delete that a watch saw happened", () => {
  const items: WatchItem[] = [
    { at: 2, type: "events", events: [{ key: "k", revision: 1, now: at("a", 1) }] },
    { at: 6, type: "events", events: [{ key: "k", revision: 2, now: undefined }] },
  ];
  const lines: Line[] = [
    [0, 1, put("a"), answered({ revision: 1 })],
    [2, 3, del, unknown],
    [4, 5, get, saw(2, "k", undefined)],
  ];
  const verdict = check(historyOf(lines, items));
  assert.deepEqual(verdict.violations, []);
  assert.deepEqual(verdict.unknown, { happened: 1, unseen: 0 });
  const nobody = check(historyOf(lines.slice(0, 1), items));
  assert.match(nobody.violations[0]?.message ?? "", /k was deleted at revision 2, by nobody/);
});

test("a search without an end is undecided, not a pass", () => {
  const writes = Array.from({ length: 40 }, (_, i): Line => [2, 3, put(`u${i}`), unknown]);
  const verdict = check(
    historyOf([
      [0, 1, put("a"), answered({ revision: 1 })],
      ...writes,
      [2, 3, del, unknown],
      [4, 5, get, saw(2, "k", undefined)],
      [6, 7, cas(1, "b"), answered({ revision: 3, succeeded: true })],
    ]),
    { limits: { timeMs: 50, states: 10_000 } },
  );
  assert.equal(verdict.kind, "undecided");
  assert.match(verdict.undecided[0] ?? "", /^k: /);
});

test("two operations that write the same value are no history", () => {
  const twice: Line = [0, 1, put("a"), answered({ revision: 1 })];
  assert.throws(() => check(historyOf([twice, twice])), /two operations write a/);
});

const modes: [string, CheckOptions][] = [
  ["by revisions", {}],
  ["by search", { searchAll: true }],
];
for (const [how, options] of modes)
  test(`property: histories of a true store pass ${how}; with one planted violation they do not`, () => {
    let planted = 0;
    for (let seed = 1; seed <= 150; seed++) {
      const history = generate({
        seed,
        operations: 80,
        unknown: seed % 3 === 0 ? 0 : 0.05,
        watch: seed % 2 === 0,
      });
      const honest = check(history, options);
      assert.deepEqual(honest.violations, [], `seed ${seed}`);
      assert.equal(honest.kind, "linearizable", `seed ${seed}`);
      const broken = plant(history, new SeededRandom(seed));
      if (broken === undefined) continue;
      planted++;
      const { kind, violations } = check(broken.history, options);
      assert.equal(kind, "violation", `seed ${seed}: ${broken.what}`);
      if (options.searchAll) assert.ok(violations.some(({ rule }) => rule === "no linearization"));
    }
    assert.ok(planted > 100, String(planted));
  });

test("property: what the revisions accept, the search accepts without them", () => {
  for (let seed = 500; seed < 560; seed++) {
    const history = generate({ seed, operations: 150, clients: 6, unknown: 0.03, watch: true });
    assert.equal(check(history, { searchAll: true }).kind, "linearizable", `seed ${seed}`);
  }
});

test("20,000 operations over five keys with a watch take seconds", (t) => {
  const history = generate({ seed: 9, operations: 20_000, clients: 12, keys: 5, unknown: 0.01, watch: true });
  const verdict = check(history);
  t.diagnostic(
    `${history.operations.length} operations, ${verdict.events} events: ${Math.round(verdict.tookMs)} ms`,
  );
  assert.equal(verdict.kind, "linearizable");
  assert.ok(verdict.tookMs < 5_000, String(verdict.tookMs));
});

/** A read that shows what a later and completed write had replaced: no order of any kind explains it. */
function plant(history: History, random: SeededRandom): { history: History; what: string } | undefined {
  const { operations } = history;
  const gets = operations.filter(
    ({ request, outcome }) => request.kind === "get" && outcome.kind === "answered",
  );
  for (let tries = 0; tries < 50; tries++) {
    const victim = random.pick(gets);
    if (victim.request.kind !== "get" || victim.outcome.kind !== "answered") continue;
    const { key } = victim.request;
    const puts = operations.filter(
      ({ request, outcome, end }) =>
        request.kind === "put" && request.key === key && outcome.kind === "answered" && end < victim.call,
    );
    if (puts.length < 2) continue;
    const [old, replaced] = [random.pick(puts), random.pick(puts)];
    if (old.outcome.kind !== "answered" || old.request.kind !== "put") continue;
    if (replaced.call <= old.end) continue;
    const mod = old.outcome.answer.revision;
    const stale = at(old.request.value, mod);
    const revision = random.chance(0.5) ? mod : victim.outcome.answer.revision;
    const lie = { ...victim, outcome: saw(revision, key, stale) };
    return {
      history: { ...history, operations: operations.map((one) => (one === victim ? lie : one)) },
      what: `#${victim.id} sees ${old.request.value} after #${replaced.id}`,
    };
  }
  return undefined;
}
