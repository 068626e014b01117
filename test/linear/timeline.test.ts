/** The picture of a violation is a whole page by itself that shows every violating operation. */
import assert from "node:assert/strict";
import { test } from "node:test";
import vm from "node:vm";
import { check } from "./check.ts";
import { generate } from "./generate.ts";
import type { History, Operation } from "./history.ts";
import { PAGE_SCRIPT } from "./timeline-page.ts";
import { timeline } from "./timeline.ts";

/** A history in which one read shows what was long gone. */
function broken(operations: number): { history: History; victim: Operation } {
  const history = generate({ seed: 2, operations, watch: true, unknown: 0.02 });
  const reads = history.operations.filter(
    ({ request, outcome }) => request.kind === "get" && outcome.kind === "answered",
  );
  const victim = reads.at(-1);
  assert.ok(victim?.request.kind === "get");
  const lie: Operation = {
    ...victim,
    outcome: {
      kind: "answered",
      answer: { revision: history.base, seen: new Map([[victim.request.key, undefined]]) },
    },
  };
  const operationsNow = history.operations.map((one) => (one === victim ? lie : one));
  return { history: { ...history, operations: operationsNow }, victim };
}

/** Elements in order, and whether each was closed: strict enough to find broken markup. */
function parse(html: string): { tag: string; attributes: Record<string, string>; text: string }[] {
  const elements: { tag: string; attributes: Record<string, string>; text: string }[] = [];
  const open: string[] = [];
  const raw = /<(script|style)([^>]*)>([\s\S]*?)<\/\1>/g;
  const outside = html.replace(raw, (_, tag: string, attributes: string, text: string) => {
    elements.push({ tag, attributes: attributesOf(attributes), text });
    return "";
  });
  for (const [, close, tag = "", attributes = "", self, text = ""] of outside.matchAll(
    /<(\/?)([a-z0-9]+)((?:\s+[\w-]+="[^"<>]*")*)\s*(\/?)>([^<]*)/gi,
  )) {
    if (close === "/") assert.equal(open.pop(), tag, `</${tag}>`);
    else if (self !== "/" && tag !== "meta") open.push(tag);
    if (close !== "/") elements.push({ tag, attributes: attributesOf(attributes), text });
  }
  assert.deepEqual(open, [], "every element is closed");
  assert.doesNotMatch(
    outside.replace(/<!doctype html>/, "").replaceAll(/<\/?[a-z0-9]+(?:\s+[\w-]+="[^"<>]*")*\s*\/?>/gi, ""),
    /[<>]/,
  );
  return elements;
}

function attributesOf(text: string): Record<string, string> {
  return Object.fromEntries(
    [...text.matchAll(/([\w-]+)="([^"]*)"/g)].map(([, name, value]) => [name, value]),
  );
}

test("a violation's timeline: a lane per client, a bar per operation, the violating ones marked", () => {
  const { history, victim } = broken(120);
  const { violations } = check(history);
  assert.ok(violations.length > 0);
  const html = timeline(history, violations, {
    title: `a <b>title</b> & "more"`,
    notes: [{ at: victim.call, text: "m1 was killed" }],
  });
  const elements = parse(html);
  const bars = elements.filter(({ attributes }) => attributes["class"]?.startsWith("op ") === true);
  assert.equal(bars.length, 120);
  const violating = bars.filter(({ attributes }) => attributes["class"]?.includes("violating") === true);
  const named = new Set(violations.flatMap(({ operations }) => operations));
  assert.deepEqual(new Set(violating.map(({ attributes }) => Number(attributes["data-id"]))), named);
  assert.ok(named.has(victim.id));
  const lanes = elements.filter(({ attributes }) => attributes["class"] === "lane");
  assert.deepEqual(
    lanes.map(({ text }) => text),
    ["c1", "c2", "c3", "c4", "c5"],
  );
  assert.equal(elements.filter(({ attributes }) => attributes["class"] === "note").length, 1);
  assert.equal(
    elements.find(({ tag }) => tag === "title")?.text,
    "a &lt;b&gt;title&lt;/b&gt; &amp; &quot;more&quot;",
  );
  assert.doesNotMatch(html, /(src|href)=|https?:/, "nothing is fetched");
});

test("bars of one row do not overlap, and stand where their time is", () => {
  const { history } = broken(200);
  const bars = parse(timeline(history, check(history).violations, { title: "t" }))
    .filter(({ attributes }) => attributes["data-id"] !== undefined && attributes["width"] !== undefined)
    .map(({ attributes }) => ({
      y: attributes["y"],
      x: Number(attributes["x"]),
      width: Number(attributes["width"]),
    }));
  for (const y of new Set(bars.map((one) => one.y))) {
    const row = bars.filter((one) => one.y === y).toSorted((a, b) => a.x - b.x);
    for (const [i, one] of row.entries()) assert.ok(one.x + one.width <= (row[i + 1]?.x ?? 1e9) + 0.6);
  }
});

test("of a long history it shows what is around the violations, and says so", () => {
  const { history, victim } = broken(8_000);
  const html = timeline(history, check(history).violations, { title: "long", most: 500 });
  const data = parse(html).find(({ attributes }) => attributes["id"] === "history")?.text ?? "";
  const { shown, of, operations } = JSON.parse(data) as {
    shown: number;
    of: number;
    operations: { id: number }[];
  };
  assert.ok(shown <= 500 && shown === operations.length);
  assert.equal(of, 8_000);
  assert.ok(operations.some(({ id }) => id === victim.id));
  assert.match(html, /operations, those around the violations \(\d+ are left out\)/);
});

test("the page's script is a valid program", () => {
  assert.doesNotThrow(() => new vm.Script(PAGE_SCRIPT));
});
