import assert from "node:assert/strict";
import { test } from "node:test";
import { ClockSkew } from "./clock-skew.ts";

function world() {
  const state = { server: 1_000_000_000, aheadMs: 0 as number | undefined };
  const now = () => state.server + (state.aheadMs ?? 0);
  const server = {
    now: () => (state.aheadMs === undefined ? undefined : state.server),
    aheadMs: () => state.aheadMs,
  };
  return { state, skew: new ClockSkew({ now }, server) };
}

test("a difference is reported above 30 s, in steps that do not flicker", () => {
  const { state, skew } = world();
  const reported = (aheadMs: number | undefined) => {
    state.aheadMs = aheadMs;
    return skew.skew && `${skew.skew.said} ${skew.skew.direction}`;
  };
  assert.equal(reported(undefined), undefined);
  assert.equal(reported(29_000), undefined);
  assert.equal(reported(-31_000), "30 s behind");
  assert.equal(reported(-28_000), "30 s behind");
  assert.equal(reported(-26_000), undefined);
  assert.equal(reported(-28_000), undefined);
  assert.equal(reported(301_000), "5 min ahead of");
  assert.equal(reported(299_000), "5 min ahead of");
  assert.equal(reported(200_000), "30 s ahead of");
  assert.equal(reported(48 * 3_600_000), "1 day ahead of");
  assert.equal(reported(0), undefined);
});

test("a clock off by more than certificates are backdated issues none, and they are judged by the server's", () => {
  const { state, skew } = world();
  for (const within of [3_599_000, -3_599_000]) {
    state.aheadMs = within;
    assert.equal(skew.contradiction, undefined);
    assert.equal(skew.now(), state.server + within);
    assert.equal(skew.serverNow(), state.server);
  }
  for (const [beyond, said] of [
    [3_601_000, /more than 1 h ahead of the API server's/],
    [-3_601_000, /more than 1 h behind the API server's/],
  ] as const) {
    state.aheadMs = beyond;
    assert.match(skew.contradiction ?? "", said);
    assert.equal(skew.now(), state.server);
  }
});

test("while the server's time is not known, ours is all there is", () => {
  const { state, skew } = world();
  state.aheadMs = undefined;
  assert.equal(skew.contradiction, undefined);
  assert.equal(skew.warning, undefined);
  assert.equal(skew.now(), state.server);
  assert.equal(skew.serverNow(), state.server);
});
