import assert from "node:assert/strict";
import { test } from "node:test";
import type { KubeTransport } from "../seams/kube-transport.ts";
import { ServerTime } from "./server-time.ts";
import { ManualClock } from "./testing.ts";

/** A server whose clock is `aheadMs` ahead of ours at the beginning, and which takes its time. */
function world(aheadMs: number, tookMs = () => 20) {
  const clock = new ManualClock();
  const origin = clock.now() + aheadMs;
  const transport: KubeTransport = {
    request: async () => {
      await clock.advance(tookMs() / 2);
      const date = Math.floor((origin + clock.monotonic()) / 1_000) * 1_000;
      await clock.advance(tookMs() / 2);
      return { status: 200, body: {}, date };
    },
    stream: () => assert.fail("no watch is opened"),
    close: () => Promise.resolve(),
  };
  const time = new ServerTime(clock);
  const heard = time.listening(transport);
  const ask = () =>
    heard.request({ method: "GET", path: "/version" }, { signal: new AbortController().signal });
  return { clock, time, ask };
}

const near = (found: number | undefined, wanted: number) =>
  assert.ok(found !== undefined && Math.abs(found - wanted) <= 510, `${found}, not ${wanted}`);

test("before the first answer nothing is known", () => {
  const { time } = world(0);
  assert.equal(time.aheadMs(), undefined);
  assert.equal(time.now(), undefined);
});

test("the difference is known to half a second, and at once when our clock is set", async () => {
  const { clock, time, ask } = world(-90_000);
  await ask();
  near(time.aheadMs(), 90_000);
  await clock.advance(3_600_000);
  near(time.aheadMs(), 90_000);
  clock.jump(-90_000);
  near(time.aheadMs(), 0);
  near(time.now(), clock.now());
});

test("an answer that was long on its way changes nothing", async () => {
  let tookMs = 20;
  const { time, ask } = world(0, () => tookMs);
  await ask();
  tookMs = 120_000;
  await ask();
  near(time.aheadMs(), 0);
});
