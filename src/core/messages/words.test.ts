import assert from "node:assert/strict";
import { test } from "node:test";
import { sentences, stopped } from "./words.ts";

test("a sentence gets its full stop once, also where it ends with the words of another object", () => {
  assert.equal(stopped("it cannot be created: exceeded quota"), "it cannot be created: exceeded quota.");
  assert.equal(stopped("it cannot be created: exceeded quota."), "it cannot be created: exceeded quota.");
  assert.equal(
    sentences("demo is paused", "Set spec.paused to false."),
    "demo is paused. Set spec.paused to false.",
  );
});
