import assert from "node:assert/strict";
import { test } from "node:test";
import { decide } from "../decide.ts";
import type { MemberFacts, Observation } from "../observation.ts";
import { available, degraded, quorate } from "../status/conditions.ts";
import { statusOf } from "../status/status.ts";
import { change, edit, exited, healthy, record } from "../testing/cluster.ts";
import { says } from "../testing/says.ts";
import { EDITED, SILENT, unreachableEtcd } from "../testing/unseen.ts";
import { viewOf } from "../view.ts";
import { quorumLost } from "./quorum-lost.ts";

function silent(observation: Observation): Observation {
  const { list, ...etcd } = observation.etcd;
  assert.ok(list);
  return { ...observation, etcd };
}

const everyone = ["demo-1", "demo-2", "demo-3"];

test("all down with their data: waiting, not lost", () => {
  const world = silent(everyone.reduce((o, name) => exited(o, name), healthy()));
  const { act, holds } = decide(world);
  assert.equal(act, undefined);
  const last = holds.at(-1);
  assert.equal(last?.reason, "Waking");
  assert.match(last?.message ?? "", /0 of 3 voters healthy, 2 needed/);
});

const onNode = (observation: Observation, name: string, lostNode: string) =>
  change(exited(observation, name), name, {
    workload: { state: "running", since: 1, startedFrom: "", restarts: 0, lostNode },
  });

test("two nodes do not answer: which, and how to say that they are off", () => {
  const world = silent(onNode(onNode(exited(healthy(), "demo-1"), "demo-2", "node-b"), "demo-3", "node-c"));
  const last = decide(world).holds.at(-1);
  assert.equal(last?.reason, "Waking");
  assert.match(last.message, /waiting for demo-1, demo-2, demo-3; node-b, node-c do not answer/);
  const taint = "node.kubernetes.io/out-of-service=nodeshutdown:NoExecute";
  assert.ok(last.next?.includes(`kubectl taint nodes node-b node-c ${taint}`), last.next);
});

test("too few can return whatever a silent node does: quorum is lost, and that node is named beside", () => {
  const away = (o: Observation, name: string) =>
    change(exited(o, name), name, {
      workload: { state: "absent" },
      volume: { state: "unreachable", uid: `volume-of-${name}`, reason: "its node was deleted" },
      directory: { state: "unreachable", why: "its node was deleted" },
    });
  const five = ["demo-3", "demo-4", "demo-5"].reduce(away, healthy({ replicas: 5 }));
  const down = silent(onNode(exited(five, "demo-1"), "demo-2", "node-b"));
  const last = decide(down).holds.at(-1);
  assert.equal(last?.reason, "QuorumLost");
  assert.match(last?.message ?? "", /demo-3, demo-4, demo-5/);
  assert.match(`${last?.message} ${last?.next}`, /node-b/);
});

test("data on the nodes themselves moves to no other node, and no taint is advised", () => {
  const local = healthy({ storage: { medium: "HostPath", size: "1Gi", hostPath: "/data" } });
  const world = silent(onNode(onNode(exited(local, "demo-1"), "demo-2", "node-b"), "demo-3", "node-c"));
  const { next = "" } = decide(world).holds.at(-1) ?? {};
  assert.match(next, /Bring node-b, node-c back.*delete the Nodes/);
  assert.doesNotMatch(next, /kubectl taint/);
});

