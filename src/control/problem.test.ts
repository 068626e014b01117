import assert from "node:assert/strict";
import { test } from "node:test";
import { problemOf, sentencesOf } from "./problem.ts";

const refused = (used: number, reason = "Forbidden") =>
  problemOf("the Pod of demo-1", Object.assign(new Error(`exceeded quota: used ${used} of 5`), { reason }));

test("a problem is the same however its sentence counts on, and another of another class or part", () => {
  assert.notEqual(refused(6).message, refused(7).message);
  assert.equal(refused(6).key, refused(7).key);
  assert.notEqual(refused(6).key, refused(6, "Invalid").key);
  assert.notEqual(refused(6).key, problemOf("the Pod of demo-2", new Error("no")).key);
});

test("it is told with its part where it has one, and each sentence once", () => {
  const full = new Error("the disk is full");
  const problems = [problemOf("", full), problemOf("demo-1", full), problemOf("", full)];
  assert.deepEqual(sentencesOf(problems), ["the disk is full", "demo-1: the disk is full"]);
});
