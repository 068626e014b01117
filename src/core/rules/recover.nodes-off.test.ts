/** A recovery while nodes are silent: whether they are off, a person says in the approval, and of each by its name. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { decide } from "../decide.ts";
import type { MemberFacts, Observation } from "../observation.ts";
import { statusOf as clusterStatus } from "../status/status.ts";
import { change, edit, exited, healthy, NOW } from "../testing/cluster.ts";
import { asking, operationOf } from "../testing/operations.ts";
import { after, ending, holding, next, planOf, until } from "../testing/quorum-loss.ts";
import { assertAllEnded } from "../testing/recovery-invariants.ts";
import { assertInvariants } from "../testing/naive-invariants.ts";

const MINUTE = 60_000;
const UNREACHABLE = { reachable: false, error: "timed out" } as const;

const silentFor = (name: string, minutes: number) =>
  ({ name, kubelet: "silent", since: NOW - minutes * MINUTE }) as const;

/** demo-1 has its data; of the other two nothing is heard. */
function silent(minutes = 6): Observation {
  const world = holding(exited(healthy(), "demo-1"), "demo-1");
  const { list: _nobody, ...etcd } = world.etcd;
  const on = (o: Observation, [name, node]: readonly [string, string]) =>
    change(o, name, ({ workload }) => ({
      answer: UNREACHABLE,
      unhealthySince: NOW - minutes * MINUTE,
      workload: workload.state === "running" ? { ...workload, lostNode: node } : workload,
      node: silentFor(node, minutes),
    }));
  const placed: readonly (readonly [string, string])[] = [
    ["demo-2", "node-b"],
    ["demo-3", "node-c"],
  ];
  return placed.reduce(on, { ...world, etcd: { ...etcd, highestRevision: 95 } });
}

const world = silent();
const plan = planOf(world)?.hash ?? "";
const both = ["node-b", "node-c"];
const approving = (nodesOff: readonly string[] | undefined, o = world, createdAt = NOW) =>
  asking(
    o,
    { kind: "recoverQuorum", approve: plan, ...(nodesOff && { nodesOff: [...nodesOff] }) },
    { createdAt },
  );

function message(observation: Observation): string {
  const { act } = decide(observation);
  return act?.action.kind === "UpdateOperation" ? (act.action.status.message ?? "") : "";
}

/** Told to stop, and nobody confirms it. */
function hanging(o: Observation): Observation {
  let now = o;
  for (let i = 0; i < 40; i++) {
    const { act } = decide(now);
    assert.ok(act);
    if (!["UpdateOperation", "UpdateMember", "StopWorkload"].includes(act.action.kind)) return now;
    assertInvariants(now, act.action);
    const { action } = act;
    const isSilent = (facts: MemberFacts) => facts.node?.kubelet === "silent";
    now =
      action.kind === "StopWorkload"
        ? change(now, action.member, (facts) => ({
            workload: isSilent(facts)
              ? { state: "stopping", since: NOW, overdue: true, lostNode: facts.node?.name ?? "" }
              : { state: "absent" },
          }))
        : after(now, action);
  }
  throw new Error("it does not come to an end");
}

test("with nodes that were silent for five minutes there is a plan, and it says that they have to be off", () => {
  assert.equal(planOf(silent(4)), undefined, "most come back");
  assert.deepEqual(planOf(world)?.nodesOff, both);
  const { recovery } = clusterStatus(world, decide(world), undefined);
  assert.equal(recovery?.plan, plan);
  assert.match(recovery.message, /^Only if node-b, node-c are off, demo-1 would be taken/);
  assert.match(recovery.message, /what demo-2 holds is not known: node-b does not report/);
  assert.deepEqual(
    recovery.nodesOff?.map(({ name, members }) => [name, members]),
    [
      ["node-b", ["demo-2"]],
      ["node-c", ["demo-3"]],
    ],
  );
  assert.equal(
    recovery.nodesOff?.[0]?.silentSince,
    new Date(NOW - 6 * MINUTE).toISOString().replace(".000", ""),
  );
  assert.deepEqual(
    recovery.members.map(({ data }) => data),
    ["Found", "Unreachable", "Unreachable"],
  );
  const { code, next: remedy = "" } = decide(world).holds.at(-1) ?? {};
  assert.equal(code, "QuorumHindered", "nothing is lost as far as anybody knows");
  assert.match(remedy, /--node-off node-b --node-off node-c/);
});

