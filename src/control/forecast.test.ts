import assert from "node:assert/strict";
import { test } from "node:test";
import { decide } from "../core/decide.ts";
import type { Observation } from "../core/observation.ts";
import { asked, change, healthy } from "../core/testing/cluster.ts";
import { Forecast } from "./forecast.ts";

/** The disk of one of three is gone: it is replaced when it counts as lost. */
function down(forMs: number): Observation {
  const whole = healthy();
  const facts = whole.members.find(({ record }) => record.name === "demo-2");
  const { workload } = facts ?? {};
  assert.ok(workload?.state === "running");
  const { startedFrom, restarts } = workload;
  const ended = { state: "exited", startedFrom, restarts, cause: "killed", detail: "SIGKILL" } as const;
  return change(whole, "demo-2", {
    answer: { reachable: false, error: "connection refused" },
    volume: { state: "unreachable", uid: "v2", reason: "its node is gone" },
    workload: { ...ended, since: whole.now - forMs },
    unhealthySince: whole.now - forMs,
  });
}

const stepsFor = (forecast: Forecast, observation: Observation, at: number) =>
  forecast.stepsFor(observation, decide(observation), at);

test("a wait for the same is foretold once in two seconds", () => {
  const forecast = new Forecast();
  const first = stepsFor(forecast, down(10_000), 0);
  const later = stepsFor(forecast, down(11_000), 1_000);
  const renewed = stepsFor(forecast, down(12_000), 2_000);
  assert.ok(first.length > 2, JSON.stringify(first));
  assert.notEqual(later[0]?.waitingFor, first[0]?.waitingFor, "what it waits for is reported as of now");
  assert.equal(later[1], first[1], "the very same steps");
  assert.notEqual(renewed[1], first[1]);
  assert.deepEqual(renewed.slice(1), first.slice(1));
});

test("an edit, a step or another wait is foretold at once", () => {
  const forecast = new Forecast();
  const one = down(10_000);
  stepsFor(forecast, one, 0);
  const { cluster } = one;
  const edited = { ...one, cluster: { ...cluster, generation: 9, spec: { ...cluster.spec, replicas: 5 } } };
  const begun = asked({ replicas: 3 });
  assert.deepEqual(stepsFor(forecast, edited, 1), stepsFor(new Forecast(), edited, 0));
  assert.deepEqual(stepsFor(forecast, begun, 2), stepsFor(new Forecast(), begun, 0));
  assert.deepEqual(stepsFor(forecast, healthy(), 3), []);
});
