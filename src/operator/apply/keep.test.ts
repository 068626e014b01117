import assert from "node:assert/strict";
import { test } from "node:test";
import { configMaps, type KubeObject } from "../../kube/resources.ts";
import { bench, CONFIG_MAPS } from "../../kube/testing.ts";
import { keepCreated } from "./keep.ts";

const wanted = { metadata: { name: "a", namespace: "default", labels: { of: "us" } } };
const isOurs = ({ metadata }: KubeObject) => metadata?.labels?.["of"] === "us";

test("what is absent is made once: with a cache that is behind, what exists already is found and left as it is (H9)", async () => {
  const { client, server } = bench();
  const keep = () => keepCreated(client, configMaps, wanted, undefined, isOurs);
  const [first, second] = [await keep(), await keep()];
  assert.deepEqual([first.done, second.done], ["changed", "unchanged"]);
  assert.equal(second.object.metadata?.uid, first.object.metadata?.uid);
  assert.equal(server.list(CONFIG_MAPS).length, 1);
});

test("an object of our name that is not ours is reported (I9), and one on its way out is waited for", async () => {
  const { client, server } = bench();
  server.put(CONFIG_MAPS, "a", {});
  assert.equal((await keepCreated(client, configMaps, wanted, undefined, isOurs)).done, "foreign");
  const known = { metadata: { ...wanted.metadata, deletionTimestamp: "2026-01-01T00:00:00Z" } };
  assert.equal((await keepCreated(client, configMaps, wanted, known, isOurs)).done, "ending");
});
