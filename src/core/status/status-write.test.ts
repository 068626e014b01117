/** What has to be written, and what may wait (I7). */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { EtcdClusterStatus } from "../../api/etcd-cluster-status.ts";
import { decide } from "../decide.ts";
import type { Observation } from "../observation.ts";
import { predict } from "../plan/predict.ts";
import { answering, edit, exited, healthy, leaderOf } from "../testing/cluster.ts";
import { sameStatus } from "./status-write.ts";
import { statusOf } from "./status.ts";

const MINUTES = 60_000;
const member = { name: "demo-1", role: "Leader" as const, healthy: true, dbSize: 1e6, dbSizeInUse: 5e5 };
const base: EtcdClusterStatus = {
  observedGeneration: 1,
  phase: "AddingMember",
  message: "Waiting for demo-4 to start and join.",
  conditions: [
    {
      type: "Degraded",
      status: "True",
      reason: "MemberDown",
      message: "demo-2 is down.",
      lastTransitionTime: "2026-01-01T00:00:00Z",
    },
  ],
  revision: 1000,
  replicas: 3,
  members: [{ ...member, raftLag: 3 }],
  plan: [{ step: "roll", text: "roll demo-1" }],
};
const [degraded] = base.conditions ?? [];
const withMember = (more: Partial<typeof member & { raftLag: number }>): EtcdClusterStatus => ({
  ...base,
  members: [{ ...member, raftLag: 3, ...more }],
});

const rows: readonly [what: string, next: EtcdClusterStatus, sinceMs: number, same: boolean][] = [
  ["nothing new", base, 60 * MINUTES, true],
  ["another phase", { ...base, phase: "Healthy" }, 0, false],
  ["another message", { ...base, message: "Waiting for demo-5 to start and join." }, 0, false],
  ["a condition that changed", { ...base, conditions: [{ ...degraded!, status: "False" }] }, 0, false],
  ["a member that became unhealthy", withMember({ healthy: false }), 0, false],
  ["other replicas", { ...base, replicas: 4 }, 0, false],
  ["a revision that moved a little", { ...base, revision: 1050 }, 60 * MINUTES, true],
  ["a revision that moved a lot, soon", { ...base, revision: 5000 }, 5 * MINUTES, true],
  ["a revision that moved a lot, after ten minutes", { ...base, revision: 5000 }, 10 * MINUTES, false],
  ["a database that grew by a fifth, after ten minutes", withMember({ dbSize: 1.2e6 }), 10 * MINUTES, false],
  ["a lag of a few entries more", withMember({ raftLag: 90 }), 60 * MINUTES, true],
  ["a lag of many entries", withMember({ raftLag: 50_000 }), 10 * MINUTES, false],
  ["another plan, at once", { ...base, plan: [] }, 0, true],
  ["another plan, after ten seconds", { ...base, plan: [] }, 10_000, false],
];

for (const [what, next, since, same] of rows) {
  test(`${what}: ${same ? "no write" : "a write"}`, () => assert.equal(sameStatus(base, next, since), same));
}

test("nothing written yet: a write", () => assert.equal(sameStatus(undefined, base, 0), false));

test("a wait that lasts is reported in the same words however long it lasts", () => {
  const leader = leaderOf(healthy());
  let joined = edit(healthy(), { replicas: 4 });
  while (decide(joined).act?.action.kind !== "Promote") joined = predict(joined, decide(joined).act!.action);
  const behind = answering(joined, leader, { raftIndex: 13_000 });
  const waits: readonly [string, Observation][] = [
    ["a member is down", exited(healthy(), "demo-2")],
    ["a quorum is awaited", exited(exited(healthy(), "demo-2"), "demo-3")],
    ["a learner catches up", behind],
  ];
  for (const [what, observation] of waits) {
    const first = statusOf(observation, decide(observation), undefined);
    const later = { ...observation, now: observation.now + 90_000 };
    const next = statusOf(later, decide(later), first);
    assert.ok(sameStatus(first, next, 0), `${what}: ${next.message}`);
  }
  const closer = answering(behind, leader, { raftIndex: 12_900 });
  const [far, near] = [behind, closer].map((o) => statusOf(o, decide(o), undefined));
  assert.ok(near && sameStatus(far, near, 0));
});
