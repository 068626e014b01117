import assert from "node:assert/strict";
import { test } from "node:test";
import { decide } from "../decide.ts";
import type { Observation } from "../observation.ts";
import { predict } from "../plan/predict.ts";
import { NOW, answering, change, edit, exited, healthy, run } from "../testing/cluster.ts";
import { says } from "../testing/says.ts";
import { learners } from "./learners.ts";

/** Four voters are wanted; demo-4 has joined as a learner. */
function learner(lag: number): Observation {
  let world = edit(healthy(), { replicas: 4 });
  for (let i = 0; i < 4; i++) world = predict(world, decide(world).act!.action);
  return change(world, "demo-4", ({ answer }) => ({
    answer: answer.reachable ? { ...answer, raftAppliedIndex: answer.raftIndex } : answer,
  })).members.reduce<Observation>(
    (o, facts) =>
      facts.record.name === "demo-4"
        ? o
        : change(o, facts.record.name, ({ answer }) => ({
            answer: answer.reachable ? { ...answer, raftIndex: answer.raftIndex + lag } : answer,
          })),
    world,
  );
}

test("a learner that has caught up is promoted", () => {
  assert.equal(decide(learner(10)).act?.action.kind, "Promote");
});

test("a learner that lags is waited for, with the number", () => {
  const { act, holds } = decide(learner(50_000));
  assert.equal(act, undefined);
  assert.equal(holds[0]?.reason, "LearnerBehind");
  assert.match(holds[0]?.message ?? "", /demo-4 \(about 50,000 entries behind\)/);
});

test("a learner that never catches up does not block a scale-in", () => {
  const { act } = decide(edit(learner(50_000), { replicas: 3 }));
  assert.equal(act?.rule, "scale-in");
  assert.equal(act?.action.kind === "UpdateMember" && act.action.member, "demo-4");
});

test("nobody is promoted while a voter is down (I2)", () => {
  const { act } = decide(exited(learner(0), "demo-2"));
  assert.equal(act, undefined);
});

test("standing learners stay learners", () => {
  const end = run(edit(healthy(), { learners: 2 }));
  assert.equal(end.etcd.list?.members.filter((entry) => entry.isLearner).length, 2);
});

test("before 3.6 the standing learner makes room for a joining voter and comes back (H8)", () => {
  const one = run(edit(healthy({ version: "3.5.35" }), { learners: 1 }));
  assert.deepEqual(
    one.members.map((facts) => facts.record.role),
    ["Voter", "Voter", "Voter", "Learner"],
  );
  const end = run(exited(one, "demo-2", "data-missing"));
  assert.deepEqual(
    end.members.map((facts) => facts.record.role),
    ["Voter", "Voter", "Voter", "Learner"],
  );
  assert.equal(end.etcd.list?.members.filter((entry) => entry.isLearner).length, 1);
});

test("a lag of a thousand entries is close enough, one more is not (R18)", () => {
  assert.equal(decide(learner(1000)).act?.action.kind, "Promote");
  assert.notEqual(decide(learner(1001)).act?.action.kind, "Promote");
});

test("a learner that is not wanted any more gets no vote: it leaves", () => {
  const { act } = decide(edit(learner(10), { replicas: 3 }));
  assert.equal(
    act?.action.kind === "UpdateMember" && `${act.action.purpose} ${act.action.member}`,
    "leave demo-4",
  );
});

test("a learner is not promoted before a restart would read the configuration of a member that has joined (H3)", () => {
  const world = change(learner(0), "demo-4", () => ({ unconfirmed: true }));
  const { act, holds, lookAgainAt } = decide(world);
  assert.equal(act, undefined);
  assert.equal(holds.at(-1)?.reason, "MemberStarting");
  assert.match(holds.at(-1)?.message ?? "", /^demo-4 can be promoted once its node has synced/);
  assert.ok((lookAgainAt ?? 0) > world.now);
  assert.equal(decide(change(world, "demo-4", () => ({ unconfirmed: false }))).act?.action.kind, "Promote");
});

test("under heavy writes, behind by less than a second of them is as good as level", () => {
  const busy = (lag: number, entriesPerSecond: number) => {
    const world = learner(lag);
    return decide({ ...world, etcd: { ...world.etcd, entriesPerSecond } }).act?.action.kind;
  };
  assert.equal(busy(19_999, 20_000), "Promote");
  assert.notEqual(busy(20_001, 20_000), "Promote");
  assert.equal(busy(1_000, 3), "Promote", "a quiet cluster is judged as before");
  assert.notEqual(busy(1_001, 3), "Promote");
});

const three = healthy();

test("a learner that lags is asked again in a second", () => {
  const grown = run(edit(three, { replicas: 4 }));
  const list = grown.etcd.list && {
    ...grown.etcd.list,
    members: grown.etcd.list.members.map((e) => (e.name === "demo-4" ? { ...e, isLearner: true } : e)),
  };
  const behind = answering({ ...grown, etcd: { ...grown.etcd, list } }, "demo-1", { raftIndex: 9_000 });
  assert.deepEqual(says(learners, behind), ["LearnerBehind for 1000 ms"]);
  assert.deepEqual(says(learners, exited(behind, "demo-2")), ["MemberUnhealthy"]);
  const silent = change(behind, "demo-4", { workload: { state: "waiting", reason: "none", since: NOW } });
  assert.deepEqual(says(learners, answering(silent, "demo-4", { raftAppliedIndex: 9_000 })), [
    "LearnerBehind for 1000 ms",
  ]);
});
