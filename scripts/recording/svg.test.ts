import assert from "node:assert/strict";
import { test } from "node:test";
import { renderSvg } from "./svg.ts";

const screen = { columns: 40, rows: 3, title: "a & b", restMs: 1000 };

test("each frame is shown from its time until the next, and the last one without animation too", () => {
  const svg = renderSvg(
    [
      { atMs: 0, lines: ["$ one"] },
      { atMs: 1000, lines: ["two"] },
      { atMs: 3000, lines: ["three"] },
    ],
    screen,
  );
  assert.equal(svg.match(/<g /g)?.length, 3);
  assert.match(svg, /values="visible;hidden" keyTimes="0;0.2500".*\$ one/);
  assert.match(svg, /values="hidden;visible;hidden" keyTimes="0;0.2500;0.7500".*two/);
  assert.match(svg, /<g visibility="visible">.*values="hidden;visible" keyTimes="0;0.7500".*three/);
  assert.match(svg, /dur="4000ms"/);
});

test("what was faster than one can read is slowed down, and what was slower keeps its time", () => {
  const frames = [0, 100, 3100].map((atMs) => ({ atMs, lines: [`at ${atMs}`] }));
  const svg = renderSvg(frames, { ...screen, leastMs: 1000 });
  assert.match(svg, /dur="5000ms"/);
  assert.match(svg, /keyTimes="0;0.2000;0.8000".*at 100</);
});

test("frames that look the same are one", () => {
  const same = [0, 100, 200].map((atMs) => ({ atMs, lines: ["same"] }));
  assert.equal(renderSvg(same, screen).match(/<g /g)?.length, 1);
});

test("the size comes from the screen, and what does not fit is cut off", () => {
  const size = /viewBox="([^"]*)"/.exec(renderSvg([{ atMs: 0, lines: [] }], screen))?.[1];
  const lines = ["x".repeat(100), "2", "3", "not shown"];
  const svg = renderSvg([{ atMs: 0, lines }], screen);
  assert.equal(/viewBox="([^"]*)"/.exec(svg)?.[1], size);
  assert.match(svg, /x{39}…/);
  assert.doesNotMatch(svg, /not shown/);
});

test("text is escaped", () => {
  const svg = renderSvg([{ atMs: 0, lines: [`<b> & "c"`] }], screen);
  assert.match(svg, /&lt;b&gt; &amp; &quot;c&quot;/);
  assert.match(svg, /aria-label="a &amp; b"/);
});

test("a recording without frames is refused", () => {
  assert.throws(() => renderSvg([], screen), /at least one frame/);
});
