import assert from "node:assert/strict";
import { test } from "node:test";
import type { EtcdClusterStatus } from "../../api/etcd-cluster-status.ts";
import type { TranscriptEntry } from "../../control/transcript.ts";
import type { LogFields } from "../../kube/log.ts";
import { ClusterLog } from "./cluster-log.ts";

function world() {
  const lines: [string, string, LogFields | undefined][] = [];
  const log = new ClusterLog(
    (level, message, fields) => void lines.push([level, message, fields]),
    "prod/demo",
  );
  return { lines, log };
}

const entry: TranscriptEntry = {
  at: 0,
  rule: "rollout",
  kind: "UpdateMember",
  purpose: "roll",
  step: "UpdateMember/roll",
  member: "demo-2",
  reason: "why",
  tookMs: 7,
};
const names = { namespace: "prod", cluster: "demo" };

test("a step is logged with its names, and as a warning when it failed", () => {
  const { lines, log } = world();
  log.step(entry);
  log.step({ ...entry, error: "refused" });
  const fields = { ...names, member: "demo-2", step: "UpdateMember/roll", reason: "rollout", ms: 7 };
  assert.deepEqual(lines[0], ["info", "UpdateMember/roll demo-2: why", fields]);
  assert.equal(lines[1]?.[0], "warn");
  assert.deepEqual(lines[1]?.[2], { ...fields, error: "refused" });
});

test("a state is logged when it begins, as a warning when a person is needed; passes only for debugging", () => {
  const { lines, log } = world();
  const stalled = (status: "True" | "False", reason: string, message: string): EtcdClusterStatus => ({
    phase: status === "True" ? "Stalled" : "Waiting",
    message,
    conditions: ["Ready", "Stalled"].map((type) => ({
      type,
      status: type === "Ready" ? "False" : status,
      reason,
      message,
      lastTransitionTime: "2026-01-01T00:00:00Z",
    })),
  });
  const decision = { holds: [], heldBack: [], converged: false };
  const pass = (number: number, status: EtcdClusterStatus) => log.pass({ number, status, decision });
  pass(1, stalled("False", "Stopping", "Waiting for 3 s."));
  pass(2, stalled("False", "Stopping", "Waiting for 4 s."));
  pass(3, stalled("True", "VersionRefused", "spec.version: no."));
  assert.deepEqual(
    lines.filter(([level]) => level !== "debug"),
    [
      ["info", "Waiting: Waiting for 3 s.", { ...names, reason: "Stopping" }],
      ["warn", "Stalled: spec.version: no.", { ...names, reason: "VersionRefused" }],
    ],
  );
  assert.equal(lines.filter(([level]) => level === "debug").length, 3);
});
