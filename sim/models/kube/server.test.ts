import assert from "node:assert/strict";
import { test } from "node:test";
import { exampleCluster } from "../../../src/api/examples.ts";
import type { KubeRequest } from "../../../src/seams/kube-transport.ts";
import { SeededRandom } from "../../engine/random.ts";
import { configMaps } from "./kinds/simple.ts";
import { items, json, type Json } from "./object.ts";
import { ModelServer } from "./server.ts";
import { Watch, type RawEvent } from "./watch.ts";

const MAPS = "/api/v1/namespaces/default/configmaps";
const CLUSTERS = "/apis/etcd.quorate.dev/v1alpha1/namespaces/default/etcdclusters";

function made() {
  const server = new ModelServer({ random: new SeededRandom(1), now: () => Date.UTC(2030, 0, 7) });
  const send = (method: KubeRequest["method"], path: string, rest: Partial<KubeRequest> = {}) => {
    const { status, body } = server.handle({ method, path, ...rest });
    const answer = json(body);
    return { status, body: answer, reason: answer["reason"], meta: json(answer["metadata"]) };
  };
  const map = (name: string, data: Json = {}, metadata: Json = {}) =>
    send("POST", MAPS, { body: { metadata: { name, ...metadata }, data }, query: { fieldManager: "maker" } });
  const apply = (manager: string, name: string, data: Json, force = false) =>
    send("PATCH", `${MAPS}/${name}`, {
      contentType: "application/apply-patch+yaml",
      query: { fieldManager: manager, force: String(force) },
      body: { apiVersion: "v1", kind: "ConfigMap", metadata: { name }, data },
    });
  const merge = (path: string, body: object) =>
    send("PATCH", path, {
      contentType: "application/merge-patch+json",
      query: { fieldManager: "patcher" },
      body,
    });
  return { server, send, map, apply, merge };
}

test("an applier takes what nobody holds, is refused what another holds, and lets go of what it leaves out", () => {
  const { apply } = made();
  assert.equal(apply("one", "a", { x: "1", y: "1" }).status, 201);
  const refused = apply("two", "a", { x: "2", z: "2" });
  assert.equal(refused.status, 409);
  assert.deepEqual(
    items(json(refused.body["details"])["causes"]).map(({ field }) => field),
    [".data.x"],
  );
  assert.equal(apply("two", "a", { x: "1", z: "2" }).status, 200, "the same value is held by both");
  assert.deepEqual(json(apply("one", "a", { y: "1" }).body["data"]), { x: "1", y: "1", z: "2" });
  assert.deepEqual(json(apply("two", "a", {}).body["data"]), { y: "1" });
  assert.deepEqual(json(apply("two", "a", { y: "2" }, true).body["data"]), { y: "2" });
  assert.deepEqual(json(apply("one", "a", {}).body["data"]), { y: "2" }, "it was taken from the first");
});

test("the first write stores the default of a status, and is a change though nothing differs; the next is none", () => {
  const { send, merge, server } = made();
  const { metadata, spec } = exampleCluster({ name: "demo" });
  const created = send("POST", CLUSTERS, { body: { metadata, spec } });
  assert.deepEqual(json(created.body["status"]), { observedGeneration: -1 });
  const before = server.storage.version;
  merge(`${CLUSTERS}/demo`, {});
  assert.notEqual(server.storage.version, before);
  const stored = server.storage.version;
  merge(`${CLUSTERS}/demo`, {});
  assert.equal(server.storage.version, stored);
});

test("a write that changes nothing has no version of its own", () => {
  const { map, merge, apply, server } = made();
  map("a", { x: "1" });
  const before = server.storage.version;
  merge(`${MAPS}/a`, { data: { x: "1" } });
  assert.equal(server.storage.version, before);
  apply("one", "a", { x: "1" });
  assert.equal(server.storage.version, before + 1, "but one that takes hold of a field has");
  apply("one", "a", { x: "1" });
  assert.equal(server.storage.version, before + 1);
});