test("the nodes are a part of the hash: a plan with one more of them is another one", () => {
  const together = planOf(change(world, "demo-3", { node: silentFor("node-b", 6) }));
  assert.deepEqual(together?.nodesOff, ["node-b"]);
  assert.notEqual(together.hash, plan, "of the same members with the same data");
  const one = change(world, "demo-3", { workload: { state: "absent" }, directory: { state: "empty" } });
  const fewer = planOf(change(one, "demo-3", ({ node: _off, ...facts }) => facts));
  assert.deepEqual(fewer?.nodesOff, ["node-b"]);
  assert.notEqual(fewer.hash, plan);
  assert.equal(planOf(silent(9))?.hash, plan, "not for how long they have been silent");
});

test("a member that answers, is alive or is seen by its peers: its node is not off, and there is no plan", () => {
  for (const sign of [{ alive: true }, { seenByPeers: true }] as const)
    assert.deepEqual(planOf(change(world, "demo-2", sign))?.nodesOff, undefined, JSON.stringify(sign));
  const together = change(change(world, "demo-3", { node: silentFor("node-b", 6) }), "demo-3", {
    alive: true,
  });
  assert.equal(planOf(together), undefined, "also where it is another member of the same node");
});

test("two members of one node that tell different things of it: what reports counts, and no plan names that node", () => {
  // Where Nodes may not be read, each Pod tells for itself.
  const differ = (node: NonNullable<MemberFacts["node"]>) => change(world, "demo-3", { node });
  assert.equal(planOf(differ({ name: "node-b", kubelet: "reports" })), undefined);
  assert.equal(planOf(differ(silentFor("node-b", 1))), undefined, "it was heard a minute ago");
  const lost = change(exited(world, "demo-3", "data-missing"), "demo-3", { directory: { state: "empty" } });
  assert.deepEqual(planOf(lost)?.nodesOff, both);
  const told = change(lost, "demo-3", { node: { name: "node-b", kubelet: "reports" } });
  assert.equal(planOf(told), undefined, "with what demo-2 has there may be a quorum of data");
});

test("an approval that does not name the nodes, or names others, is rejected with the names", () => {
  assert.deepEqual(ending(approving(undefined)), ["Rejected", "NodesDiffer"]);
  assert.deepEqual(ending(approving(["node-b"])), ["Rejected", "NodesDiffer"]);
  assert.match(message(approving(["node-b"])), /may still run on node-c/);
  assert.deepEqual(ending(approving([...both, "node-d"])), ["Rejected", "NodesDiffer"]);
  assert.match(message(approving([...both, "node-d"])), /names node-d, which/);
});

test("an approval that comes too early says of its nodes that they need not be off, not that quorum is there", () => {
  assert.deepEqual(ending(approving(both, silent(4))), ["Rejected", "NodesDiffer"]);
  assert.match(message(approving(both, silent(4))), /names node-b, node-c, .*not been silent for 5 minutes/);
  assert.deepEqual(ending(approving([], silent(4))), ["Rejected", "QuorumNotLost"]);
});

test("with both named, what hangs there counts as ended, and the record says who said so", () => {
  const stopped = hanging(approving(both));
  const started = decide(approving(both)).act?.action;
  assert.ok(started?.kind === "UpdateOperation");
  assert.match(started.status.message ?? "", /demo-1; node-b, node-c were said to be off in the approval\.$/);
  assert.ok(
    stopped.members.some(({ workload }) => workload.state === "stopping"),
    "nothing is forced",
  );
  const { act } = decide(stopped);
  assert.ok(act?.action.kind === "RescueData");
  assert.equal(act.action.plan, plan);
  const mark = until(stopped, ({ kind }) => kind === "MarkCluster");
  const begun = decide(mark).act?.action;
  assert.ok(begun?.kind === "MarkCluster" && begun.change.recovered?.plan === plan);
});

test("the oracle takes no node for off from which anything is heard, be it by another member there", () => {
  const stopped = hanging(approving(both));
  const rescued = until(stopped, ({ kind }) => kind === "MarkCluster");
  assertAllEnded(rescued);
  const shared = change(rescued, "demo-3", { node: silentFor("node-b", 6) });
  const heard: readonly Partial<MemberFacts>[] = [
    { alive: true },
    { seenByPeers: true },
    { node: { name: "node-b", kubelet: "reports" } },
    { node: { ...silentFor("node-b", 0), since: NOW + MINUTE } },
  ];
  for (const name of ["demo-2", "demo-3"])
    for (const facts of heard)
      assert.throws(
        () => assertAllEnded(change(shared, name, facts)),
        /I10/,
        `${name} ${JSON.stringify(facts)}`,
      );
});

