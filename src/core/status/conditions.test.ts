/** The sentences of the conditions, and the edges of what they judge. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { EtcdClusterStatus } from "../../api/etcd-cluster-status.ts";
import { degraded, quorate, spaceLow, tlsReady, type Certificates } from "./conditions.ts";
import { decide } from "../decide.ts";
import type { MemberFacts, Observation } from "../observation.ts";
import { statusOf, type GivenStatus } from "./status.ts";
import { NOW, change, edit, exited, healthy, record, run } from "../testing/cluster.ts";
import { viewOf } from "../view.ts";

const three = healthy();
const five = healthy({ replicas: 5 });
const MIB = 1024 ** 2;
const UNREACHABLE = { reachable: false, error: "connection refused" } as const;
const status = (o: Observation, given: GivenStatus = {}, previous?: EtcdClusterStatus) =>
  statusOf(o, decide(o), previous, given);

test("Quorate tells how many more may fail", () => {
  const reported = (o: Observation) => quorate(viewOf(o)).message;
  assert.equal(reported(five), "5 of 5 voters are healthy: 2 more may fail");
  assert.equal(reported(exited(five, "demo-5")), "4 of 5 voters are healthy: 1 more may fail");
  assert.equal(reported(exited(three, "demo-3")), "2 of 3 voters are healthy: none may fail now");
});

test("who answers a read through quorum has one, also where its Pods are not counted", () => {
  const hanging = change(three, "demo-2", {
    workload: { state: "stopping", since: NOW },
    answer: { reachable: false, error: "no process runs" },
  });
  const taken = change(hanging, "demo-1", { workload: { state: "absent" }, answer: UNREACHABLE });
  const types = (o: Observation) =>
    ["Quorate", "Available", "Degraded"].map(
      (type) => status(o).conditions?.find((one) => one.type === type)?.status,
    );
  assert.deepEqual(types(taken), ["True", "True", "True"]);
  assert.match(quorate(viewOf(taken)).message, /sees 1 of 3 voters healthy: none may fail now/);
  const { list } = taken.etcd;
  assert.ok(list);
  const unanswered = { ...taken, etcd: { ...taken.etcd, list: { ...list, linearizable: false } } };
  assert.deepEqual(types(unanswered), ["False", "False", "True"]);
  const emptied = change(taken, "demo-3", { forgot: { evidence: "its log ends at 3", seenRevision: 900 } });
  assert.equal(types(emptied)[0], "False", "one that came back empty answers too");
});

test("Degraded tells of each member why, and whether it is on its way back", () => {
  const reported = (workload: MemberFacts["workload"], o = three) => {
    const { reason, message } = degraded(viewOf(change(o, "demo-2", { workload, answer: UNREACHABLE })), []);
    return `${reason}: ${message}`;
  };
  const runs = three.members[1]?.workload;
  assert.ok(runs?.state === "running");
  assert.equal(reported(runs), "MemberRestarting: demo-2 does not answer: connection refused");
  assert.equal(reported({ state: "absent" }), "MemberRestarting: demo-2 is not running");
  assert.equal(reported({ state: "stopping", since: NOW }), "MemberRestarting: demo-2 is stopping");
  assert.equal(
    reported({ state: "stopping", since: NOW, lostNode: "node-7" }),
    "MemberRestarting: demo-2 is stopping: its node node-7 is gone",
  );
  const node = { name: "node-7", kubelet: "silent", since: NOW - 60_000 } as const;
  assert.equal(
    reported({ state: "stopping", since: NOW, lostNode: "node-7" }, change(three, "demo-2", { node })),
    "MemberRestarting: demo-2 is stopping: its node node-7 does not report",
  );
  assert.equal(
    reported({ state: "waiting", since: NOW, reason: "no node fits" }),
    "MemberDown: demo-2 cannot start: no node fits",
  );
  const one = exited(five, "demo-4");
  assert.equal(
    reported({ state: "absent" }, one),
    "MemberDown: demo-2 is not running; demo-4 exited: killed",
  );
  const deaf = change(three, "demo-2", ({ answer }) => ({
    answer: answer.reachable ? { ...answer, linearizable: false } : answer,
  }));
  assert.equal(degraded(viewOf(deaf), []).message, "demo-2 is running but does not serve yet");
});

test("a newcomer on its first way in is no loss, unless it ended; one that leaves and voted is", () => {
  const reason = (o: Observation) => degraded(viewOf(o), []).reason;
  const grown = run(edit(three, { learners: 1 }));
  const silent = change(grown, "demo-4", { workload: { state: "absent" }, answer: UNREACHABLE });
  assert.equal(reason(silent), "MemberRestarting");
  assert.equal(reason(record(silent, "demo-4", { joined: false })), "MemberStarting");
  assert.equal(reason(record(exited(grown, "demo-4"), "demo-4", { joined: false })), "MemberDown");
  const leaving = { reason: "it goes", volume: "Retain" } as const;
  assert.equal(reason(record(exited(three, "demo-2"), "demo-2", { leaving })), "MemberDown");
  assert.equal(reason(record(exited(three, "demo-2"), "demo-2", { leaving, joined: false })), "AllHealthy");
});

test("certificates: the plane that is plain is named, an expiry counts from its very moment", () => {
  const given = { problems: [], expiry: { "demo-2": NOW + 1 } };
  const reported = (o: Observation, certificates: Certificates = given) => {
    const { status: is, reason, message } = tlsReady(viewOf(o), certificates);
    return `${is} ${reason}: ${message}`;
  };
  assert.equal(reported(three), "True Issued: certificates are in place on the client and peer plane");
  assert.match(reported(three, { problems: [], expiry: { "demo-2": NOW } }), /^False Expired: .*demo-2/);
  const missing = {
    problems: ["spec.tls.peer.secrets.member: …"],
    reason: "SecretMissing",
    expiry: {},
  } as const;
  assert.match(reported(three, missing), /^False SecretMissing: spec\.tls/);
  const plain = edit(three, { tls: { mode: "Disabled" } });
  assert.match(reported(plain), /^False RollingOut: demo-1, demo-2, demo-3 do/, "all still serve TLS only");
  assert.match(reported(healthy({ tls: { mode: "Disabled" } })), /^False Disabled/);
  const back = edit(healthy({ tls: { mode: "Disabled" } }), { tls: { mode: "Managed" } });
  assert.match(reported(back), /^False RollingOut: demo-1, demo-2, demo-3 do not run with spec.tls yet/);
  const one = record(three, "demo-2", {
    template: { ...viewOf(three).members[1]!.record.template, tls: plain.cluster.spec.tls },
  });
  assert.match(reported(one), /^False RollingOut: demo-2 do/);
});

test("space: exactly at a limit is not above it, one member is enough, and who is silent is not asked", () => {
  const filled = (o: Observation, name: string, used: number, file: number) =>
    change(o, name, ({ answer }) => ({
      answer: answer.reachable ? { ...answer, dbSize: file * MIB, dbSizeInUse: used * MIB } : answer,
    }));
  const base = healthy({ options: { quotaBackendBytes: "1000Mi" } });
  const of = (used: number, file: number, before?: "True" | "False") =>
    spaceLow(viewOf(filled(base, "demo-2", used, file)), before).reason;
  assert.equal(of(800, 900), "Room");
  assert.equal(of(801, 900), "DataNearQuota");
  assert.equal(of(750, 900, "False"), "Room");
  assert.equal(of(700, 900, "True"), "Room");
  assert.equal(of(701, 900, "True"), "DataNearQuota");
  assert.equal(of(100, 950), "Room");
  assert.equal(of(100, 951), "FileNearQuota");
  const silent = base.members.reduce(
    (o, { record: { name } }) => change(o, name, { answer: UNREACHABLE }),
    base,
  );
  assert.equal(spaceLow(viewOf(silent), undefined).reason, "NotObserved");
});

test("while nobody can be asked, the status counts who had joined to vote, and keeps the cluster's ID", () => {
  const grown = run(edit(three, { learners: 1 }));
  const silent: Observation = { ...grown, etcd: { ...grown.etcd, list: undefined } };
  const reported = status(silent);
  assert.deepEqual(
    [reported.replicas, reported.clusterID, reported.endpoints?.length],
    [3, three.etcd.list?.clusterID, 3],
  );
  assert.equal(status(record(silent, "demo-2", { run: false })).replicas, 2);
  assert.equal(status(record(silent, "demo-2", { joined: false })).replicas, 2);
  assert.deepEqual(
    reported.members?.map(({ role }) => role),
    ["Unknown", "Unknown", "Unknown", "Unknown"],
  );
  const listed = status(record(grown, "demo-2", { run: false }));
  assert.equal(listed.replicas, 3);
  assert.equal(
    status({ ...silent, members: [], cluster: { ...silent.cluster, marks: { life: 1, highestOrdinal: 0 } } })
      .clusterID,
    undefined,
  );
});

test("what is not known is left out of the status, and what was given is in it", () => {
  const bare = status(three);
  for (const field of ["externalEndpoints", "clientSecret", "warnings", "notApplicable"])
    assert.equal(field in bare, false, field);
  const given = status(three, { clientSecret: "demo-client", externalEndpoints: ["https://x:2379"] });
  assert.equal(given.clientSecret, "demo-client");
  assert.deepEqual(given.externalEndpoints, ["https://x:2379"]);
  const many = Array.from({ length: 70 }, (_, i) => `warning ${i}`);
  assert.equal(status(three, { warnings: many }).warnings?.length, 32);
  const step = { step: "roll demo-1", reason: "new options" };
  const plan = Array.from({ length: 70 }, () => step);
  assert.equal(status(three, { plan: plan as never }).plan?.length, 64);
});

test("a member tells its numbers while it answers, its lag behind the leader, and its own alarms only", () => {
  const id = three.etcd.list?.members[1]?.id ?? "";
  const lagging = change(three, "demo-2", ({ answer }) => ({
    answer: answer.reachable ? { ...answer, raftAppliedIndex: answer.raftIndex - 4 } : answer,
  }));
  const alarmed: Observation = {
    ...lagging,
    etcd: { ...lagging.etcd, alarms: [{ memberID: id, alarm: "NOSPACE" }] },
  };
  const [first, second] = status(alarmed).members ?? [];
  assert.deepEqual([first?.raftLag, first?.alarms, first?.healthy], [0, undefined, true]);
  assert.deepEqual([second?.raftLag, second?.alarms, second?.healthy], [4, ["NOSPACE"], false]);
  const [, silent] = status(change(three, "demo-2", { answer: UNREACHABLE })).members ?? [];
  for (const field of ["version", "dbSize", "raftLag"]) assert.equal(field in (silent ?? {}), false, field);
});

test("the version told is the lowest that runs, and a downgrade names its target too", () => {
  const running = (o: Observation, name: string, version: string) =>
    change(o, name, ({ answer }) => ({ answer: answer.reachable ? { ...answer, version } : answer }));
  const mixed = running(running(three, "demo-1", "3.7.3"), "demo-3", "3.6.15");
  assert.equal(status(mixed).version?.current, "3.6.15");
  const silent = change(three, "demo-3", { answer: UNREACHABLE });
  assert.equal(status(silent).version?.current, "3.6.16");
  const down = edit(healthy({ version: "3.7.3" }), { version: "3.6.16" });
  assert.deepEqual(status(down).version, { current: "3.7.3", target: "3.6.16" });
  assert.deepEqual(status(running(three, "demo-2", "3.6.15")).version, {
    current: "3.6.15",
    target: "3.6.16",
  });
});
