import assert from "node:assert/strict";
import { test } from "node:test";
import { EndpointSet } from "./endpoints.ts";

const names = (set: EndpointSet, now = 0) => set.voters(now).map((endpoint) => endpoint.name);
const at = (name: string) => ({ name, url: `http://${name}:2379` });
const [a, b, c] = [at("a"), at("b"), at("c")];

test("a learner is never among those asked for what only voters answer (R17)", () => {
  assert.deepEqual(names(new EndpointSet([{ ...a, learner: true }, b])), ["b"]);
});

test("the endpoint that answered last is asked first", () => {
  const set = new EndpointSet([a, b, c]);
  set.answered(b);
  assert.deepEqual(names(set), ["b", "a", "c"]);
});

test("an endpoint that failed is asked last for a while, and then in its turn again", () => {
  const set = new EndpointSet([a, b, c]);
  set.answered(a);
  set.failed(a, 1_000);
  assert.deepEqual(names(set, 2_000), ["b", "c", "a"]);
  assert.deepEqual(names(set, 6_001), ["a", "b", "c"]);
});

test("what was known of an endpoint is forgotten when it leaves", () => {
  const set = new EndpointSet([a, b]);
  set.failed(a, 0);
  set.replace([b]);
  set.replace([a, b]);
  assert.deepEqual(names(set, 1), ["a", "b"]);
});

test("a member is found by name or URL", () => {
  const set = new EndpointSet([a, b]);
  assert.equal(set.find("b"), b);
  assert.equal(set.find("http://a:2379"), a);
  assert.equal(set.find("z"), undefined);
});

test("a member that is to be removed is asked last, and those that refused take turns without it", () => {
  const set = new EndpointSet([a, b, c]);
  set.answered(a);
  const order = () => set.voters(0, { repeatable: false, removes: "a" }).map(({ name }) => name);
  assert.deepEqual(order(), ["b", "c", "a"]);
  set.refused(b, "a");
  assert.deepEqual(order(), ["c", "b", "a"]);
  set.refused(c, "a");
  assert.deepEqual(order(), ["b", "c", "a"]);
});