test("the time to stop is given there, too: until it is over the end is awaited", () => {
  const stopped = hanging(approving(both));
  const early = change(stopped, "demo-2", { workload: { state: "stopping", since: NOW } });
  assert.equal(next(early), "nothing");
  assert.equal(decide(early).holds.at(-1)?.code, "RecoveryAwaitsStop");
});

test("a node that reports again, before or after members were stopped, ends it before any data is changed", () => {
  const reporting = (o: Observation) => change(o, "demo-2", { node: { name: "node-b", kubelet: "reports" } });
  assert.deepEqual(ending(reporting(approving(both))), ["Rejected", "NodeReports"]);
  const stopped = hanging(approving(both));
  assert.deepEqual(ending(reporting(stopped)), ["Failed", "NodeReports"]);
  const one =
    /node-b was said to be off .*, but its kubelet or a member there reports, .* no data was changed/;
  assert.match(message(reporting(stopped)), one);
  const two = change(reporting(stopped), "demo-3", { node: { name: "node-c", kubelet: "reports" } });
  assert.match(
    message(two),
    /node-b, node-c were said to be off .*, but their kubelets or members there report,/,
  );
  const again = change(stopped, "demo-2", { node: { ...silentFor("node-b", 0), since: NOW + MINUTE } });
  assert.deepEqual(ending(again), ["Failed", "NodeReports"], "it is silent again, and was heard meanwhile");
  const answers = change(stopped, "demo-3", { alive: true });
  assert.deepEqual(ending(answers), ["Failed", "NodeReports"], "a member of the node is heard");
  const mark = until(stopped, ({ kind }) => kind === "MarkCluster");
  assert.deepEqual(ending(reporting(mark)), ["Failed", "NodeReports"], "also with the snapshot at hand");
});

test("its times are the server's, whatever our own clock shows", () => {
  const ahead = { ...world, now: NOW + 60 * MINUTE, serverNow: NOW };
  assert.deepEqual(planOf(ahead)?.nodesOff, both);
  const early = { ...silent(4), now: NOW + 60 * MINUTE, serverNow: NOW };
  assert.equal(planOf(early), undefined);
});

test("a node that is deleted or tainted meanwhile changes nothing of what was approved", () => {
  const stopped = hanging(approving(both));
  const gone = change(stopped, "demo-2", ({ node: _gone, ...facts }) => ({
    ...facts,
    workload: { state: "absent" },
    directory: { state: "unreachable", why: "no node can use its volume" },
  }));
  const withoutNode = {
    ...gone,
    members: gone.members.map((facts) => {
      const { node, ...rest } = facts;
      return facts.record.name === "demo-2" ? rest : { ...rest, ...(node && { node }) };
    }),
  };
  assert.equal(decide(withoutNode).act?.action.kind, "RescueData");
});

test("a node that falls silent after the approval is awaited, and named when the time is over", () => {
  const stopped = hanging(approving(["node-b", "node-c"]));
  const late = change(stopped, "demo-1", {
    workload: { state: "stopping", since: NOW, overdue: true, lostNode: "node-a" },
    node: silentFor("node-a", 10),
  });
  assert.equal(next(late), "nothing");
  const hold = decide(late).holds.at(-1);
  assert.equal(hold?.code, "RecoveryAwaitsNode");
  assert.match(hold.message, /node-a/);
  assert.deepEqual(ending({ ...late, now: NOW + 31 * MINUTE }), ["Failed", "StepFailed"]);
});

test("without a person nothing is said to be off", () => {
  const automatic = edit(world, { recovery: { quorumLoss: "Automatic", maxLostRevisions: 1_000 } });
  assert.equal(next(automatic), "nothing");
  assert.match(
    decide(automatic).holds.at(-1)?.next ?? "",
    /only a person can say that node-b, node-c are off/,
  );
});

test("a member whose data is lost needs its node to be off as well: its end cannot be proven either", () => {
  const wiped = ["demo-2", "demo-3"].reduce(
    (o, name) => change(exited(o, name, "data-missing"), name, { directory: { state: "empty" } }),
    world,
  );
  const lost = planOf(wiped);
  assert.deepEqual(lost?.nodesOff, both);
  assert.deepEqual(
    lost.members.map(({ unreachable }) => unreachable),
    [undefined, undefined, undefined],
  );
});

test("an approval of before names no nodes and is good where none are silent", () => {
  const heard = { ...world, members: world.members.map(({ node: _none, ...facts }) => facts) };
  assert.equal(planOf(heard), undefined, "they may run");
  assert.deepEqual(operationOf({ kind: "recoverQuorum", approve: plan }).task, {
    kind: "recoverQuorum",
    approve: plan,
  });
});
