import assert from "node:assert/strict";
import { test } from "node:test";
import { decide } from "../decide.ts";
import type { Observation } from "../observation.ts";
import { change, edit, exited, healthy, run } from "../testing/cluster.ts";
import { asking, reportedStatus } from "../testing/operations.ts";
import { viewOf } from "../view.ts";
import { collectReport } from "./collect-report.ts";

const world = healthy();

function reportOf(observation: Observation): Record<string, never> {
  return JSON.parse(collectReport(viewOf(observation), decide(observation), undefined)) as Record<
    string,
    never
  >;
}

test("it has the members, their sizes and what is waited for", () => {
  const report = reportOf(exited(world, "demo-2")) as Record<string, unknown>;
  const text = JSON.stringify(report);
  for (const word of ["demo-1", "dbSize", "MemberUnhealthy", "clusterVersion", "raftTerm"])
    assert.ok(text.includes(word), word);
});

test("neither environment nor arguments nor credentials of an address are in it", () => {
  const secret = "hunter2";
  const { spec } = world.cluster;
  const given = edit(world, {
    pod: { ...spec.pod, env: [{ name: "TOKEN", value: secret }] },
    options: { ...spec.options, extraArgs: { "experimental-thing": secret } },
  });
  const broken = change(given, "demo-2", {
    answer: { reachable: false, error: `dial https://root:${secret}@10.0.0.1:2379: refused` },
  });
  const text = collectReport(viewOf(broken), decide(broken), undefined);
  assert.ok(!text.includes(secret), text);
});

test("it is made at once: while paused, hibernated, without quorum, and while another operation runs", () => {
  const task = { kind: "collectReport" } as const;
  const made = "Succeeded Completed";
  assert.equal(reportedStatus(asking(world, task)), made);
  assert.equal(reportedStatus(asking(edit(world, { paused: true }), task)), made);
  assert.equal(reportedStatus(asking(run(edit(world, { replicas: 0 })), task)), made);
  assert.equal(reportedStatus(asking(exited(exited(world, "demo-1"), "demo-2"), task)), made);
  const busy = asking(world, { kind: "restart" }, { name: "first", status: { phase: "Running" } });
  assert.equal(reportedStatus(asking(busy, task)), made);
});
