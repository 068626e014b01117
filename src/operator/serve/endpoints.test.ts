import assert from "node:assert/strict";
import { request } from "node:http";
import { test } from "node:test";
import { ManualClock } from "../../kube/testing.ts";
import { openEndpoints } from "./endpoints.ts";
import type { StoreFacts } from "./health.ts";
import { OperatorMetrics } from "./metrics.ts";

const ANY = { host: "127.0.0.1", port: 0 };

function get(port: number | undefined, path: string): Promise<{ status: number; body: string }> {
  return new Promise((resolve, reject) => {
    const asked = request({ host: "127.0.0.1", port, path, agent: false }, (response) => {
      let body = "";
      response
        .on("data", (chunk) => (body += String(chunk)))
        .on("end", () => resolve({ status: response.statusCode ?? 0, body }));
    });
    asked.on("error", reject).end();
  });
}

test("alive from the start, ready when the stores are in step, restarted when one has ended", async (t) => {
  const clock = new ManualClock();
  const metrics = new OperatorMetrics({ clock, version: "1.2.3" });
  const options = { clock, metrics, metricsAddress: ANY, healthAddress: ANY };
  const endpoints = await openEndpoints(options);
  t.after(() => endpoints.close());
  const status = async (path: string) => (await get(endpoints.healthPort, path)).status;
  assert.deepEqual([await status("/healthz"), await status("/readyz")], [200, 503]);
  let store: StoreFacts = { resource: "pods", synced: false };
  endpoints.watch({
    queue: { depth: 3, running: 0, longestRunMs: 0, longestWaitMs: 0 },
    leads: () => false,
    stores: () => [store],
  });
  assert.equal(await status("/readyz"), 503);
  store = { resource: "pods", synced: true };
  assert.deepEqual([await status("/healthz"), await status("/readyz")], [200, 200]);
  const { status: code, body } = await get(endpoints.metricsPort, "/metrics");
  assert.equal(code, 200);
  assert.match(body, /^quorate_queue_depth 3$/m);
  assert.match(body, /^quorate_lease_held 0$/m);
  assert.match(body, /^quorate_stores_in_step\{resource="pods"\} 1$/m);
  assert.equal((await get(endpoints.metricsPort, "/healthz")).status, 404);
  store = { resource: "pods", synced: true, ended: true };
  assert.equal(await status("/healthz"), 503);
});

test("an address that is taken is an error, and nothing stays open", async (t) => {
  const clock = new ManualClock();
  const metrics = new OperatorMetrics({ clock, version: "1.2.3" });
  const first = await openEndpoints({ clock, metrics, metricsAddress: ANY });
  t.after(() => first.close());
  const taken = { host: "127.0.0.1", port: first.metricsPort ?? 0 };
  await assert.rejects(
    openEndpoints({ clock, metrics, metricsAddress: ANY, healthAddress: taken }),
    /EADDRINUSE/,
  );
});
