/**
 * A terminal session as an animated SVG: frames of text, each shown from its time until the next one. The size is
 * fixed and nothing is loaded from elsewhere, so a README can embed it; without animation it shows the last frame.
 */

export interface Frame {
  /** When it appears. */
  readonly atMs: number;
  readonly lines: readonly string[];
}

export interface Screen {
  readonly columns: number;
  readonly rows: number;
  readonly title: string;
  /** How long each frame stays at least: what was faster than one can read is slowed down. */
  readonly leastMs?: number;
  /** How long the last frame stays before the animation starts again. */
  readonly restMs: number;
}

const CHARACTER = 7.8;
const LINE = 17;
const MARGIN = 14;
const BAR = 30;

const COLOURS: readonly (readonly [RegExp, string])[] = [
  [/^\$ /, "command"],
  [/^#/, "note"],
  [/\bhealthy\b.*\d/, "good"],
  [/\b(?:exited|stopped|starting|failed|unknown|absent|pending)\b/, "bad"],
];

export function renderSvg(frames: readonly Frame[], screen: Screen): string {
  const shown = slowed(merged(frames), screen.leastMs ?? 0);
  const last = shown.at(-1);
  if (last === undefined) throw new Error("a recording needs at least one frame");
  const totalMs = last.atMs + screen.restMs;
  const width = Math.ceil(screen.columns * CHARACTER + 2 * MARGIN);
  const height = BAR + screen.rows * LINE + 2 * MARGIN;
  const groups = shown.map((frame, index) => {
    const until = shown[index + 1]?.atMs ?? totalMs;
    return group(frame, screen, frame === last, [frame.atMs / totalMs, until / totalMs], totalMs);
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="${escaped(screen.title)}">
<style>text{font:13px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;fill:#d0d7de;white-space:pre}.command{fill:#79c0ff}.note{fill:#8b949e}.good{fill:#7ee787}.bad{fill:#ffa657}.title{fill:#8b949e}</style>
<rect width="${width}" height="${height}" rx="8" fill="#0d1117"/>
<circle cx="20" cy="15" r="5" fill="#ff7b72"/><circle cx="37" cy="15" r="5" fill="#e3b341"/><circle cx="54" cy="15" r="5" fill="#7ee787"/>
<text class="title" x="76" y="19">${escaped(screen.title)}</text>
${groups.join("\n")}
</svg>
`;
}

/** Equal frames one after another are one. */
function merged(frames: readonly Frame[]): Frame[] {
  return frames.filter((frame, index) => {
    const before = frames[index - 1];
    return before === undefined || before.lines.join("\n") !== frame.lines.join("\n");
  });
}

function slowed(frames: readonly Frame[], leastMs: number): Frame[] {
  let [at, before] = [0, 0];
  return frames.map(({ atMs, lines }, index) => {
    at = index === 0 ? atMs : at + Math.max(leastMs, atMs - before);
    before = atMs;
    return { atMs: at, lines };
  });
}

function group(
  { lines }: Frame,
  { columns, rows }: Screen,
  isLast: boolean,
  [from, until]: readonly [number, number],
  totalMs: number,
): string {
  const texts = lines.slice(0, rows).flatMap((line, index) => {
    const text = line.length > columns ? `${line.slice(0, columns - 1)}…` : line;
    if (text.trim() === "") return [];
    const y = BAR + MARGIN + (index + 0.75) * LINE;
    const colour = COLOURS.find(([pattern]) => pattern.test(text))?.[1];
    return [
      `<text x="${MARGIN}" y="${y}"${colour === undefined ? "" : ` class="${colour}"`}>${escaped(text)}</text>`,
    ];
  });
  const [begin, end] = [from.toFixed(4), until.toFixed(4)];
  const values = isLast ? "hidden;visible" : "hidden;visible;hidden";
  const times = isLast ? `0;${begin}` : `0;${begin};${end}`;
  // The first one begins at zero, where two times may not be equal.
  const starts = from === 0 ? { values: "visible;hidden", times: `0;${end}` } : { values, times };
  const animate = `<animate attributeName="visibility" calcMode="discrete" dur="${totalMs}ms" repeatCount="indefinite" values="${starts.values}" keyTimes="${starts.times}"/>`;
  return `<g visibility="${isLast ? "visible" : "hidden"}">${animate}${texts.join("")}</g>`;
}

function escaped(text: string): string {
  return text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");
}
