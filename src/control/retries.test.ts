import assert from "node:assert/strict";
import { test } from "node:test";
import type { Action } from "../core/action.ts";
import { EtcdError } from "../etcd/errors.ts";
import { Retries } from "./retries.ts";

const stop: Action = { kind: "StopWorkload", member: "demo-1" };
const other: Action = { kind: "StopWorkload", member: "demo-2" };

function notYet(): EtcdError {
  return new EtcdError({
    kind: "unhealthy-cluster",
    call: "Cluster.MemberAdd",
    endpoint: "demo-1",
    code: "UNAVAILABLE",
    said: "unhealthy cluster",
    outcome: "not-applied",
  });
}

test("a failed step waits twice as long each time, up to ten seconds", () => {
  const retries = new Retries();
  const waits = Array.from({ length: 8 }, () => retries.failed(stop, new Error("no"), 0).retryAt);
  assert.deepEqual(waits, [200, 400, 800, 1600, 3200, 6400, 10_000, 10_000]);
});

test("what etcd will take in a moment is tried again twice a second, however often (R19)", () => {
  const retries = new Retries();
  const waits = Array.from({ length: 8 }, () => retries.failed(stop, notYet(), 0).retryAt);
  assert.deepEqual(waits.slice(-5), [500, 500, 500, 500, 500]);
});

test("only the step that failed waits, and only until its time", () => {
  const retries = new Retries();
  retries.failed(stop, new Error("no"), 1000);
  assert.equal(retries.waiting(stop, 1199)?.message, "no");
  assert.equal(retries.waiting(stop, 1200), undefined);
  assert.equal(retries.waiting(other, 1000), undefined);
});

test("the same failure again is no news, whatever its words; one of another kind is", () => {
  const retries = new Retries();
  assert.equal(retries.failed(stop, new Error("no answer within 1.0 s"), 0).repeated, false);
  assert.equal(retries.failed(stop, new Error("no answer within 1.1 s"), 0).repeated, true);
  assert.equal(retries.failed(stop, notYet(), 0).repeated, false);
  assert.equal(retries.failed(other, notYet(), 0).repeated, false, "another step");
});

test("a step that succeeded, or that nobody wants any more, starts afresh", () => {
  const retries = new Retries();
  retries.failed(stop, new Error("no"), 0);
  retries.succeeded(stop);
  assert.equal(retries.failed(stop, new Error("no"), 0).attempts, 1);
  retries.keepOnly(other, 400);
  assert.equal(retries.failed(stop, new Error("no"), 0).attempts, 1);
});

test("a step that comes back after others that it led to goes on to wait longer each time", () => {
  const retries = new Retries();
  let now = 0;
  for (let attempt = 1; attempt <= 4; attempt++) {
    const { attempts, retryAt } = retries.failed(stop, new Error("no"), now);
    assert.equal(attempts, attempt);
    retries.keepOnly(other, now + 1);
    retries.succeeded(other);
    assert.equal(retries.waiting(stop, now + 2)?.retryAt, retryAt);
    now = retryAt;
  }
});
