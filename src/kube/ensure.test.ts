import assert from "node:assert/strict";
import { test } from "node:test";
import { covers, ensure } from "./ensure.ts";
import { asApplied } from "./ownership.ts";
import { configMaps, type KubeObject } from "./resources.ts";
import { bench, CONFIG_MAPS } from "./testing.ts";

test("what is wanted is covered when it is so, whatever else there is", () => {
  const have = { a: 1, b: { c: [{ d: 1, added: true }], e: "x" }, status: {} };
  assert.equal(covers(have, { b: { c: [{ d: 1 }] } }), true);
  assert.equal(covers(have, { b: { c: [{ d: 1 }], missing: undefined } }), true);
  assert.equal(covers(have, { b: { c: [{ d: 2 }] } }), false);
  assert.equal(covers(have, { b: { c: [{ d: 1 }, { d: 2 }] } }), false);
  assert.equal(covers(have, { b: { c: { d: 1 } } }), false);
  assert.equal(covers(have, { z: {} }), false);
});

test("fields that we set by POST become ours by apply, and those of others stay theirs", () => {
  const entries = [
    { manager: "us", operation: "Update", fieldsV1: { "f:data": { "f:a": {}, "f:b": {} } } },
    { manager: "them", operation: "Update", fieldsV1: { "f:data": { "f:c": {} } } },
    { manager: "us", operation: "Update", subresource: "status", fieldsV1: { "f:status": {} } },
    { manager: "us", operation: "Apply", apiVersion: "v1", fieldsV1: { "f:data": { "f:b": {}, "f:d": {} } } },
  ];
  const [theirs, status, ours, ...none] = asApplied(entries, "us") ?? [];
  assert.deepEqual([theirs, status], [entries[1], entries[2]]);
  const fieldsV1 = { "f:data": { "f:a": {}, "f:b": {}, "f:d": {} } };
  assert.deepEqual(ours, { manager: "us", operation: "Apply", apiVersion: "v1", fieldsV1 });
  assert.deepEqual(none, []);
  assert.equal(asApplied(entries.slice(1), "us"), undefined);
});

const isOurs = ({ metadata }: KubeObject) => metadata?.labels?.["of"] === "us";
const wanted = (data: Record<string, string> = { a: "1" }) => ({
  metadata: { name: "a", namespace: "default", labels: { of: "us" } },
  data,
});
const wishes = (known?: KubeObject) => ({ wanted: wanted(), known, isOurs, stamp: "example.com/applied" });

test("what is absent is made; made again with a cache that is behind, it is found and left as it is (H9)", async () => {
  const { client, server } = bench();
  const first = await ensure(client, configMaps, wishes());
  const second = await ensure(client, configMaps, wishes());
  assert.deepEqual([first.done, second.done], ["created", "unchanged"]);
  assert.equal(second.object.metadata?.uid, first.object.metadata?.uid);
  assert.equal(server.list(CONFIG_MAPS).length, 1);
});

test("what is found to exist is shown to caches that are behind, so that it is not made in vain again", async () => {
  const { client } = bench();
  const { object } = await ensure(client, configMaps, wishes());
  const shown: (string | undefined)[] = [];
  client.onWrite((_resource, write) => {
    if (write.type === "applied") shown.push(write.object.metadata?.uid);
  });
  assert.equal((await ensure(client, configMaps, wishes())).done, "unchanged");
  assert.deepEqual(shown, [object.metadata?.uid]);
});

test("an object of our name that is not ours is reported, and one on its way out is waited for; neither is changed", async () => {
  const { client, server } = bench();
  const { metadata: theirs } = server.put(CONFIG_MAPS, "a", { data: { a: "theirs" } });
  assert.equal((await ensure(client, configMaps, wishes())).done, "foreign");
  const ending = { labels: { of: "us" }, deletionTimestamp: "2026-01-01T00:00:00Z" };
  const { metadata } = server.put(CONFIG_MAPS, "a", { metadata: ending, data: { a: "old" } });
  assert.notEqual(metadata.resourceVersion, theirs.resourceVersion);
  assert.equal((await ensure(client, configMaps, wishes())).done, "ending");
  assert.equal(server.list(CONFIG_MAPS)[0]?.metadata.resourceVersion, metadata.resourceVersion);
});

test("one that is gone while a cache still has it is waited for: nobody is reported a failure (H9)", async () => {
  const { object: known } = await ensure(bench().client, configMaps, wishes());
  const { client, server } = bench();
  const changed = { ...wishes(known), wanted: wanted({ a: "2" }) };
  assert.equal((await ensure(client, configMaps, changed)).done, "ending");
  assert.equal(server.list(CONFIG_MAPS).length, 0);
});
