/**
 * A screen that is drawn over the one before, on a terminal. It fits its rows: what scrolls out of a terminal cannot be
 * drawn over, and every refresh would leave a copy behind. What was printed before stays where it can be scrolled to.
 */
import type { Output } from "../io.ts";

/** Less is no window that a person looks at, but one that does not know its size. */
const FEWEST_ROWS = 5;

export type Kept = "first" | "last";

export class LiveScreen {
  readonly #output: Output;
  #drawn = false;

  constructor(output: Output) {
    this.#output = output;
  }

  /** `text` ends without a newline. Of what does not fit, `kept` says which lines stay, beside the first. */
  draw(
    text: string,
    { kept = "first", foot = "" }: { readonly kept?: Kept; readonly foot?: string } = {},
  ): void {
    const lines = fitted(text.split("\n"), this.#output, kept, foot === "" ? [] : ["", ...foot.split("\n")]);
    const clear = this.#drawn ? "\x1b[H" : "\x1b[2J\x1b[H";
    this.#drawn = true;
    this.#output.write(`${clear}${lines.map((line) => `${line}\x1b[K\n`).join("")}\x1b[J`);
  }
}

/** How many lines a screen may have; the cursor stands on one more. Undefined: as many as there are. */
export function roomOf({ rows = 0 }: Output): number | undefined {
  return rows < FEWEST_ROWS ? undefined : rows - 1;
}

function fitted(
  lines: readonly string[],
  output: Output,
  kept: Kept,
  foot: readonly string[],
): readonly string[] {
  const room = roomOf(output);
  const heightOf = (some: readonly string[]) => some.reduce((sum, line) => sum + rowsOf(line, output), 0);
  if (room === undefined || heightOf(lines) + heightOf(foot) <= room) return [...lines, ...foot];
  const [title = "", ...rest] = lines;
  const order = kept === "last" ? rest.toReversed() : rest;
  // The title, and the line that says how many are left out.
  let left = room - heightOf([title, ...foot]) - 1;
  const taken: string[] = [];
  for (const line of order) {
    left -= rowsOf(line, output);
    if (left < 0) break;
    taken.push(line);
  }
  const hidden = rest.length - taken.length;
  return kept === "last"
    ? [title, `(${hidden} earlier)`, ...taken.toReversed(), ...foot]
    : [title, ...taken, `(${hidden} more lines)`, ...foot];
}

/** A line that is longer than the terminal takes several rows; colours take no place. */
function rowsOf(line: string, { columns = 0 }: Output): number {
  // oxlint-disable-next-line no-control-regex
  const width = line.replaceAll(/\x1b\[\d+m/g, "").length;
  return columns === 0 ? 1 : Math.max(1, Math.ceil(width / columns));
}
