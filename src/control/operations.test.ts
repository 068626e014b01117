import assert from "node:assert/strict";
import { test } from "node:test";
import { decide } from "../core/decide.ts";
import type { Observation } from "../core/observation.ts";
import { predict } from "../core/plan/predict.ts";
import { edit, healthy } from "../core/testing/cluster.ts";
import { asking } from "../core/testing/operations.ts";
import { viewOf } from "../core/view.ts";
import { ManualClock } from "../etcd/testing.ts";
import { OperationTeller } from "./operations.ts";
import { Conflict, type ObjectAction, type Platform } from "./platform.ts";

function teller(execute: (action: ObjectAction) => Promise<void>) {
  const clock = new ManualClock();
  const platform = { execute } as unknown as Platform;
  return { clock, teller: new OperationTeller(platform, clock) };
}

const paused = edit(asking(healthy(), { kind: "restart" }), { paused: true });
const tell = (on: OperationTeller, observation: Observation) =>
  on.tell(viewOf(observation), decide(observation), {});

test("an operation is told why it waits, once", async () => {
  const written: ObjectAction[] = [];
  const { teller: on } = teller((action) => {
    written.push(action);
    return Promise.resolve();
  });
  assert.deepEqual(await tell(on, paused), []);
  const [first] = written;
  assert.ok(first?.kind === "UpdateOperation");
  assert.equal(first.status.reason, "Paused");
  await tell(on, predict(paused, first));
  assert.equal(written.length, 1);
});

test("what changed meanwhile is looked at again; what cannot be written is reported", async () => {
  const conflict = teller(() => Promise.reject(new Conflict("changed")));
  assert.deepEqual(await tell(conflict.teller, paused), []);
  const denied = teller(() => Promise.reject(new Error("forbidden")));
  const [failure] = await tell(denied.teller, paused);
  assert.match(String(failure), /forbidden/);
  assert.deepEqual(await tell(denied.teller, paused), [], "not on every pass");
  await denied.clock.advance(11_000);
  assert.equal((await tell(denied.teller, paused)).length, 1);
});
