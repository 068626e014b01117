import assert from "node:assert/strict";
import { test } from "node:test";
import type { EtcdCluster } from "../../api/etcd-cluster.ts";
import type { ReportedStep } from "../../local/operations.ts";
import { eventsOf } from "./local-events.ts";

const cluster = { metadata: { name: "demo" } } as EtcdCluster;
const step = { at: 7, rule: "rollout", step: "UpdateMember/roll", reason: "why", tookMs: 1 };

const shown = (...decisions: ReportedStep[]) =>
  eventsOf({ decisions, cluster }).map(({ type, reason, object, message }) =>
    [type, reason, object, message].join(" | "),
  );

test("a step is an event with its purpose, or its kind where it has none, and whom it concerns", () => {
  assert.deepEqual(
    shown(
      { ...step, kind: "UpdateMember", purpose: "roll", member: "demo-2" },
      { ...step, kind: "Promote", step: "Promote", member: "demo-3", error: "not ready" },
      { ...step, kind: "CompareHashes", step: "CompareHashes" },
    ),
    [
      "Normal | roll | EtcdMember/demo-2 | why",
      "Warning | Promote | EtcdMember/demo-3 | why – failed: not ready",
      "Normal | CompareHashes | EtcdCluster/demo | why",
    ],
  );
});

test("a step of a controller that gives no kind is shown by its name", () => {
  assert.deepEqual(shown(step), ["Normal | UpdateMember/roll | EtcdCluster/demo | why"]);
});
