import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { LiveScreen } from "./live.ts";

/** What was written, with the codes in words. */
function terminal(rows?: number, columns?: number) {
  const written: string[] = [];
  const size = { ...(rows !== undefined && { rows }), ...(columns !== undefined && { columns }) };
  const screen = new LiveScreen({ write: (text) => written.push(text), ...size });
  const draw = (text: string, more: Parameters<LiveScreen["draw"]>[1] = {}) => {
    screen.draw(text, more);
    return (written.at(-1) ?? "")
      .replaceAll("\x1b[2J", "<clear>")
      .replaceAll("\x1b[H", "<home>")
      .replaceAll("\x1b[K\n", "\n")
      .replaceAll("\x1b[J", "<rest>");
  };
  return draw;
}

const numbered = (count: number) =>
  ["TITLE", ...Array.from({ length: count }, (_, n) => `line ${n + 1}`)].join("\n");

describe("a live screen", () => {
  test("is cleared once, then drawn over", () => {
    const draw = terminal(24, 80);
    assert.equal(draw("a\nb"), "<clear><home>a\nb\n<rest>");
    assert.equal(draw("c"), "<home>c\n<rest>");
  });

  test("never has more lines than the terminal, with one left for the cursor", () => {
    const draw = terminal(6, 80);
    assert.equal(draw(numbered(4)), "<clear><home>TITLE\nline 1\nline 2\nline 3\nline 4\n<rest>");
    assert.equal(draw(numbered(5)), "<home>TITLE\nline 1\nline 2\nline 3\n(2 more lines)\n<rest>");
    assert.equal(
      draw(numbered(5), { kept: "last" }),
      "<home>TITLE\n(2 earlier)\nline 3\nline 4\nline 5\n<rest>",
    );
  });

  test("counts a line that is wrapped as several, and colours as nothing", () => {
    const draw = terminal(6, 10);
    const wide = `\x1b[31m${"x".repeat(10)}\x1b[39m`;
    assert.equal(
      draw(`T\n${wide}\n${"y".repeat(20)}\nz`),
      `<clear><home>T\n${wide}\n${"y".repeat(20)}\nz\n<rest>`,
    );
    assert.equal(draw(`T\n${wide}\n${"y".repeat(21)}\nz`), `<home>T\n${wide}\n(2 more lines)\n<rest>`);
  });

  test("keeps what is said below", () => {
    const draw = terminal(6, 80);
    assert.equal(
      draw(numbered(9), { foot: "no answer" }),
      "<clear><home>TITLE\nline 1\n(8 more lines)\n\nno answer\n<rest>",
    );
  });

  test("shows everything where the terminal does not say its size", () => {
    for (const rows of [undefined, 0]) assert.match(terminal(rows)(numbered(90)), /line 90\n<rest>$/);
  });
});
