/** No spec that is accepted takes long to decide on or to render: one tenant's must not delay the clusters of others. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { EtcdClusterSpec } from "../../src/api/etcd-cluster-spec.ts";
import { API_VERSION } from "../../src/api/metadata.ts";
import { parseCluster } from "../../src/api/parse-cluster.ts";
import { decide } from "../../src/core/decide.ts";
import { statusOf } from "../../src/core/status/status.ts";
import { edit, healthy } from "../../src/core/testing/cluster.ts";
import { IN_PLACE } from "../../src/core/testing/status.ts";
import { observeObjects } from "../../src/operator/observe/observe-objects.ts";
import { fixture } from "../../src/operator/testing/fixtures.ts";
import { clusterWith, rendered } from "../../src/operator/testing/rendered.ts";
import { pruned } from "./check.ts";
import { fieldsOf } from "./fields.ts";
import { cpuMs, MOST_MS } from "./time.ts";
import { trialsOf } from "./trials.ts";

const settled = healthy({ replicas: 9 });

const recorded = fixture("healthy");

/** What a pass reads, of objects as the API server gives them; undefined for a spec that is refused. */
function observed(spec: unknown): EtcdClusterSpec | undefined {
  const cluster = { ...recorded.objects.cluster, spec };
  const read = observeObjects({ ...recorded.objects, cluster }, { now: recorded.now, fenced: false });
  return read.ok && read.state.cluster.invalid === undefined ? read.state.cluster.spec : undefined;
}

/** What it computes of a spec: by members that run it, and by members that run another. */
function pass(spec: EtcdClusterSpec): void {
  const view = clusterWith(spec);
  rendered(view);
  for (const observation of [view.observation, edit(settled, spec)])
    statusOf(observation, decide(observation), undefined, IN_PLACE);
}

function parsed(spec: unknown) {
  return parseCluster({ apiVersion: API_VERSION, kind: "EtcdCluster", metadata: { name: "demo" }, spec });
}

test("every value that a field accepts is observed, decided on and rendered in 50 ms", () => {
  const slow: string[] = [];
  let tried = 0;
  // What Kubernetes is handed as it is differs little in cost.
  for (const field of fieldsOf().filter(({ handedOn }, index) => !handedOn || index % 10 === 0))
    for (const { answer, spec, value } of trialsOf(field)) {
      if (answer === "same") continue;
      const ms = cpuMs(() => {
        const read = observed(pruned(spec));
        if (read) pass(read);
      });
      tried++;
      if (ms > MOST_MS) slow.push(`${field.path}: ${JSON.stringify(value)?.slice(0, 80)} took ${ms} ms`);
    }
  assert.deepEqual(slow, []);
  assert.ok(tried > 500, `${tried} values`);
});

/** Lists and texts as long as they may be, until the whole has this many bytes. */
function fat(bytes: number): object {
  const variables = (length: number) =>
    Array.from({ length: 128 }, (_, index) => ({ name: `V${index}`, value: "x".repeat(length) }));
  const each = Math.floor(bytes / 16 / 128) - 40;
  const sidecars = Array.from({ length: 16 }, (_, index) => ({
    name: `side-${index}`,
    image: "registry.example/side",
    env: variables(each),
  }));
  return { version: "3.6.16", replicas: 9, pod: { sidecars } };
}

test("the largest spec that is accepted is handled in 50 ms, and a larger one is refused", () => {
  const largest = parsed(fat(240 * 1024));
  assert.ok(largest.ok, JSON.stringify(largest));
  const ms = cpuMs(() => pass(largest.cluster.spec));
  assert.ok(ms <= MOST_MS, `${ms} ms`);
  const larger = parsed(fat(1024 * 1024));
  assert.deepEqual(
    larger.ok ||
      larger.errors.map(({ path, message }) => [path, /may not be more than 256 KiB/.test(message)]),
    [["spec", true]],
  );
});
