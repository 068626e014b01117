import assert from "node:assert/strict";
import { test } from "node:test";
import { LeaseLost, Term } from "../../kube/term.ts";
import { ManualClock } from "../../kube/testing.ts";
import type { KubeRequest, KubeTransport } from "../../seams/kube-transport.ts";
import { EFFECT_MS, Fence, fencedTransport } from "./fencing.ts";

const signal = new AbortController().signal;

function world() {
  const clock = new ManualClock();
  const sent: string[] = [];
  const transport: KubeTransport = {
    request: ({ method }: KubeRequest) => {
      sent.push(method);
      return Promise.resolve({ status: 200, body: {} });
    },
    stream: () => Promise.resolve({ ok: false, response: { status: 404, body: {} } }),
    close: () => Promise.resolve(),
  };
  const fence = new Fence();
  const fenced = fencedTransport(transport, fence);
  const call = (method: KubeRequest["method"]) => fenced.request({ method, path: "/api" }, { signal });
  const lead = () => {
    const from = { monotonic: clock.monotonic(), wall: clock.now() };
    fence.lead(new Term(clock, 12_000, from, () => undefined));
  };
  return { clock, fence, sent, call, lead };
}

test("who does not lead reads and writes nothing", async () => {
  const { fence, sent, call } = world();
  await call("GET");
  for (const method of ["POST", "PUT", "PATCH", "DELETE"] as const)
    await assert.rejects(call(method), /lease/);
  assert.deepEqual(sent, ["GET"]);
  assert.equal(fence.leads, false);
  assert.throws(() => fence.check(), LeaseLost);
});

test("who leads writes as long as the term lasts for the whole effect", async () => {
  const { clock, fence, sent, call, lead } = world();
  lead();
  await call("POST");
  assert.ok(fence.leads);
  // A pause of the process: nobody told it that its time is nearly over.
  clock.freeze(12_000 - EFFECT_MS);
  assert.equal(fence.leads, false);
  await assert.rejects(call("POST"));
  lead();
  await call("DELETE");
  assert.deepEqual(sent, ["POST", "DELETE"]);
});
