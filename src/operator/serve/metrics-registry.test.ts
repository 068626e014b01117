import assert from "node:assert/strict";
import { test } from "node:test";
import { Registry, type MetricDefinition } from "./metrics-registry.ts";

const calls: MetricDefinition = { name: "calls_total", type: "counter", help: "Calls.", labels: ["verb"] };
const size: MetricDefinition = { name: "size", type: "gauge", help: "Sizes, in\nbytes.", labels: [] };
const took: MetricDefinition = {
  name: "took_seconds",
  type: "histogram",
  help: "Times.",
  labels: ["verb"],
  buckets: [0.1, 1],
};

test("counters, gauges and histograms are written as the exposition format has them", () => {
  const registry = new Registry([calls, size, took]);
  registry.add(calls, ["get"]);
  registry.add(calls, ["get"], 2);
  registry.add(calls, ['say "hi"\\\n']);
  registry.collect(() => [[size, [{ labels: [], value: 1.5 }]]]);
  for (const value of [0.05, 0.1, 0.5, 7]) registry.observe(took, value, ["get"]);
  assert.equal(
    registry.text(),
    `# HELP calls_total Calls.
# TYPE calls_total counter
calls_total{verb="get"} 3
calls_total{verb="say \\"hi\\"\\\\\\n"} 1
# HELP size Sizes, in\\nbytes.
# TYPE size gauge
size 1.5
# HELP took_seconds Times.
# TYPE took_seconds histogram
took_seconds_bucket{verb="get",le="0.1"} 2
took_seconds_bucket{verb="get",le="1"} 3
took_seconds_bucket{verb="get",le="+Inf"} 4
took_seconds_sum{verb="get"} 7.65
took_seconds_count{verb="get"} 4
`,
  );
});

test("a gauge that is not collected any more has no series", () => {
  const registry = new Registry([size]);
  let there = true;
  registry.collect(() => (there ? [[size, [{ labels: [], value: 1 }]]] : []));
  assert.match(registry.text(), /^size 1$/m);
  there = false;
  assert.doesNotMatch(registry.text(), /^size /m);
});

test("a metric has no more than so many series, and what is dropped is counted", () => {
  const registry = new Registry([calls, took]);
  for (let i = 0; i < 20_010; i++) registry.add(calls, [`verb-${i}`]);
  registry.add(calls, ["verb-0"]);
  assert.equal(registry.dropped, 10);
  assert.match(registry.text(), /^calls_total\{verb="verb-0"\} 2$/m);
  assert.doesNotMatch(registry.text(), /verb-20005/);
});

test("labels that do not fit the definition, and metrics of nobody, are errors of the program", () => {
  const registry = new Registry([calls]);
  assert.throws(() => registry.add(calls, []), /has labels verb, and was given 0/);
  assert.throws(() => registry.add(size), /not of this registry/);
  assert.throws(() => registry.observe(took, 1, ["get"]), /not of this registry/);
  assert.throws(() => new Registry([calls, calls]), /twice/);
  assert.throws(() => new Registry([{ ...calls, name: "a-b" }]), /letters, digits/);
});
