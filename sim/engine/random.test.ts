import assert from "node:assert/strict";
import { test } from "node:test";
import { SeededRandom } from "./random.ts";

test("the same seed draws the same numbers, another seed draws others", () => {
  const draw = (seed: number) => Buffer.from(new SeededRandom(seed).bytes(32)).toString("hex");
  assert.equal(draw(7), draw(7));
  assert.notEqual(draw(7), draw(8));
});

test("numbers between two bounds reach both and stay inside", () => {
  const random = new SeededRandom(1);
  const seen = new Set<number>();
  for (let i = 0; i < 1000; i++) seen.add(random.between(3, 6));
  assert.deepEqual(seen, new Set([3, 4, 5, 6]));
});

test("a fork draws on its own", () => {
  const one = new SeededRandom(5);
  const two = new SeededRandom(5);
  const fork = one.fork();
  two.fork();
  for (let i = 0; i < 10; i++) fork.next();
  assert.equal(one.next(), two.next());
});

test("picking from nothing is an error", () => {
  assert.throws(() => new SeededRandom(1).pick([]), RangeError);
});
