import assert from "node:assert/strict";
import { test } from "node:test";
import { decide } from "../decide.ts";
import { answering, exited, healthy, run } from "../testing/cluster.ts";
import { viewOf } from "../view.ts";
import { defragment } from "./defragment.ts";
import { asking, outcomeOf, statusOf, stepsOf, reportedStatus } from "../testing/operations.ts";

const world = healthy({ learners: 1 });

test("voters one at a time, followers first and the leader last, each in the record", () => {
  assert.deepEqual(stepsOf(asking(world, { kind: "defragment" })), [
    "start operation task",
    "defragment demo-2",
    "step operation task",
    "defragment demo-3",
    "step operation task",
    "defragment demo-1",
    "step operation task",
    "succeed operation task",
  ]);
  const { steps } = outcomeOf(asking(world, { kind: "defragment" }));
  assert.deepEqual(
    steps?.map(({ member }) => member),
    ["demo-2", "demo-3", "demo-1"],
  );
});

test("only those that were named", () => {
  const status = outcomeOf(asking(world, { kind: "defragment", members: ["demo-3"] }));
  assert.deepEqual(status.members, ["demo-3"]);
  assert.equal(status.message, "1 member is defragmented.");
});

test("a wrong target is rejected with the reason", () => {
  const reason = (members: string[], observation = world) => {
    const { act } = decide(asking(observation, { kind: "defragment", members }));
    return act?.action.kind === "UpdateOperation" ? act.action.status.reason : undefined;
  };
  assert.equal(reason(["demo-9"]), "UnknownMember");
  assert.equal(reason(["demo-4"]), "MemberIsLearner");
  assert.equal(reason(["demo-2"], exited(world, "demo-2")), "MemberNotHealthy");
  const large = answering(world, "demo-2", { dbSize: 900 * 1024 ** 3 });
  assert.equal(reason(["demo-2"], large), "DatabaseTooLarge");
});

test("while a member is down nobody is silenced, whether it began or not", () => {
  const down = exited(world, "demo-3");
  assert.equal(decide(asking(down, { kind: "defragment" })).act, undefined);
  const begun = { phase: "Running" as const, members: ["demo-2", "demo-1"] };
  const running = asking(down, { kind: "defragment" }, { status: begun });
  assert.equal(decide(running).act, undefined);
  assert.equal(reportedStatus(running), "Running OperationRunning");
});

test("a member that left meanwhile is told, not skipped silently", () => {
  const status = { phase: "Running" as const, members: ["demo-9", "demo-2"] };
  const ended = run(asking(world, { kind: "defragment" }, { status }));
  const { phase, reason, steps } = statusOf(ended);
  assert.deepEqual([phase, reason], ["Failed", "Incomplete"]);
  assert.deepEqual(
    steps?.map(({ member, failed }) => [member, failed === true]),
    [
      ["demo-9", true],
      ["demo-2", false],
    ],
  );
});

test("a voter that is a learner again, by somebody's hand, is told and not asked: etcd would refuse", () => {
  const list = world.etcd.list ?? assert.fail();
  const members = list.members.map((one) => (one.name === "demo-2" ? { ...one, isLearner: true } : one));
  const changed = { ...world, etcd: { ...world.etcd, list: { ...list, members } } };
  const status = { phase: "Running" as const, members: ["demo-2"] };
  const observation = asking(changed, { kind: "defragment" }, { status });
  const [operation] = observation.operations;
  assert.ok(operation);
  assert.deepEqual(defragment.advance(viewOf(observation), { kind: "defragment" }, operation), {
    done: { member: "demo-2", message: "demo-2 is a learner now: not defragmented", failed: true },
  });
});
