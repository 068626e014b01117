import assert from "node:assert/strict";
import { test } from "node:test";
import { decide } from "../decide.ts";
import type { MemberFacts, Observation } from "../observation.ts";
import { degraded } from "../status/conditions.ts";
import { NOW, change, edit, exited, healthy, record, run } from "../testing/cluster.ts";
import { ended, ill, runs } from "../testing/ill.ts";
import { says, words } from "../testing/says.ts";
import { unseen } from "../testing/unseen.ts";
import { viewOf } from "../view.ts";
import { replaceBroken } from "./replace-broken.ts";

const MINUTE = 60_000;

test("a killed member is waited for, and holds only what needs every voter", () => {
  const { act, holds } = decide(exited(healthy(), "demo-2"));
  assert.equal(act, undefined);
  assert.equal(holds[0]?.reason, "MemberUnhealthy");
  assert.ok(!holds[0]?.classes.includes("shrink") && !holds[0]?.classes.includes("heal"));
});

test("a member that serves although its Pod is being deleted is not replaced, however long (H16)", () => {
  const ending = (workload: object, o = healthy()) =>
    change({ ...o, now: NOW + 60 * MINUTE }, "demo-2", {
      workload: { state: "stopping", since: NOW, overdue: true, ...workload },
      unhealthySince: NOW,
    } as Partial<MemberFacts>);
  for (const workload of [{ lostNode: "node-2" }, {}]) {
    const { act, holds } = decide(ending(workload));
    assert.equal(act, undefined);
    const [hold] = holds.filter(({ code }) => code === "ServesWhileEnding");
    assert.equal(hold?.reason, "MemberUnhealthy");
    assert.ok(hold.next);
  }
  const silent = change(ending({ lostNode: "node-2" }), "demo-2", {
    answer: { reachable: false, error: "" },
  });
  assert.equal(decide(silent).act?.rule, "replace-broken");
});

test("certain loss is acted on at once", () => {
  const cases = {
    "it lost its data": exited(healthy(), "demo-2", "data-missing"),
    "its data is corrupt": exited(healthy(), "demo-2", "data-corrupt"),
    "its volume is gone": change(exited(healthy(), "demo-2"), "demo-2", { volume: { state: "absent" } }),
    "its volume was replaced by another": change(exited(healthy(), "demo-2"), "demo-2", {
      volume: { state: "ready", uid: "another" },
    }),
    "etcd has removed it": exited(healthy(), "demo-2", "removed"),
  };
  for (const [reason, world] of Object.entries(cases)) {
    const { act } = decide(world);
    assert.equal(act?.rule, "replace-broken", reason);
    assert.equal(act?.action.kind === "UpdateMember" && act.action.change.leaving?.reason, reason);
    assert.deepEqual(
      run(world).members.map((facts) => facts.record.name),
      ["demo-1", "demo-3", "demo-4"],
    );
  }
});

test("a member that stays down is replaced after repair.memberLostAfter", () => {
  const world = exited(healthy(), "demo-2", "unknown");
  assert.equal(decide({ ...world, now: world.now + 4 * MINUTE }).act, undefined);
  assert.equal(decide({ ...world, now: world.now + 5 * MINUTE }).act?.rule, "replace-broken");
});

test("a dead member of two is quorum loss, not a replacement (H6)", () => {
  const { act, holds } = decide(exited(healthy({ replicas: 2 }), "demo-2", "data-missing"));
  assert.equal(act, undefined);
  assert.ok(holds.some((hold) => hold.reason === "RemovalUnsafe" || hold.reason === "QuorumLost"));
});

test("two dead of five are replaced one after the other", () => {
  let world = healthy({ replicas: 5 });
  world = exited(exited(world, "demo-2", "data-missing"), "demo-4", "data-missing");
  const end = run(world);
  assert.deepEqual(
    end.members.map((facts) => facts.record.name),
    ["demo-1", "demo-3", "demo-5", "demo-6", "demo-7"],
  );
});

test("with more members than wanted a broken one is removed and not replaced (H6)", () => {
  const world = edit(exited(healthy({ replicas: 5 }), "demo-1", "data-missing"), { replicas: 3 });
  const end = run(world);
  assert.equal(end.members.length, 3);
  assert.ok(!end.members.some((facts) => facts.record.name === "demo-1" || facts.record.ordinal > 5));
});

