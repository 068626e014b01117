import assert from "node:assert/strict";
import { test } from "node:test";
import { decide } from "../decide.ts";
import type { EtcdMemberEntry, Observation } from "../observation.ts";
import { exited, healthy } from "../testing/cluster.ts";

function withEntry(observation: Observation, entry: Partial<EtcdMemberEntry>): Observation {
  const { list } = observation.etcd;
  assert.ok(list);
  const stranger = {
    id: "abc",
    name: "",
    peerURLs: ["http://x:1"],
    clientURLs: [],
    isLearner: false,
    ours: false,
    ...entry,
  };
  return {
    ...observation,
    etcd: { ...observation.etcd, list: { ...list, members: [...list.members, stranger] } },
  };
}

test("a ghost of ours is removed", () => {
  const { act } = decide(withEntry(healthy(), { ours: true, name: "demo-9" }));
  assert.equal(act?.action.kind === "RemoveFromEtcd" && act.action.memberID, "abc");
});

test("a ghost is left while removing it would cost the quorum", () => {
  const { act } = decide(exited(exited(withEntry(healthy(), { ours: true }), "demo-2"), "demo-3"));
  assert.equal(act, undefined);
});

test("a foreign member is told of and left alone (I9)", () => {
  const { act, holds, converged } = decide(withEntry(healthy(), { name: "someone", isLearner: true }));
  assert.equal(act, undefined);
  assert.ok(converged);
  assert.equal(holds[0]?.reason, "ForeignMember");
  assert.match(holds[0]?.message ?? "", /someone \(abc/);
});
