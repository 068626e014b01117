import assert from "node:assert/strict";
import { test } from "node:test";
import { Controller, source, type Source } from "./controller.ts";
import { KubeError } from "./errors.ts";
import type { KubeObject } from "./resources.ts";
import { Store } from "./store.ts";
import { ManualClock, noRandom, settle } from "./testing.ts";

function owned(name: string, owner: string, resourceVersion: number): KubeObject {
  return { metadata: { name, labels: { owner }, uid: name, resourceVersion: String(resourceVersion) } };
}

function made(reconcile: (key: string) => Promise<{ againMs?: number } | void>, sources?: Source[]) {
  const clock = new ManualClock();
  const store = new Store<KubeObject>();
  const log: string[] = [];
  const controller = new Controller({
    name: "test",
    clock,
    random: noRandom,
    sources: sources ?? [source(store, (object) => [object.metadata?.labels?.["owner"] ?? ""])],
    reconcile,
    log: (level, message) => log.push(`${level} ${message}`),
  });
  const sync = (...objects: KubeObject[]) => {
    store.handle({ type: "restarted" });
    for (const object of objects) store.handle({ type: "applied", object });
    store.handle({ type: "synced", resourceVersion: "100" });
  };
  return { clock, store, controller, sync, log };
}

test("nothing runs before every source has seen everything; then each key runs once", async () => {
  const runs: string[] = [];
  const { controller, sync } = made((key) => Promise.resolve(void runs.push(key)));
  const starting = controller.start();
  await settle();
  assert.deepEqual(runs, []);
  sync(owned("a1", "a", 1), owned("a2", "a", 2), owned("b1", "b", 3));
  await starting;
  await settle();
  assert.deepEqual(runs, ["a", "b"]);
  await controller.stop();
});

test("an object that changes hands wakes both its old and its new owner", async () => {
  const runs: string[] = [];
  const { controller, sync, store } = made((key) => Promise.resolve(void runs.push(key)));
  sync(owned("x", "a", 1));
  await controller.start();
  await settle();
  runs.length = 0;
  store.handle({ type: "applied", object: owned("x", "b", 101) });
  await settle();
  assert.deepEqual(runs, ["a", "b"]);
  await controller.stop();
});

test("what a reconcile throws is reported and tried again; others go on", async () => {
  const runs: string[] = [];
  const { controller, sync, clock, log } = made(async (key) => {
    runs.push(key);
    await Promise.resolve();
    if (key === "bad") throw new Error("broken on purpose");
    return {};
  });
  sync(owned("1", "bad", 1), owned("2", "good", 2));
  await controller.start();
  await clock.advance(2_000);
  assert.ok(runs.filter((key) => key === "bad").length >= 3);
  assert.equal(runs.filter((key) => key === "good").length, 1);
  assert.match(log[0] ?? "", /^warn test bad: broken on purpose \(failure 1 in a row\)$/);
  await controller.stop();
});

test("429 with Retry-After: the key comes back when the server wants it, not before", async () => {
  let runs = 0;
  const { controller, sync, clock } = made(() => {
    runs++;
    if (runs > 1) return Promise.resolve();
    return Promise.reject(new KubeError("TooManyRequests", "GET /x", "429 busy", { retryAfterMs: 10_000 }));
  });
  sync(owned("1", "a", 1));
  await controller.start();
  await clock.advance(9_900);
  assert.equal(runs, 1);
  await clock.advance(200);
  assert.equal(runs, 2);
  await controller.stop();
});

test("a reconcile says when it wants to look again", async () => {
  let runs = 0;
  const { controller, sync, clock } = made(() => Promise.resolve(++runs < 3 ? { againMs: 5_000 } : {}));
  sync(owned("1", "a", 1));
  await controller.start();
  await clock.advance(60_000);
  assert.equal(runs, 3);
  assert.equal(controller.queue.size, 0);
  await controller.stop();
});

test("an object that cannot be understood is reported and does not end the cache", async () => {
  const store = new Store<KubeObject>();
  const strange = source(store, (object) => {
    if (object.metadata?.name === "strange") throw new Error("no owner");
    return [object.metadata?.name ?? ""];
  });
  const runs: string[] = [];
  const { controller, log } = made((key) => Promise.resolve(void runs.push(key)), [strange]);
  store.handle({ type: "synced", resourceVersion: "1" });
  await controller.start();
  store.handle({ type: "applied", object: owned("strange", "", 2) });
  store.handle({ type: "applied", object: owned("plain", "", 3) });
  await settle();
  assert.deepEqual(runs, ["plain"]);
  assert.match(log[0] ?? "", /error test: no owner/);
  await controller.stop();
});