test("the budget stops a run of replacements and says until when", () => {
  const world = exited(healthy(), "demo-2", "data-missing");
  const replaced = {
    "demo-7": world.now - 10,
    "demo-8": world.now - 20,
    "demo-9": world.now - 30,
    "demo-10": world.now - 40,
  };
  const marks = { ...world.cluster.marks, replaced };
  const { act, holds } = decide({ ...world, cluster: { ...world.cluster, marks } });
  assert.equal(act, undefined);
  const hold = holds.find(({ reason }) => reason === "ReplacementBudget");
  assert.equal(hold?.until, world.now - 40 + 3_600_000);
  assert.ok(hold?.next);
});

test("growing does not use up the budget of replacements", () => {
  const grown = run(edit(healthy({ replicas: 1 }), { replicas: 7 }));
  const { act } = decide(exited(grown, "demo-2", "data-missing"));
  assert.equal(act?.rule, "replace-broken");
});

test("a record deleted by hand means: replace this member, while it still serves (I5)", () => {
  const end = run(change(healthy(), "demo-2", { deleting: true }));
  assert.deepEqual(
    end.members.map((facts) => facts.record.name),
    ["demo-1", "demo-3", "demo-4"],
  );
});

test("a deleted record of a running voter that missed an answer waits for the successor; a broken one does not", () => {
  const world = change(healthy(), "demo-2", { deleting: true });
  const purpose = (o: Observation) => {
    const { act } = decide(o);
    return act?.action.kind === "UpdateMember" ? act.action.purpose : act?.action.kind;
  };
  const missed = unseen(world, "demo-2", false, { unhealthySince: world.now - 1_000, deleting: true });
  assert.equal(purpose(missed), "retire");
  const reason = "its record was deleted";
  assert.equal(purpose(record(missed, "demo-2", { retiring: { reason } })), undefined);
  const down = unseen(world, "demo-2", false, { unhealthySince: world.now - 2 * MINUTE, deleting: true });
  assert.equal(purpose(down), "leave");
  assert.equal(purpose(exited(world, "demo-2", "unknown")), "leave");
});

test("an unreachable volume is reported with its node, waited for, then given up", () => {
  const world = change(exited(healthy(), "demo-2"), "demo-2", {
    volume: { state: "unreachable", uid: "volume-of-demo-2", reason: "node b is gone" },
  });
  const { act, holds } = decide(world);
  assert.equal(act, undefined);
  assert.equal(holds[0]?.reason, "StorageLost");
  assert.match(holds[0]?.message ?? "", /node b is gone/);
  assert.equal(decide({ ...world, now: world.now + 5 * MINUTE }).act?.rule, "replace-broken");
});

test("with replacing turned off a broken member is reported, and left", () => {
  const world = exited(edit(healthy(), { repair: { maxReplacementsPerHour: 0 } }), "demo-2", "data-missing");
  const { act, holds } = decide(world);
  assert.equal(act, undefined);
  assert.match(
    holds[0]?.message ?? "",
    /not replaced \(it lost its data\): spec\.repair\.maxReplacementsPerHour is 0/,
  );
});

