import assert from "node:assert/strict";
import { test } from "node:test";
import { systemRandom } from "../seams/random.ts";
import { KubeClient } from "./client.ts";
import { isReason } from "./errors.ts";
import { uniqueIdentity } from "./lease.ts";
import {
  configMaps,
  isControlledBy,
  keyOf,
  leases,
  pathOf,
  pods,
  refOf,
  resource,
  type Resource,
} from "./resources.ts";
import { isInScope, selectors } from "./scope.ts";
import { bench, CONFIG_MAPS, refusal, settle } from "./testing.ts";

const a = { name: "a", namespace: "default" };

test("paths are made of group, version, namespace and name, and names cannot climb out of them", () => {
  assert.equal(
    pathOf(pods, { namespace: "n", name: "p", subresource: "status" }),
    "/api/v1/namespaces/n/pods/p/status",
  );
  assert.equal(pathOf(leases), "/apis/coordination.k8s.io/v1/leases");
  const nodes: Resource = resource("v1", "Node", "nodes", { namespaced: false });
  assert.equal(pathOf(nodes, { name: "n1" }), "/api/v1/nodes/n1");
  assert.equal(
    pathOf(pods, { namespace: "n", name: "../secrets" }),
    "/api/v1/namespaces/n/pods/..%2Fsecrets",
  );
  assert.throws(() => pathOf(pods, { namespace: "n", name: ".." }), /not a valid object name/);
  assert.throws(() => pathOf(pods, { name: "p" }), /a namespace is needed/);
});

test("a key names an object and back, and an owner is known by its UID", () => {
  for (const metadata of [a, { name: "node-1" }]) assert.deepEqual(refOf(keyOf({ metadata })), metadata);
  const owner = { apiVersion: "v1", kind: "Db", name: "db", uid: "u1", controller: true };
  const owned = { metadata: { ...a, ownerReferences: [owner] } };
  assert.equal(isControlledBy(owned, "u1"), true);
  assert.equal(isControlledBy(owned, "u2"), false);
  const guest = { metadata: { ...a, ownerReferences: [{ ...owner, controller: false }] } };
  assert.equal(isControlledBy(guest, "u1"), false);
});

test("two processes on one host have two identities", () => {
  assert.notEqual(uniqueIdentity(systemRandom), uniqueIdentity(systemRandom));
});

test("a scope selects at the server and here alike", () => {
  const scope = { namespace: "n", name: "x", labels: { app: "db", owned: true } } as const;
  assert.deepEqual(selectors(scope), { labelSelector: "app=db,owned", fieldSelector: "metadata.name=x" });
  assert.deepEqual(selectors({ notNamespaces: ["a", "b"] }), {
    fieldSelector: "metadata.namespace!=a,metadata.namespace!=b",
  });
  const inA = { metadata: { name: "x", namespace: "a" } };
  assert.deepEqual(
    [isInScope(inA, { notNamespaces: ["a"] }), isInScope(inA, { notNamespaces: ["b"] })],
    [false, true],
  );
  const labels = { app: "db", owned: "" };
  assert.equal(isInScope({ metadata: { name: "x", namespace: "n", labels } }, scope), true);
  assert.equal(isInScope({ metadata: { name: "x", namespace: "n", labels: { app: "db" } } }, scope), false);
  assert.equal(isInScope({ metadata: { name: "x", namespace: "m", labels } }, scope), false);
  assert.equal(isInScope({ metadata: { name: "y", namespace: "n", labels } }, scope), false);
});

test("an apply or a delete without a UID is not sent", async () => {
  const { client, server } = bench();
  await assert.rejects(client.apply(configMaps, { metadata: { ...a, uid: "" } }), /needs the UID/);
  await assert.rejects(client.replace(configMaps, { metadata: a }), /needs the resourceVersion/);
  await assert.rejects(client.create(configMaps, { metadata: { name: "a" } }), /a namespace is needed/);
  assert.equal(server.requests.length, 0);
});

test("a conflict is typed, says what to do, and nothing was changed", async () => {
  const { client, server } = bench();
  const made = await client.create(configMaps, { metadata: a, data: { n: "1" } });
  server.put(CONFIG_MAPS, "a", { data: { n: "2" } });
  await assert.rejects(client.replace(configMaps, { ...made, data: { n: "3" } }), (error) => {
    assert.ok(isReason(error, "Conflict"));
    assert.match(error.message, /^PUT .*configmaps\/a: 409 .*; the object changed: read it again and retry$/);
    return true;
  });
  assert.deepEqual(server.list(CONFIG_MAPS)[0]?.["data"], { n: "2" });
});

test("a list whose rest has expired begins anew once", async () => {
  const { client, server } = bench();
  for (let i = 0; i < 5; i++) server.put(CONFIG_MAPS, `c${i}`);
  let expire = 1;
  server.intercept = ({ query }) =>
    query?.["continue"] !== undefined && expire-- > 0 ? refusal(410, "Expired", "too old") : undefined;
  const { items } = await client.list(configMaps, { namespace: "default" }, { pageSize: 2 });
  assert.equal(items.length, 5);
  assert.equal(items[0]?.kind, "ConfigMap", "items of a list say what they are");
  assert.equal(server.requests.length, 2 + 3);
});

test("a call that gets no answer ends at its deadline and says that it may have happened", async () => {
  const { client, server, clock } = bench();
  server.intercept = () => "hang";
  const call = client
    .create(configMaps, { metadata: a }, { timeoutMs: 1_000 })
    .catch((error: unknown) => error);
  await clock.advance(1_001);
  const error = await call;
  assert.ok(isReason(error, "Interrupted") && error.mayHaveHappened);
  assert.equal(clock.timers, 0);
});

test("each call is reported with its verb, resource, status and time", async () => {
  const { server, clock } = bench();
  const calls: string[] = [];
  const client = new KubeClient({
    transport: server,
    clock,
    fieldManager: "test",
    onCall: ({ verb, resource: name, status }) => calls.push(`${verb} ${name} ${status}`),
  });
  await client.create(configMaps, { metadata: a });
  await client.find(configMaps, { ...a, name: "no-such" });
  await settle();
  assert.deepEqual(calls, ["create configmaps 201", "get configmaps 404"]);
});

test("a write that takes the last finalizer away ends the object, and caches hear of that", async () => {
  const { client, server } = bench();
  const ending = { deletionTimestamp: "2026-01-01T00:00:00Z", finalizers: ["example.com/one"] };
  const { uid } = server.put(CONFIG_MAPS, "a", { metadata: ending }).metadata;
  const reported: string[] = [];
  client.onWrite((_, { type }) => reported.push(type));
  await client.patch(configMaps, a, { metadata: { labels: { app: "db" } } }, { uid });
  await client.patch(configMaps, a, { metadata: { finalizers: [] } }, { uid });
  assert.deepEqual(reported, ["applied", "gone"]);
});

test("deleting what is not there is done, and deleting another object of that name is refused", async () => {
  const { client, server } = bench();
  assert.equal(await client.delete(configMaps, a, { uid: "x" }), "gone");
  server.put(CONFIG_MAPS, "a");
  await assert.rejects(client.delete(configMaps, a, { uid: "x" }), (error) => isReason(error, "Conflict"));
  assert.equal(server.list(CONFIG_MAPS).length, 1);
});
