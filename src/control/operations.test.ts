import assert from "node:assert/strict";
import { test } from "node:test";
import { decide } from "../core/decide.ts";
import type { Observation } from "../core/observation.ts";
import { predict } from "../core/plan/predict.ts";
import { edit, healthy } from "../core/testing/cluster.ts";
import { asking } from "../core/testing/operations.ts";
import { viewOf } from "../core/view.ts";
import { ManualClock } from "../etcd/testing.ts";
import { OperationReporter } from "./operations.ts";
import { Conflict, type ObjectAction, type Platform } from "./platform.ts";

function reporter(execute: (action: ObjectAction) => Promise<void>) {
  const clock = new ManualClock();
  const platform = { execute } as unknown as Platform;
  return { clock, reporter: new OperationReporter(platform, clock) };
}

const paused = edit(asking(healthy(), { kind: "restart" }), { paused: true });
const report = (on: OperationReporter, observation: Observation) =>
  on.report(viewOf(observation), decide(observation), {});

test("an operation is told why it waits, once", async () => {
  const written: ObjectAction[] = [];
  const { reporter: on } = reporter((action) => {
    written.push(action);
    return Promise.resolve();
  });
  assert.deepEqual(await report(on, paused), []);
  const [first] = written;
  assert.ok(first?.kind === "UpdateOperation");
  assert.equal(first.status.reason, "Paused");
  await report(on, predict(paused, first));
  assert.equal(written.length, 1);
});

test("what changed meanwhile is looked at again; what cannot be written is reported", async () => {
  const conflict = reporter(() => Promise.reject(new Conflict("changed")));
  assert.deepEqual(await report(conflict.reporter, paused), []);
  const denied = reporter(() => Promise.reject(new Error("forbidden")));
  const [failure] = await report(denied.reporter, paused);
  assert.match(String(failure), /forbidden/);
  assert.deepEqual(await report(denied.reporter, paused), [], "not on every pass");
  await denied.clock.advance(11_000);
  assert.equal((await report(denied.reporter, paused)).length, 1);
});
