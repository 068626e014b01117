import assert from "node:assert/strict";
import { test } from "node:test";
import type { MemberFacts, WorkloadFacts } from "../observation.ts";
import { change, healthy } from "../testing/cluster.ts";
import { trouble } from "./trouble.ts";
import { viewOf } from "../view.ts";

const REFUSED = { reachable: false, error: "connect ECONNREFUSED" } as const;

function troubleWith(workload: WorkloadFacts, more: Partial<MemberFacts> = {}): string {
  const world = change(healthy(), "demo-3", () => ({ workload, answer: REFUSED, ...more }));
  const member = viewOf(world).members.find(({ name }) => name === "demo-3");
  assert.ok(member);
  return trouble(member);
}

const running = { state: "running", startedFrom: "x", restarts: 3 } as const;

test("between two ends of a member that ends again and again, its last end is reported with what it answers", () => {
  const workload = {
    ...running,
    since: 20,
    lastEnd: { cause: "bad-configuration", detail: "unexpected TLS cipher suite" },
  } as const;
  assert.equal(
    troubleWith(workload, { unhealthySince: 10 }),
    "connect ECONNREFUSED; its last run ended: unexpected TLS cipher suite",
  );
});

test("an end from before the trouble has nothing to do with it", () => {
  const workload = {
    ...running,
    since: 5,
    lastEnd: { cause: "killed", detail: "it went over its memory limit" },
  } as const;
  assert.equal(troubleWith(workload, { unhealthySince: 10 }), "connect ECONNREFUSED");
});

test("each other state of its workload has its words", () => {
  assert.equal(troubleWith({ state: "absent" }), "it is not running");
  assert.equal(troubleWith({ state: "waiting", reason: "ErrImagePull", since: 0 }), "ErrImagePull");
  assert.equal(troubleWith({ state: "stopping", since: 0 }), "it is being stopped");
  const lost = { state: "stopping", since: 0, lostNode: "n1" } as const;
  assert.equal(troubleWith(lost), "its node n1 is gone");
  const node = { name: "n1", kubelet: "silent", since: 0 } as const;
  assert.equal(troubleWith(lost, { node }), "its node n1 does not report");
  const exited = { state: "exited", since: 0, startedFrom: "x", restarts: 1, cause: "killed" } as const;
  assert.equal(troubleWith({ ...exited, detail: "SIGKILL" }), "SIGKILL");
  assert.equal(troubleWith({ ...exited, detail: "" }), "killed");
});