test("what keeps a volume from being read is told with what to do about it, with and without enough others", () => {
  const unread = (o: Observation, name: string) =>
    change(exited(o, name), name, {
      directory: { state: "reading", why: "Pod demo-inspect: ImagePullBackOff", obstacle: "image" },
    });
  const coming = decide(silent(unread(exited(healthy(), "demo-2"), "demo-1"))).holds.at(-1);
  assert.match(
    coming?.message ?? "",
    /volume of demo-1 holds is not known yet: Pod demo-inspect: ImagePullBackOff/,
  );
  assert.match(coming?.next ?? "", /operator's image/);
  const gone = exited(exited(healthy(), "demo-2", "data-missing"), "demo-3", "data-missing");
  const lost = decide(silent(unread(gone, "demo-1"))).holds.at(-1);
  assert.equal(lost?.reason, "QuorumLost");
  assert.match(lost.message, /not known yet: Pod demo-inspect: ImagePullBackOff/);
  assert.match(lost.next ?? "", /^Make the operator's image available/);
});

test("all data gone: said, and never started over (I3)", () => {
  const world = silent(everyone.reduce((o, name) => exited(o, name, "data-missing"), healthy()));
  const { act, holds } = decide(world);
  assert.equal(act, undefined);
  assert.equal(holds.at(-1)?.reason, "DataGone");
  assert.ok(holds.at(-1)?.next);
});

test("a majority without data: lost for good, with what would be needed", () => {
  const world = silent(
    exited(exited(exited(healthy(), "demo-1"), "demo-2", "data-missing"), "demo-3", "data-missing"),
  );
  const { act, holds } = decide(world);
  assert.equal(act, undefined);
  const last = holds.at(-1);
  assert.equal(last?.reason, "QuorumLost");
  assert.match(last?.message ?? "", /demo-2, demo-3 lost their data/);
  assert.match(last?.next ?? "", /surviving member|snapshot/);
});

test("a single member whose data is gone stays down", () => {
  const world = silent(exited(healthy({ replicas: 1 }), "demo-1", "data-missing"));
  const { act, holds } = decide(world);
  assert.equal(act, undefined);
  assert.equal(holds.at(-1)?.reason, "DataGone");
});

test("learners that answer are no voters to wait for: with the only voter, everything is gone", () => {
  const learner = (o: Observation, name: string) =>
    change(o, name, ({ answer }) => ({
      answer: answer.reachable ? { ...answer, isLearner: true, leaderID: "0", linearizable: false } : answer,
    }));
  const world = exited(learner(learner(healthy(), "demo-2"), "demo-3"), "demo-1", "data-missing");
  const { act, holds } = decide(silent(world));
  assert.equal(act, undefined);
  assert.equal(holds.at(-1)?.reason, "DataGone");
  assert.match(holds.at(-1)?.message ?? "", /the only voter lost its data \(demo-1\)/);
});

test("an only member that came back without its data is reported as lost data, and nothing is changed (I3)", () => {
  const world = change(healthy({ replicas: 1 }), "demo-1", () => ({
    forgot: { evidence: "it is at revision 1, and 900 was seen before", seenRevision: 900 },
  }));
  const { act, holds } = decide(world);
  assert.equal(act, undefined);
  assert.equal(holds.at(-1)?.reason, "DataGone");
  assert.equal(holds.at(-1)?.classes, "all");
  assert.match(holds.at(-1)?.message ?? "", /revision 1, and 900 was seen/);
  assert.match(holds.at(-1)?.next ?? "", /approve=accept-data-900/);
  assert.equal(available(viewOf(world)).reason, "DataGone");
});

const three = healthy();

test("without quorum it is told who is missing, and for good only when too few can return", () => {
  const unseen = (o: Observation): Observation => ({ ...o, etcd: { ...o.etcd, list: undefined } });
  const none = unseen(exited(exited(three, "demo-2"), "demo-3"));
  assert.deepEqual(says(quorumLost, none), ["Waking"]);
  const gone = (o: Observation, name: string) => exited(o, name, "data-missing");
  assert.deepEqual(says(quorumLost, unseen(gone(three, "demo-2"))), ["Waking"]);
  assert.deepEqual(says(quorumLost, unseen(gone(gone(three, "demo-2"), "demo-3"))), ["QuorumLost"]);
  const all = gone(gone(gone(three, "demo-1"), "demo-2"), "demo-3");
  assert.deepEqual(says(quorumLost, unseen(all)), ["DataGone"]);
  for (const volume of [{ state: "absent" }, { state: "ready", uid: "another" }] as const) {
    const lost = (o: Observation, name: string) => change(exited(o, name), name, { volume });
    assert.deepEqual(says(quorumLost, unseen(lost(lost(three, "demo-2"), "demo-3"))), ["QuorumLost"]);
  }
  const nobody = { ...unseen(three), members: [] };
  assert.deepEqual(
    says(quorumLost, nobody),
    ["QuorumLost"],
    "nothing is known to be gone where nobody is left",
  );
});

test("a founder that was never seen to serve votes too: with its data, quorum may be lost for good", () => {
  const two = healthy({ replicas: 2 });
  const unseen: Observation = { ...two, etcd: { ...two.etcd, list: undefined } };
  const founder = (o: Observation) => record(o, "demo-1", { joined: false });
  const gone = change(founder(exited(exited(unseen, "demo-1"), "demo-2")), "demo-1", {
    volume: { state: "absent" },
  });
  assert.deepEqual(says(quorumLost, gone), ["QuorumLost"]);
  const former = record(gone, "demo-1", { token: "of-a-former-life" });
  assert.deepEqual(says(quorumLost, former), ["Waking"], "one of a former life does not vote");
});

test("members that serve everybody but us get no template, are not stopped and not replaced", () => {
  for (const o of [unreachableEtcd(), edit(unreachableEtcd(), EDITED)]) {
    const { act, holds } = decide(o);
    assert.equal(act, undefined);
    assert.deepEqual(
      holds.map(({ reason }) => reason),
      ["EtcdUnreachable"],
    );
  }
});

test("the conditions say that nothing is known, and where to look", () => {
  const view = viewOf(unreachableEtcd());
  for (const verdict of [quorate(view), available(view), degraded(view, [])]) {
    assert.deepEqual([verdict.status, verdict.reason], ["Unknown", "EtcdUnreachable"]);
    assert.match(
      verdict.message,
      /cannot reach etcd on demo-1, demo-2, demo-3 \(connection timed out\), but their etcd containers are ready; nothing is changed until it can be reached\. Check .*NetworkPolicy/,
    );
  }
  assert.equal(statusOf(unreachableEtcd(), decide(unreachableEtcd()), undefined).readyReplicas, 3);
});

test("the advice follows the kind of the failure", () => {
  const advice = (answer: MemberFacts["answer"]) => {
    const [outcome] = quorumLost(viewOf(unreachableEtcd(healthy(), true, { answer })));
    return outcome && "hold" in outcome ? outcome.hold.next : "";
  };
  assert.match(advice({ ...SILENT, cause: "certificate" }) ?? "", /certificate.*approve=restart-demo-1/);
  assert.match(advice({ ...SILENT, cause: "authentication" }) ?? "", /auth disable/);
  assert.match(advice({ reachable: false, error: "?" }) ?? "", /^Check what keeps the operator/);
  const [first] = healthy().members;
  assert.ok(first?.answer.reachable);
  assert.match(advice({ ...first.answer, linearizable: false, refused: true }) ?? "", /auth disable/);
});

test("a quorum that is not even said to be there is lost, not hidden", () => {
  let world = unreachableEtcd();
  world = exited(exited(world, "demo-1", "unknown"), "demo-2", "unknown");
  assert.deepEqual(says(quorumLost, world), ["Waking"]);
  assert.equal(quorate(viewOf(world)).status, "False");
  assert.deepEqual(says(quorumLost, unreachableEtcd(healthy(), false)), ["Waking"], "not one is ready");
});
