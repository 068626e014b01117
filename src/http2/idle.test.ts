/** Which of the connections that nobody uses are ended. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { IdleConnections } from "./idle.ts";

test("beyond the bound, who was used longest ago is ended; who is in use is not counted", () => {
  const ended: string[] = [];
  const connection = (name: string) => ({ destroy: () => void ended.push(name) });
  const [a, b, c, d] = ["a", "b", "c", "d"].map(connection);
  assert.ok(a && b && c && d);
  const idle = new IdleConnections(2);
  idle.add(a);
  idle.add(b);
  idle.delete(a);
  idle.add(c);
  assert.deepEqual([ended, idle.size], [[], 2]);
  idle.add(a);
  assert.deepEqual(ended, ["b"]);
  idle.add(c);
  idle.add(d);
  assert.deepEqual([ended, idle.size], [["b", "a"], 2]);
});

test("a bound that became smaller ends all that are too many", () => {
  const ended: string[] = [];
  let most = 3;
  const idle = new IdleConnections(() => most);
  const put = (name: string) => idle.add({ destroy: () => void ended.push(name) });
  for (const name of ["a", "b", "c"]) put(name);
  most = 1;
  put("d");
  assert.deepEqual([ended, idle.size], [["a", "b", "c"], 1]);
});

test("of each cluster the connection used last stays, and the others count among all", () => {
  const ended: string[] = [];
  const connection = (name: string) => ({ destroy: () => void ended.push(name) });
  const idle = new IdleConnections(1);
  const [a, b] = [idle.ofOne(), idle.ofOne()];
  const [a1, a2, b1, b2] = ["a1", "a2", "b1", "b2"].map(connection);
  assert.ok(a1 && a2 && b1 && b2);
  a.add(a1);
  b.add(b1);
  assert.deepEqual([idle.size, ended], [0, []]);
  a.add(a2);
  b.add(b2);
  assert.deepEqual([idle.size, ended], [1, ["a1"]]);
  a.delete(a2);
  a.add(a2);
  b.delete(b1);
  assert.deepEqual([idle.size, ended], [0, ["a1"]]);
});
