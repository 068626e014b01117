import assert from "node:assert/strict";
import { test } from "node:test";
import { asTheyCome, inOrder } from "./merge.ts";

test("lines of several members are in order of time, and a stack stays with its panic", () => {
  const line = (member: string, at: number | undefined, text: string) => ({ member, at, text });
  const merged = inOrder([
    [line("a", 1, "one"), line("a", 5, "panic"), line("a", undefined, "  stack")],
    [line("b", 3, "two"), line("b", 7, "three")],
  ]);
  assert.deepEqual(
    merged.map(({ text }) => text),
    ["one", "two", "panic", "  stack", "three"],
  );
});

async function* stream(...values: number[]): AsyncGenerator<number> {
  for (const value of values) yield await Promise.resolve(value);
}

test("streams are merged until all have ended", async () => {
  const seen: number[] = [];
  for await (const value of asTheyCome([stream(1, 2), stream(), stream(3)])) seen.push(value);
  assert.deepEqual(
    seen.toSorted((a, b) => a - b),
    [1, 2, 3],
  );
});

test("a stream that fails ends the whole", async () => {
  async function* failing(): AsyncGenerator<number> {
    yield await Promise.reject(new Error("cut off"));
  }
  await assert.rejects(async () => {
    for await (const _ of asTheyCome([failing(), stream(1)])) continue;
  }, /cut off/);
});

test("a stream that comes later is merged with the others, and its failure ends the whole", async () => {
  const arriving = Promise.withResolvers<AsyncIterable<number>>();
  async function* later() {
    yield await arriving.promise;
  }
  const merged = asTheyCome([stream(1)], later());
  assert.deepEqual(await merged.next(), { done: false, value: 1 });
  const second = merged.next();
  arriving.resolve(stream(2, 3));
  assert.equal((await second).value, 2);
  assert.equal((await merged.next()).value, 3);
  assert.equal((await merged.next()).done, true);

  async function* failing(): AsyncGenerator<number> {
    yield await Promise.reject(new Error("cut off"));
  }
  async function* one() {
    yield await Promise.resolve(failing());
  }
  await assert.rejects(async () => {
    for await (const _ of asTheyCome([], one())) continue;
  }, /cut off/);
});
