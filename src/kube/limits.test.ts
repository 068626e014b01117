import assert from "node:assert/strict";
import { test } from "node:test";
import { deadline } from "../seams/clock.ts";
import {
  KubeFailure,
  type KubeRequest,
  type KubeResponse,
  type KubeTransport,
} from "../seams/kube-transport.ts";
import { limited } from "./limits.ts";
import { ManualClock, settle } from "./testing.ts";

const request: KubeRequest = { method: "GET", path: "/x" };
const forever = new AbortController().signal;

function made(limits: Partial<Parameters<typeof limited>[2]> = {}) {
  const clock = new ManualClock();
  const open: ((response: KubeResponse) => void)[] = [];
  let sent = 0;
  const inner: KubeTransport = {
    request: () => {
      sent++;
      return new Promise((resolve) => open.push(resolve));
    },
    stream: () => {
      sent++;
      return Promise.resolve({ ok: true, objects: (async function* () {})() });
    },
    close: () => Promise.resolve(),
  };
  const transport = limited(inner, clock, {
    perSecond: 10,
    burst: 3,
    concurrent: 100,
    waiting: 100,
    ...limits,
  });
  return { clock, transport, open, sent: () => sent };
}

test("a burst goes at once, the rest at the rate", async () => {
  const { clock, transport, sent } = made();
  for (let i = 0; i < 10; i++) void transport.request(request, { signal: forever });
  await settle();
  assert.equal(sent(), 3);
  await clock.advance(100);
  assert.equal(sent(), 4);
  await clock.advance(1_000);
  assert.equal(sent(), 10);
});

test("no more are under way than allowed, and watches do not count", async () => {
  const { transport, open, sent } = made({ burst: 100, concurrent: 2 });
  for (let i = 0; i < 3; i++) await transport.stream(request, { signal: forever });
  assert.equal(sent(), 3);
  for (let i = 0; i < 5; i++) void transport.request(request, { signal: forever });
  await settle();
  assert.equal(sent(), 5);
  open[0]?.({ status: 200, body: {} });
  await settle();
  assert.equal(sent(), 6);
});

test("what is urgent goes past everything", async () => {
  const { transport, sent } = made({ burst: 1, concurrent: 1 });
  for (let i = 0; i < 5; i++) void transport.request(request, { signal: forever });
  await settle();
  assert.equal(sent(), 1);
  void transport.request(request, { signal: forever, urgent: true });
  assert.equal(sent(), 2);
});

test("who waits too long is reported that it was our own limit, and nothing was sent", async () => {
  const { clock, transport, sent } = made({ burst: 1, perSecond: 0.1 });
  void transport.request(request, { signal: forever });
  using limit = deadline(clock, 500);
  const refused = transport.request(request, { signal: limit.signal }).catch((error: unknown) => error);
  await clock.advance(600);
  const error = await refused;
  assert.ok(error instanceof KubeFailure && error.why === "overloaded" && error.progress === "not-sent");
  assert.equal(sent(), 1);
});

test("the queue for it is bounded", async () => {
  const { transport } = made({ burst: 0, waiting: 2 });
  for (let i = 0; i < 2; i++) void transport.request(request, { signal: forever });
  await assert.rejects(transport.request(request, { signal: forever }), /calls in flight, 2 waiting/);
});