test("generation counts changes of the spec; status and metadata are apart from it", () => {
  const { send, merge } = made();
  const { meta, status, body } = send("POST", CLUSTERS, { body: exampleCluster() as object });
  assert.equal(status, 201);
  assert.equal(meta["generation"], 1);
  assert.equal(json(body["spec"])["replicas"], 3, "filled in by the definition");
  assert.equal(
    merge(`${CLUSTERS}/demo`, { metadata: { labels: { a: "b" } }, status: { phase: "Healing" } }).meta[
      "generation"
    ],
    1,
  );
  assert.deepEqual(json(send("GET", `${CLUSTERS}/demo`).body)["status"], { observedGeneration: -1 });
  const reported = merge(`${CLUSTERS}/demo/status`, { status: { phase: "Healthy" }, spec: { replicas: 5 } });
  assert.equal(json(reported.body["status"])["phase"], "Healthy");
  assert.equal(json(reported.body["spec"])["replicas"], 3);
  assert.equal(merge(`${CLUSTERS}/demo`, { spec: { replicas: 5 } }).meta["generation"], 2);
  const refused = merge(`${CLUSTERS}/demo`, { spec: { replicas: 11 } });
  assert.equal(refused.reason, "Invalid");
  assert.deepEqual(
    items(json(refused.body["details"])["causes"]).map(({ field }) => field),
    ["spec.replicas"],
  );
  assert.equal(json(merge(`${CLUSTERS}/demo/scale`, { spec: { replicas: 1 } }).body["spec"])["replicas"], 1);
});

test("pages are of one moment, until that is forgotten", () => {
  const { send, map, server } = made();
  for (const name of ["a", "b", "c"]) map(name);
  const first = send("GET", MAPS, { query: { limit: "2" } });
  assert.equal(first.meta["remainingItemCount"], 1);
  const token = String(first.meta["continue"]);
  map("bb");
  send("DELETE", `${MAPS}/c`);
  const second = send("GET", MAPS, { query: { limit: "2", continue: token } });
  assert.deepEqual(
    items(second.body["items"]).map((item) => json(item["metadata"])["name"]),
    ["c"],
  );
  server.storage.compact();
  const late = send("GET", MAPS, { query: { limit: "2", continue: token } });
  assert.deepEqual([late.status, late.reason], [410, "Expired"]);
});

test("a watch tells of objects that leave its selection as deleted, and ends when its past is forgotten", () => {
  const { map, merge, server } = made();
  const events: RawEvent[] = [];
  const { storage } = server;
  const watch = (query: Readonly<Record<string, string>>) =>
    new Watch({
      storage,
      kind: configMaps,
      namespace: "default",
      query,
      visible: storage.version,
      since: storage.compacted,
      whole: false,
      onEvent: (event) => events.push(event),
    });
  const reported = () =>
    events.splice(0).map(({ type, object }) => `${type} ${String(json(object["metadata"])["name"])}`);
  map("a", {}, { labels: { app: "x" } });
  const selected = watch({ labelSelector: "app=x", allowWatchBookmarks: "true" });
  assert.deepEqual(reported(), ["ADDED a", "BOOKMARK undefined"]);
  merge(`${MAPS}/a`, { metadata: { labels: { app: "y" } } });
  map("b");
  merge(`${MAPS}/a`, { metadata: { labels: { app: "x" } } });
  selected.pull(storage.version);
  assert.deepEqual(reported(), ["DELETED a", "ADDED a"]);

  const version = String(storage.version);
  map("c");
  watch({ resourceVersion: version });
  assert.deepEqual(reported(), ["ADDED c"]);
  storage.compact();
  map("d");
  watch({ resourceVersion: version });
  assert.equal(json(events[0]?.object)["code"], 410);
});

test("a backup that is restored counts on from where it was", () => {
  const { map, send, server } = made();
  map("a");
  const { version } = server.storage;
  map("b");
  server.storage.restore(version);
  assert.equal(send("GET", `${MAPS}/b`).status, 404);
  assert.equal(map("c").meta["resourceVersion"], String(version + 1));
});

test("what is written is frozen, not copied", () => {
  const { send, server } = made();
  const data = { n: "1" };
  send("POST", MAPS, { body: { metadata: { name: "a" }, data } });
  const stored = server.get(configMaps, "default/a");
  assert.ok(Object.isFrozen(stored) && Object.isFrozen(stored?.["data"]));
  assert.equal(send("GET", `${MAPS}/a`).body["data"], stored?.["data"]);
});
