/**
 * Counters, gauges and histograms, and the text that Prometheus reads (exposition format 0.0.4). Small on purpose:
 * labels are fixed by a metric's definition, and each metric has a limit of series, so that nothing a user
 * names can grow without end.
 */

export type MetricType = "counter" | "gauge" | "histogram";

export interface MetricDefinition {
  readonly name: string;
  readonly type: MetricType;
  /** One line for people: HELP, and the page docs/metrics.md. */
  readonly help: string;
  readonly labels: readonly string[];
  /** Upper bounds of a histogram's buckets, in ascending order; the last one, infinity, goes without saying. */
  readonly buckets?: readonly number[];
}

/** Values of a metric's labels, in the order of its definition. */
export type LabelValues = readonly string[];

export interface Sample {
  readonly labels: LabelValues;
  readonly value: number;
}

/** Gauges that are read when they are asked for: what is gone by then has no series. */
export type Collector = () => Iterable<readonly [MetricDefinition, Iterable<Sample>]>;

interface Distribution {
  readonly counts: number[];
  sum: number;
  count: number;
}

export const CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8";
/** Of one metric. 200 clusters of nine members have 1,800 of the widest. */
const MOST_SERIES = 20_000;

export class Registry {
  readonly #definitions: readonly MetricDefinition[];
  readonly #values = new Map<string, Map<string, number>>();
  readonly #distributions = new Map<string, Map<string, Distribution>>();
  readonly #collectors: Collector[] = [];
  #dropped = 0;

  /** Metrics appear in the text in this order; one without series appears with its help all the same. */
  constructor(definitions: readonly MetricDefinition[]) {
    this.#definitions = definitions;
    for (const { name, labels } of definitions) {
      if (this.#values.has(name)) throw new TypeError(`metric ${name} is defined twice`);
      if (!NAME.test(name) || !labels.every((label) => NAME.test(label)))
        throw new TypeError(`metric ${name}: a name has letters, digits and underscores`);
      this.#values.set(name, new Map());
      this.#distributions.set(name, new Map());
    }
  }

  /** Values that were not kept because their metric has too many series already. */
  get dropped(): number {
    return this.#dropped;
  }

  /** Adds to a counter. */
  add(metric: MetricDefinition, labels: LabelValues = [], amount = 1): void {
    const series = this.#seriesOf(metric);
    const key = keyOf(metric, labels);
    const before = series.get(key);
    if (before !== undefined || this.#hasRoom(series)) series.set(key, (before ?? 0) + amount);
  }

  /** Counts one value into a histogram. */
  observe(metric: MetricDefinition, value: number, labels: LabelValues = []): void {
    const series = this.#distributions.get(metric.name);
    if (series === undefined) throw new TypeError(`metric ${metric.name} is not of this registry`);
    const key = keyOf(metric, labels);
    const { buckets = [] } = metric;
    let found = series.get(key);
    if (found === undefined) {
      if (!this.#hasRoom(series)) return;
      found = { counts: buckets.map(() => 0), sum: 0, count: 0 };
      series.set(key, found);
    }
    const index = buckets.findIndex((bound) => value <= bound);
    if (index >= 0) found.counts[index] = (found.counts[index] ?? 0) + 1;
    found.sum += value;
    found.count++;
  }

  collect(collector: Collector): void {
    this.#collectors.push(collector);
  }

  text(): string {
    const collected = this.#collected();
    const lines: string[] = [];
    for (const metric of this.#definitions) {
      lines.push(`# HELP ${metric.name} ${escapeHelp(metric.help)}`, `# TYPE ${metric.name} ${metric.type}`);
      for (const [key, value] of this.#seriesOf(metric))
        lines.push(`${metric.name}${key} ${numberOf(value)}`);
      for (const [key, value] of collected.get(metric.name) ?? [])
        lines.push(`${metric.name}${key} ${numberOf(value)}`);
      for (const [key, found] of this.#distributions.get(metric.name) ?? [])
        lines.push(...histogramLines(metric, key, found));
    }
    return `${lines.join("\n")}\n`;
  }

  #collected(): ReadonlyMap<string, Map<string, number>> {
    const all = new Map<string, Map<string, number>>();
    for (const collector of this.#collectors) {
      for (const [metric, samples] of collector()) {
        this.#seriesOf(metric);
        const series = all.get(metric.name) ?? new Map<string, number>();
        all.set(metric.name, series);
        for (const { labels, value } of samples)
          if (this.#hasRoom(series)) series.set(keyOf(metric, labels), value);
      }
    }
    return all;
  }

  #seriesOf(metric: MetricDefinition): Map<string, number> {
    const series = this.#values.get(metric.name);
    if (series === undefined) throw new TypeError(`metric ${metric.name} is not of this registry`);
    return series;
  }

  #hasRoom(series: ReadonlyMap<string, unknown>): boolean {
    if (series.size < MOST_SERIES) return true;
    this.#dropped++;
    return false;
  }
}

const NAME = /^[a-zA-Z_][a-zA-Z0-9_]*$/;

/** `{verb="get",code="200"}`; nothing for a metric without labels. */
function keyOf({ name, labels }: MetricDefinition, values: LabelValues): string {
  if (labels.length !== values.length)
    throw new TypeError(
      `metric ${name} has labels ${labels.join(", ")}, and was given ${values.length} values`,
    );
  if (labels.length === 0) return "";
  return `{${labels.map((label, index) => `${label}="${escapeValue(values[index] ?? "")}"`).join(",")}}`;
}

function histogramLines(
  { name, buckets = [] }: MetricDefinition,
  key: string,
  { counts, sum, count }: Distribution,
): string[] {
  const withBound = (bound: string) =>
    key === "" ? `{le="${bound}"}` : `${key.slice(0, -1)},le="${bound}"}`;
  let below = 0;
  const lines = buckets.map((bound, index) => {
    below += counts[index] ?? 0;
    return `${name}_bucket${withBound(numberOf(bound))} ${below}`;
  });
  return [
    ...lines,
    `${name}_bucket${withBound("+Inf")} ${count}`,
    `${name}_sum${key} ${numberOf(sum)}`,
    `${name}_count${key} ${count}`,
  ];
}

function numberOf(value: number): string {
  if (value === Number.POSITIVE_INFINITY) return "+Inf";
  return value === Number.NEGATIVE_INFINITY ? "-Inf" : String(value);
}

function escapeValue(text: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");
}

function escapeHelp(text: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n");
}
