import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { quorum, survivesPromotion, survivesRemoval, survivesRestart, tolerance } from "./quorum.ts";

const voters = fc.integer({ min: 1, max: 50 });

test("two quorums of the same voters always share a member", () => {
  fc.assert(fc.property(voters, (n) => 2 * quorum(n) > n && quorum(n) <= n));
});

test("an even size tolerates no more than the odd size below it (R1)", () => {
  fc.assert(fc.property(fc.integer({ min: 1, max: 25 }), (k) => tolerance(2 * k) === tolerance(2 * k - 1)));
});

test("a cluster of two cannot lose a member (R2)", () => {
  assert.equal(tolerance(2), 0);
  assert.equal(survivesRestart(2, 1), false);
});

test("after an allowed removal the rest still has quorum (R3)", () => {
  fc.assert(
    fc.property(voters, fc.nat(50), (n, healthy) => {
      const others = Math.min(healthy, n - 1);
      if (!survivesRemoval(n, others)) return true;
      return others >= quorum(n - 1) && n - 1 >= 1;
    }),
  );
});

test("the last voter is never removed", () => {
  assert.equal(survivesRemoval(1, 0), false);
});

test("a promotion is allowed exactly when the new size has quorum with the newcomer", () => {
  fc.assert(
    fc.property(
      voters,
      fc.nat(50),
      (n, h) => survivesPromotion(n, h) === h + 1 >= Math.floor((n + 1) / 2) + 1,
    ),
  );
});
