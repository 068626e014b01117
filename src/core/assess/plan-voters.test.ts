import assert from "node:assert/strict";
import { test } from "node:test";
import { decide } from "../decide.ts";
import type { Observation } from "../observation.ts";
import { edit, exited, healthy } from "../testing/cluster.ts";
import { goneFor, holding, listOf, next, planOf, world } from "../testing/quorum-loss.ts";

const learning = (names: readonly string[]) =>
  listOf(world).map((entry) => ({ ...entry, isLearner: names.includes(entry.name) }));

/** As in its directory, from a member that answers without quorum. */
function listing(observation: Observation, learners: readonly string[]): Observation {
  const { list } = healthy().etcd;
  assert.ok(list);
  const members = list.members.map((one) => ({ ...one, isLearner: learners.includes(one.name) }));
  return { ...observation, etcd: { ...observation.etcd, list: { ...list, linearizable: false, members } } };
}

const back = (name: string) => holding(exited(world, name), name);

test("the only voter with its data is the quorum, whatever its learners have lost", () => {
  assert.ok(planOf(world), "by three voters it is none");
  assert.equal(planOf(holding(world, "demo-1", { members: learning(["demo-2", "demo-3"]) })), undefined);
  assert.equal(
    planOf(listing(holding(world, "demo-1", { members: undefined }), ["demo-2", "demo-3"])),
    undefined,
  );
});

test("a learner with data makes no quorum, and there is a plan", () => {
  const members = learning(["demo-3"]);
  const two = holding(holding(back("demo-3"), "demo-1", { members }), "demo-3", { members });
  const plan = planOf(two);
  assert.equal(plan?.survivor.name, "demo-1");
  assert.equal(planOf(back("demo-3")), undefined, "as voters they are a quorum");
  const ahead = holding(two, "demo-3", { members, index: 101 });
  assert.equal(planOf(ahead)?.survivor.name, "demo-3", "but what it alone has is not given up");
});

test("the newest log tells who votes, and whoever votes by one of two lists does", () => {
  const old = holding(back("demo-3"), "demo-1", { members: learning(["demo-3"]) });
  assert.equal(planOf(holding(old, "demo-3", { index: 101 })), undefined, "it was promoted");
  assert.equal(planOf(listing(holding(old, "demo-3", { index: 101 }), ["demo-3"])), undefined);
});

test("without a person no plan is approved while somebody may vote that has no record, or nobody tells who votes", () => {
  const automatic = goneFor(
    edit(world, { recovery: { quorumLoss: "Automatic", maxLostRevisions: 100 } }),
    6 * 60_000,
  );
  assert.match(next(automatic), /^create operation/);
  const stranger = { id: "000000000000beef", name: "demo-9", peerURL: "http://demo-9:2380" };
  const ghost = holding(automatic, "demo-1", { members: [...listOf(world), stranger] });
  const unlisted = holding(automatic, "demo-1", { members: undefined });
  for (const [doubtful, why] of [
    [ghost, /voters that have no EtcdMember, and they may still serve: demo-9/],
    [unlisted, /no member list says which members vote/],
  ] as const) {
    assert.equal(next(doubtful), "nothing");
    assert.match(decide(doubtful).holds.at(-1)?.next ?? "", why);
  }
});
