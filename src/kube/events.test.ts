import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { EventRecorder, type EventWish } from "./events.ts";
import { bench, refusal, settle } from "./testing.ts";

const EVENTS = "/apis/events.k8s.io/v1/namespaces/default/events";

function made() {
  const { server, clock, client } = bench();
  let drawn = 0;
  const random = { bytes: (length: number) => new Uint8Array(length).fill(++drawn) };
  const recorder = new EventRecorder({ client, clock, random, controller: "x.dev/y", instance: "y-1" });
  const reported = () =>
    server.list(EVENTS).map((event) => {
      const series = event["series"] as { count: number } | undefined;
      return `${String(event["reason"])} ${String(event["note"])} ×${series?.count ?? 1}`;
    });
  return { server, clock, recorder, reported };
}

function wish(note: string, uid = "u1"): EventWish {
  const metadata = { name: "db", namespace: "default", uid };
  return { regarding: { kind: "Db", metadata }, type: "Normal", reason: "Grew", action: "Grow", note };
}

test("an event that comes again is counted on the first one, at most once a minute", async () => {
  const { server, clock, recorder, reported } = made();
  for (let i = 0; i < 30; i++) {
    recorder.record(wish("to 5"));
    await clock.advance(5_000);
  }
  await clock.advance(60_000);
  assert.deepEqual(reported(), ["Grew to 5 ×30"]);
  assert.ok(server.requests.length <= 5, `${server.requests.length} requests for 30 events`);
  await clock.advance(10 * 60_000);
  recorder.record(wish("to 5"));
  await settle();
  assert.equal(reported().length, 2, "long after, it is a new one");
  await recorder.stop();
  assert.equal(clock.timers, 0);
});

test("one object's flood does not go to the server, nor hide another's events", async () => {
  const { clock, recorder, reported } = made();
  for (let i = 0; i < 200; i++) recorder.record(wish(`note ${i}`));
  recorder.record(wish("quiet one", "u2"));
  await clock.advance(1_000);
  assert.equal(reported().length, 26);
  assert.equal(recorder.dropped, 175);
  await clock.advance(120_000);
  recorder.record(wish("later"));
  await clock.advance(100);
  assert.equal(reported().length, 27, "with time there is budget again");
  await recorder.stop();
});

test("a server that is away gets them when it is back; one that refuses them is not asked for ever", async () => {
  const { server, clock, recorder, reported } = made();
  let down = 2;
  server.intercept = () => (down-- > 0 ? refusal(503, "ServiceUnavailable", "away") : undefined);
  recorder.record(wish("a"));
  await clock.advance(5_000);
  assert.equal(reported().length, 1);
  server.intercept = () => refusal(403, "Forbidden", "no");
  const before = server.requests.length;
  recorder.record(wish("b"));
  await clock.advance(60_000);
  assert.equal(server.requests.length, before + 1);
  assert.equal(recorder.dropped, 1);
  await recorder.stop();
});

test("a series whose event has expired at the server begins anew, with its count", async () => {
  const { server, clock, recorder, reported } = made();
  recorder.record(wish("again"));
  await clock.advance(1_000);
  server.remove(EVENTS, server.list(EVENTS)[0]?.metadata.name ?? "");
  recorder.record(wish("again"));
  await clock.advance(70_000);
  assert.deepEqual(reported(), ["Grew again ×2"]);
  await recorder.stop();
});

test("an object is let go once its event is told, however long the series may go on", async () => {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  const { clock, recorder, reported } = made();
  const told = (note: string) => {
    const one = wish(note);
    recorder.record(one);
    return new WeakRef(one.regarding);
  };
  const objects = [told("to 3"), told("to 5")];
  await clock.advance(1_000);
  // What was just looked at through a WeakRef stays until the next turn.
  await setImmediate();
  collect();
  assert.deepEqual(
    objects.map((object) => object.deref()),
    [undefined, undefined],
  );
  recorder.record(wish("to 5"));
  await clock.advance(60_000);
  assert.deepEqual(reported(), ["Grew to 3 ×1", "Grew to 5 ×2"]);
  await recorder.stop();
});