test("a voter that came back without its data is not healthy, and is replaced (I4)", () => {
  const world = change(healthy(), "demo-2", () => ({
    forgot: { evidence: "it is at revision 1, and 900 was seen before", seenRevision: 900 },
  }));
  assert.equal(viewOf(world).healthyVoters, 2);
  const { act } = decide(world);
  assert.equal(act?.action.kind === "UpdateMember" && act.action.purpose, "leave");
  assert.match(act?.message ?? "", /^replacing demo-2: it came back without its data \(it is at revision 1/);
});

test("a member without a workload is not lost by time, and the cause is reported (H16)", () => {
  const message = "the Pod of demo-2: 403 exceeded quota";
  const absent = change(healthy(), "demo-2", {
    workload: { state: "absent", notMade: { reason: "PodRefused", message } },
    answer: { reachable: false, error: "no process runs" },
    unhealthySince: 0,
  });
  const { act, holds } = decide(absent);
  assert.equal(act, undefined);
  assert.equal(holds[0]?.reason, "PodRefused");
  assert.match(holds[0]?.message ?? "", /demo-2 cannot be started: the Pod of demo-2: 403 exceeded quota/);
  assert.equal(decide(change(absent, "demo-2", { workload: { state: "absent" } })).act, undefined);
  // What is certain does not wait: its data is gone.
  const gone = change(absent, "demo-2", { volume: { state: "absent" } });
  assert.equal(decide(gone).act?.rule, "replace-broken");
});

test("nobody new is begun while somebody could not be made, or nobody could be (H16)", () => {
  const grow = edit(healthy(), { replicas: 5 });
  assert.equal(decide(grow).act?.action.kind, "CreateMember");
  const notMade = { reason: "AuthorityMissing", message: "Secret default/demo-peer-ca is missing" } as const;
  const blocked = { ...grow, platform: { ...grow.platform, newcomersBlocked: notMade } };
  assert.equal(decide(blocked).act, undefined);
  assert.ok(decide(blocked).holds.some(({ reason }) => reason === "AuthorityMissing"));
});

test("two voters of three are not restarted while the third could not be given a certificate", () => {
  const pair = healthy({ replicas: 2 });
  const changed = edit(pair, { replicas: 3, options: { snapshotCount: 5_000 } });
  for (const [reason, isHeld] of [
    ["CertificateNotGiven", true],
    ["ObjectRefused", false],
  ] as const) {
    const newcomersBlocked = { reason, message: "demo-3 cannot be given one" };
    const { act } = decide({ ...changed, platform: { ...changed.platform, newcomersBlocked } });
    assert.equal(act === undefined, isHeld, act?.code);
  }
});

test("a member that is not made because its claim could not be read says so, and is kept", () => {
  const world = change(healthy(), "demo-2", {
    workload: { state: "absent" },
    volume: { state: "pending", reason: "whether it still exists could not be read: forbidden" },
    answer: { reachable: false, error: "no process runs" },
    unhealthySince: 0,
  });
  const hold = decide(world).holds.find(({ rule }) => rule === "replace-broken");
  assert.equal(hold?.reason, "VolumePending");
  assert.match(
    hold?.message ?? "",
    /demo-2 cannot be started .*could not be read: forbidden\. Its data is kept/,
  );
});

const HOUR = 3_600_000;
const three = healthy();
test("replacements within the hour are counted, and the next one waits until the oldest is an hour old", () => {
  const limited = edit(healthy({ replicas: 5 }), { repair: { maxReplacementsPerHour: 2 } });
  const lost = (replaced: Record<string, number>) => {
    const o = exited(limited, "demo-2", "data-missing");
    return { ...o, cluster: { ...o.cluster, marks: { ...o.cluster.marks, replaced } } };
  };
  assert.deepEqual(says(replaceBroken, lost({})), ["heal: leave demo-2"]);
  assert.deepEqual(says(replaceBroken, lost({ a: NOW - 1 })), ["heal: leave demo-2"]);
  assert.deepEqual(says(replaceBroken, lost({ a: NOW - 1, b: NOW - 1000 })), [
    `ReplacementBudget for ${HOUR - 1000} ms`,
  ]);
  assert.deepEqual(says(replaceBroken, lost({ a: NOW - 1, b: NOW - HOUR })), ["heal: leave demo-2"]);
  const leaving = { reason: "it broke", volume: "Retain", broken: true } as const;
  const underWay = record(lost({ a: NOW - 1000 }), "demo-5", { leaving });
  assert.deepEqual(says(replaceBroken, underWay), [`ReplacementBudget for ${HOUR - 1000} ms`]);
});

test("the wait for a member says why it is not healthy, as near to the cause as can be seen", () => {
  const reported: readonly [Observation, string][] = [
    [ill(ended("out of memory")), "out of memory"],
    [ill(ended("")), "killed"],
    [ill({ state: "waiting", reason: "no node fits", since: NOW }), "no node fits"],
    [ill({ state: "stopping", since: NOW }), "it is being stopped"],
    [ill({ state: "stopping", since: NOW, lostNode: "node-7" }), "its node node-7 is gone"],
    [ill(runs), "connection refused"],
  ];
  for (const [o, why] of reported)
    assert.equal(
      words(replaceBroken, o),
      `demo-2 is down (${why}); it will be replaced at 15:11:40 UTC unless it recovers`,
    );
  const dumb = change(three, "demo-2", ({ answer }) => ({
    answer: answer.reachable ? { ...answer, linearizable: false } : answer,
  }));
  assert.match(words(replaceBroken, dumb), /\(it is not serving\)/);
});

test("only what needs every voter waits for a voter; a learner keeps nobody from joining", () => {
  const classes = (o: Observation) =>
    replaceBroken(viewOf(o)).flatMap((outcome) => ("hold" in outcome ? [outcome.hold.classes] : []));
  const down = ill(ended("killed"));
  assert.deepEqual(classes(down), [["join", "promote", "roll", "maintain"]]);
  const list = down.etcd.list && {
    ...down.etcd.list,
    members: down.etcd.list.members.map((e) => (e.name === "demo-2" ? { ...e, isLearner: true } : e)),
  };
  assert.deepEqual(classes({ ...down, etcd: { ...down.etcd, list } }), [["roll", "maintain"]]);
});

test("what is certain is reported and acted on at once; storage that cannot be reached is waited for", () => {
  const lostAfter = 300_000;
  assert.equal(three.cluster.spec.repair.memberLostAfter, "5m");
  const at = (how: Partial<MemberFacts>) => change(ill(ended("killed")), "demo-2", how);
  const volume = { state: "unreachable", uid: runs ? "volume-of-demo-2" : "", reason: "node gone" } as const;
  assert.deepEqual(says(replaceBroken, at({ volume })), [`StorageLost for ${lostAfter} ms`]);
  const since = NOW - lostAfter;
  assert.deepEqual(says(replaceBroken, at({ volume, unhealthySince: since })), ["heal: leave demo-2"]);
  assert.deepEqual(says(replaceBroken, at({ volume, unhealthySince: since + 1 })), ["StorageLost for 1 ms"]);
  assert.deepEqual(says(replaceBroken, at({ unhealthySince: since })), ["heal: leave demo-2"]);
  assert.deepEqual(says(replaceBroken, at({ unhealthySince: since + 1 })), ["MemberUnhealthy for 1 ms"]);
  assert.deepEqual(says(replaceBroken, at({ deleting: true })), ["heal: leave demo-2"]);
  const blank = change(at({}), "demo-2", ({ record }) => ({ record: { ...record, volumeUID: undefined } }));
  assert.deepEqual(says(replaceBroken, blank), [], "who was not permitted to start cannot have failed");
});

test("each certain fault has its own words", () => {
  const reported = (o: Observation) => words(replaceBroken, o);
  assert.equal(reported(exited(three, "demo-2", "data-missing")), "replacing demo-2: it lost its data");
  assert.equal(reported(exited(three, "demo-2", "removed")), "replacing demo-2: etcd has removed it");
  const met = "it was started to bootstrap a cluster that already exists";
  assert.equal(reported(exited(three, "demo-2", "already-bootstrapped")), `replacing demo-2: ${met}`);
  assert.equal(
    reported(exited(three, "demo-2", "data-differs")),
    "",
    "a voter that differs may be right (R33)",
  );
  const list = three.etcd.list && {
    ...three.etcd.list,
    members: three.etcd.list.members.filter(({ name }) => name !== "demo-2"),
  };
  const unlisted = { ...exited(three, "demo-2"), etcd: { ...three.etcd, list } };
  assert.equal(reported(unlisted), "replacing demo-2: etcd no longer lists it");
  const learner = three.etcd.list && {
    ...three.etcd.list,
    members: three.etcd.list.members.map((e) => (e.name === "demo-2" ? { ...e, isLearner: true } : e)),
  };
  const differs = { ...exited(three, "demo-2", "data-differs"), etcd: { ...three.etcd, list: learner } };
  assert.equal(reported(differs), "replacing demo-2: its data differs from that of a peer");
});

test("a replacement that would cost the quorum, or is turned off, is reported so", () => {
  const two = exited(exited(three, "demo-2", "data-missing"), "demo-3");
  assert.match(words(replaceBroken, two), /demo-2 cannot be replaced without quorum \(it lost its data\)/);
  const pair = healthy({ replicas: 2 });
  const unsafe = change(exited(pair, "demo-2", "data-missing"), "demo-2", {});
  assert.match(words(replaceBroken, unsafe), /without quorum/);
  const off = edit(exited(three, "demo-2", "data-missing"), { repair: { maxReplacementsPerHour: 0 } });
  assert.match(
    words(replaceBroken, off),
    /demo-2 is not replaced \(it lost its data\): spec\.repair\.maxReplacementsPerHour is 0/,
  );
  const [outcome] = replaceBroken(viewOf(exited(three, "demo-2", "data-missing")));
  const action = outcome && "act" in outcome ? outcome.act.action : undefined;
  assert.equal(action?.kind === "UpdateMember" && action.change.leaving?.broken, true);
});

test("a founder that comes later than the others is starting: neither degraded nor about to be replaced", () => {
  const late = change(healthy(), "demo-3", ({ record }) => ({
    record: { ...record, joined: false },
    workload: { state: "waiting", reason: "ContainerCreating", since: NOW },
    answer: { reachable: false, error: "no process runs" },
    unhealthySince: NOW,
  }));
  const { status, reason, message } = degraded(viewOf(late), []);
  assert.deepEqual([status, reason], ["False", "MemberStarting"]);
  assert.equal(message, "2 of 3 members are healthy; demo-3 is starting (ContainerCreating)");
  const hold = decide(late).holds.find(({ rule }) => rule === "replace-broken");
  assert.equal(hold?.message, "waiting for demo-3 to start for the first time (ContainerCreating)");
});
