import assert from "node:assert/strict";
import { test } from "node:test";
import type { KubeObject } from "./resources.ts";
import { Store } from "./store.ts";
import type { WatchEvent } from "./watch.ts";

function object(name: string, resourceVersion: number, uid = `${name}-uid`): KubeObject {
  return { metadata: { name, namespace: "n", uid, resourceVersion: String(resourceVersion) } };
}

function synced(resourceVersion: number, ...objects: KubeObject[]): Store<KubeObject> {
  const store = new Store<KubeObject>();
  relist(store, resourceVersion, ...objects);
  return store;
}

function relist(store: Store<KubeObject>, resourceVersion: number, ...objects: KubeObject[]): void {
  store.handle({ type: "restarted" });
  for (const one of objects) store.handle({ type: "applied", object: one });
  store.handle({ type: "synced", resourceVersion: String(resourceVersion) });
}

const versionOf = (store: Store<KubeObject>, key = "n/a") => store.get(key)?.metadata?.resourceVersion;

test("a write that the watch has passed already is not shown: the object may be gone since", () => {
  const store = synced(10, object("a", 5));
  store.handle({ type: "deleted", object: object("a", 12) });
  store.wrote(object("a", 11));
  assert.equal(store.get("n/a"), undefined);
});

test("an event from before a write of ours does not hide it", () => {
  const store = synced(10, object("a", 5));
  store.wrote(object("a", 15));
  store.handle({ type: "applied", object: object("a", 12) });
  assert.equal(versionOf(store), "15");
  store.handle({ type: "applied", object: object("a", 16) });
  assert.equal(versionOf(store), "16");
});

test("answers to two writes may come in the wrong order", () => {
  const store = synced(10, object("a", 5));
  store.wrote(object("a", 15));
  store.wrote(object("a", 14));
  assert.equal(versionOf(store), "15");
});

test("a list that began before a write of ours does not hide it, and a later one does", () => {
  const store = synced(10);
  store.wrote(object("a", 15));
  relist(store, 12);
  assert.equal(versionOf(store), "15");
  relist(store, 20);
  assert.equal(store.get("n/a"), undefined);
});

test("a write during the first list is there when it is whole", () => {
  const store = new Store<KubeObject>();
  store.handle({ type: "restarted" });
  store.wrote(object("a", 15));
  assert.equal(
    store.get("n/a"),
    undefined,
    "absence means nothing before that, presence is not shown either",
  );
  store.handle({ type: "synced", resourceVersion: "12" });
  assert.equal(versionOf(store), "15");
});

test("a confirmed deletion is not undone by an older event, nor by an older list", () => {
  const store = synced(10, object("a", 5));
  store.gone("n/a", "a-uid");
  store.handle({ type: "applied", object: object("a", 11) });
  assert.equal(store.get("n/a"), undefined);
  relist(store, 12, object("a", 11));
  assert.equal(store.get("n/a"), undefined);
  store.handle({ type: "deleted", object: object("a", 13) });
  store.handle({ type: "applied", object: object("a", 14, "another") });
  assert.equal(versionOf(store), "14");
});

test("a deletion told late does not remove the object that has the name now", () => {
  const store = synced(10, object("a", 5));
  store.wrote(object("a", 20, "new"));
  store.handle({ type: "deleted", object: object("a", 15) });
  assert.equal(versionOf(store), "20");
});

test("versions longer than a number holds exactly are told apart", () => {
  const store = synced(1);
  const big = (n: string): KubeObject => ({ metadata: { ...object("a", 0).metadata, resourceVersion: n } });
  store.handle({ type: "applied", object: big("9007199254740993") });
  store.handle({ type: "applied", object: big("9007199254740992") });
  assert.equal(versionOf(store), "9007199254740993");
  store.handle({ type: "applied", object: big("10007199254740992") });
  assert.equal(versionOf(store), "10007199254740992");
});

test("one can wait until the watch has come as far as a version, and give up", async () => {
  const store = synced(10);
  const ending = new AbortController();
  let reached = false;
  const waiting = store.whenReached("12", ending.signal).then(() => (reached = true));
  store.handle({ type: "progress", resourceVersion: "11" });
  await Promise.resolve();
  assert.equal(reached, false);
  store.handle({ type: "progress", resourceVersion: "12" });
  await waiting;
  const never = store.whenReached("99", ending.signal);
  ending.abort(new Error("enough"));
  await assert.rejects(never, /enough/);
});

test("a write of ours that a restored control plane has forgotten is forgotten here too", () => {
  const store = synced(400);
  store.wrote(object("a", 500));
  relist(store, 200, object("b", 150));
  assert.deepEqual(store.keys(), ["n/b"]);
});

test("one can wait until nothing of a list is missing, old, or here though it was gone", async () => {
  const { signal } = new AbortController();
  const cases: [string, KubeObject[], WatchEvent[]][] = [
    ["all is here", [object("a", 5)], []],
    ["missing", [object("a", 5), object("b", 15)], [{ type: "applied", object: object("b", 15) }]],
    ["old", [object("a", 12)], [{ type: "applied", object: object("a", 12) }]],
    ["gone by then", [], [{ type: "deleted", object: object("a", 14) }]],
    ["far enough, though nothing changed", [], [{ type: "progress", resourceVersion: "20" }]],
    ["anew", [object("c", 18)], [{ type: "restarted" }, { type: "synced", resourceVersion: "20" }]],
  ];
  for (const [what, listed, events] of cases) {
    const store = new Store();
    relist(store, 10, object("a", 5));
    let covered = false;
    const waiting = store.whenCovering(listed, "20", signal).then(() => (covered = true));
    await Promise.resolve();
    await Promise.resolve();
    assert.equal(covered, events.length === 0, what);
    for (const event of events) store.handle(event);
    await waiting;
  }
});

test("what was made after the list was read does not keep it from being covered", async () => {
  const store = new Store();
  relist(store, 10, object("a", 5));
  store.handle({ type: "applied", object: object("b", 30) });
  await store.whenCovering([object("a", 5)], "20", new AbortController().signal);
});
