/**
 * A violation as a picture: one HTML file without dependencies. A lane per client, a bar per operation from
 * call to return, those that contradict each other marked, drag and wheel to move and zoom. Of a long
 * history it shows what is around the violations, and says so.
 */
import { describeRequest, describeSeen, type History, type Operation, type Violation } from "./history.ts";
import { PAGE_SCRIPT, PAGE_STYLE } from "./timeline-page.ts";

export interface TimelineOptions {
  readonly title: string;
  /** Marks on the time axis, such as faults and steps. */
  readonly notes?: readonly { readonly at: number; readonly text: string }[];
  /** Most operations that are drawn. */
  readonly most?: number;
}

const MOST = 3_000;
const MOST_VIOLATIONS = 50;
const AROUND_MS = 500;
const [WIDTH, LABEL, ROW, BAR] = [1280, 120, 18, 13];

export function timeline(
  history: History,
  violations: readonly Violation[],
  options: TimelineOptions,
): string {
  const shown = choose(history, violations, options.most ?? MOST);
  const marked = new Map<number, number[]>();
  for (const [index, { operations }] of violations.entries())
    for (const id of operations) marked.set(id, [...(marked.get(id) ?? []), index]);
  const from = Math.min(...shown.map(({ call }) => call), Number.POSITIVE_INFINITY);
  const until = Math.max(...shown.map(({ end }) => end), 0);
  const span = Math.max(until - from, 1);
  const x = (time: number) => ((time - from) / span) * WIDTH;
  const lanes = lanesOf(shown);
  const parts: string[] = [];
  const labels: string[] = [];
  let row = 1;
  for (const [client, rows] of lanes) {
    labels.push(`<text class="lane" x="4" y="${(row + 1) * ROW - 5}">${escape(client)}</text>`);
    for (const operations of rows) {
      row++;
      for (const operation of operations)
        parts.push(bar(operation, x, (row - 1) * ROW, marked.get(operation.id)));
    }
    parts.push(`<line class="rule" x1="0" x2="${WIDTH}" y1="${row * ROW}" y2="${row * ROW}"/>`);
  }
  const height = (row + 1) * ROW;
  const notes = (options.notes ?? [])
    .filter(({ at }) => at >= from && at <= until)
    .map(
      ({ at, text }) =>
        `<g class="note"><line x1="${x(at).toFixed(2)}" x2="${x(at).toFixed(2)}" y1="0" y2="${height}"/><title>${escape(text)}</title></g>`,
    );
  const data = { title: options.title, from, until, shown: shown.length, of: history.operations.length };
  const left = history.operations.length - shown.length;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>${escape(options.title)}</title>
<style>${PAGE_STYLE}</style>
</head>
<body>
<h1>${escape(options.title)}</h1>
<p>${violations.length} ${violations.length === 1 ? "violation" : "violations"}; ${shown.length} of ${history.operations.length} operations${left > 0 ? `, those around the violations (${left} are left out)` : ""}; ${(span / 1000).toFixed(2)} s from left to right. Wheel: zoom, drag: move, double click: back. Point at a bar to read it.</p>
<ol>
${violations
  .slice(0, MOST_VIOLATIONS)
  .map((violation, i) => line(violation, i))
  .join("\n")}
</ol>
<p class="legend"><span class="put">write</span> <span class="get">read</span> <span class="stale-get">serializable read</span> <span class="unknown">outcome unknown</span> <span class="refused">refused</span> <span class="violating">violating</span></p>
<div class="picture">
<svg id="labels" viewBox="0 0 ${LABEL} ${height}" width="${LABEL}" height="${height}" preserveAspectRatio="none">
${labels.join("\n")}
</svg>
<svg id="picture" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" data-height="${height}" data-width="${WIDTH}" preserveAspectRatio="none">
<g id="bars">
${parts.join("\n")}
${notes.join("\n")}
</g>
</svg>
</div>
<pre id="detail"></pre>
<script type="application/json" id="history">${json({ ...data, violations, operations: shown.map(plain) })}</script>
<script>${PAGE_SCRIPT}</script>
</body>
</html>
`;
}

/** Those that violate, and what was going on around them, as many as fit. */
function choose(
  { operations }: History,
  violations: readonly Violation[],
  most: number,
): readonly Operation[] {
  if (operations.length <= most) return operations;
  const named = new Set(violations.slice(0, MOST_VIOLATIONS).flatMap((violation) => violation.operations));
  const moments = violations.slice(0, MOST_VIOLATIONS).map(({ at }) => at);
  const distance = (operation: Operation): number => {
    if (named.has(operation.id)) return -1;
    return Math.min(
      ...moments.map((at) => Math.max(operation.call - at, at - operation.end, 0)),
      Number.POSITIVE_INFINITY,
    );
  };
  const near = operations
    .map((operation) => ({ operation, far: distance(operation) }))
    .toSorted((a, b) => a.far - b.far);
  const within = near.slice(0, most).filter(({ far }, i) => far <= AROUND_MS || i < most / 10);
  return within.map(({ operation }) => operation).toSorted((a, b) => a.call - b.call);
}

/** Rows per client, so that bars of one row do not overlap. */
function lanesOf(operations: readonly Operation[]): Map<string, Operation[][]> {
  const lanes = new Map<string, Operation[][]>();
  for (const operation of operations.toSorted((a, b) => a.call - b.call)) {
    const rows = lanes.get(operation.client) ?? [];
    lanes.set(operation.client, rows);
    const free = rows.find((row) => (row.at(-1)?.end ?? 0) < operation.call);
    if (free === undefined) rows.push([operation]);
    else free.push(operation);
  }
  return new Map([...lanes].toSorted(([a], [b]) => a.localeCompare(b, "en", { numeric: true })));
}

function bar(
  operation: Operation,
  x: (time: number) => number,
  y: number,
  marks: readonly number[] | undefined,
): string {
  const { id, call, end, request, outcome } = operation;
  const kind =
    request.kind === "stale-get"
      ? "stale-get"
      : request.kind === "get" || request.kind === "range"
        ? "get"
        : "put";
  const classes = ["op", kind, outcome.kind, ...(marks === undefined ? [] : ["violating"])].join(" ");
  const width = Math.max(x(end) - x(call), 0.5);
  return `<rect class="${classes}" data-id="${id}" x="${x(call).toFixed(2)}" y="${y}" width="${width.toFixed(2)}" height="${BAR}"><title>${escape(words(operation))}</title></rect>`;
}

function words({ id, client, call, end, request, outcome }: Operation): string {
  const time = `${client}, ${call.toFixed(2)} to ${end.toFixed(2)} ms (${(end - call).toFixed(2)})`;
  return `#${id} ${describeRequest(request)}\n${time}\n${outcomeWords(outcome)}`;
}

function outcomeWords(outcome: Operation["outcome"]): string {
  if (outcome.kind !== "answered") return `${outcome.kind}: ${outcome.why}`;
  const { revision, succeeded, deleted, seen } = outcome.answer;
  return [
    `revision ${revision}`,
    ...(succeeded === undefined ? [] : [succeeded ? "succeeded" : "failed"]),
    ...(deleted === undefined ? [] : [deleted ? "deleted" : "nothing to delete"]),
    ...[...(seen ?? [])].map(([key, version]) => `${key}: ${describeSeen(version)}`),
  ].join(", ");
}

function line({ rule, message, operations, at }: Violation, index: number): string {
  return `<li data-violation="${index}" data-at="${at}" data-operations="${operations.join(" ")}"><b>${escape(rule)}</b> ${escape(message)}</li>`;
}

function plain({ outcome, ...rest }: Operation): object {
  return { ...rest, outcome: outcomeWords(outcome) };
}

function escape(text: string): string {
  return text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");
}

/** Inside a script element nothing may look like its end. */
function json(value: unknown): string {
  return JSON.stringify(value).replaceAll("<", "\\u003c");
}
