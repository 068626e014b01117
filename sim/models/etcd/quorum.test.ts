import assert from "node:assert/strict";
import { test } from "node:test";
import { Lab, peerURL } from "./lab.ts";
import { Refusal } from "./refusal.ts";

test("without quorum nothing is written and no list is confirmed; status and the old list still answer (R21)", () => {
  const lab = new Lab();
  lab.found("abc");
  const [one, two, rest] = ["a", "b", "c"] as const;
  lab.kill(one);
  lab.kill(two);
  lab.pass(5_000);
  assert.throws(() => lab.keys.put(lab.at(rest), "k", 10), Refusal);
  assert.throws(() => lab.calls.memberList(lab.at(rest), true), Refusal);
  assert.equal(lab.calls.memberList(lab.at(rest), false).length, 3);
  assert.equal(lab.calls.status(lab.at(rest)).leaderID, "0");
});

test("a member that was started without a quorum answers no client, however long it runs, until there is a leader", () => {
  const lab = new Lab();
  lab.found("abc");
  for (const name of "abc") lab.kill(name);
  lab.start("a", { cluster: "a", state: "existing" });
  lab.pass(120_000);
  assert.equal(lab.at("a").runs, true);
  assert.equal(lab.at("a").serving, false);
  lab.start("b", { cluster: "b", state: "existing" });
  lab.pass(5_000);
  assert.deepEqual([lab.at("a").serving, lab.at("b").serving], [true, true]);
});

test("a learner goes on naming the leader that it heard last, a voter does not", () => {
  const lab = new Lab();
  lab.found("ab");
  lab.calls.memberAdd(lab.leader(), [peerURL("d")], true);
  lab.start("d", { cluster: "abd", state: "existing" });
  lab.pass(5_000);
  const { id, config } = lab.leader();
  const other = config.name === "a" ? "b" : "a";
  lab.kill(config.name);
  lab.pass(10_000);
  assert.equal(lab.calls.status(lab.at(other)).leaderID, "0");
  assert.equal(lab.calls.status(lab.at("d")).leaderID, id);
});

test("a killed leader is followed by another within two election timeouts; a stopped one at once (R10)", () => {
  const lab = new Lab();
  lab.found("abc");
  const killed = lab.leader();
  lab.world.signal(killed, "SIGKILL");
  assert.throws(() => lab.leader());
  lab.pass(2_000);
  const next = lab.leader();
  assert.notEqual(next, killed);
  lab.start(killed.config.name, { cluster: "abc" });
  lab.pass(3_000);
  lab.world.signal(next, "SIGTERM");
  assert.notEqual(lab.leader(), next);
});

test("a frozen member neither leads nor votes, and follows again when thawed", () => {
  const lab = new Lab();
  lab.found("abc");
  const frozen = lab.leader();
  lab.world.freeze(frozen);
  lab.pass(3_000);
  lab.keys.put(lab.leader(), "k", 10);
  lab.world.thaw(frozen);
  lab.pass(1_000);
  assert.equal(lab.keys.range(frozen, "k", undefined, false).length, 1);
});

test("a leader cut off from the others is replaced, and rejoins when the cut heals", () => {
  const lab = new Lab();
  lab.found("abc");
  const cut = lab.leader();
  for (const name of "abc") if (name !== cut.config.name) lab.world.network.cut(name, cut.config.name);
  lab.world.reconsiderAll();
  lab.pass(3_000);
  assert.notEqual(lab.leader(), cut);
  assert.throws(() => lab.keys.put(cut, "k", 10), Refusal);
  lab.world.network.heal();
  lab.world.reconsiderAll();
  assert.equal(lab.calls.status(cut).leaderID, lab.leader().id);
});

test("leadership moves only from the leader, and only to a voter (R20)", () => {
  const lab = new Lab();
  lab.found("abc");
  const leader = lab.leader();
  const other = ["a", "b", "c"].map((name) => lab.at(name)).find((server) => server !== leader);
  assert.ok(other);
  assert.throws(() => lab.calls.moveLeader(other, leader.id), Refusal);
  lab.calls.moveLeader(leader, other.id);
  assert.equal(lab.leader(), other);
});

test("over quota NOSPACE is raised; compaction, defragmentation and disarming cure it (R27)", () => {
  const lab = new Lab();
  lab.found("abc", "3.6.16", { "quota-backend-bytes": 100_000 });
  for (let i = 0; i < 7; i++) lab.keys.put(lab.leader(), "same", 10_000);
  assert.throws(() => lab.keys.put(lab.leader(), "same", 10_000), Refusal);
  lab.pass(100);
  assert.equal(lab.calls.alarms(lab.at("a")).length, 3);
  assert.throws(() => lab.keys.put(lab.leader(), "same", 1), Refusal);
  lab.keys.compact(lab.leader(), lab.leader().dir.state.revision);
  for (const name of "abc") lab.calls.defragment(lab.at(name));
  for (const { memberID, alarm } of lab.calls.alarms(lab.at("a"))) {
    lab.calls.setAlarm(lab.at("a"), memberID, alarm, false);
  }
  lab.keys.put(lab.leader(), "same", 10_000);
});

test("a flipped page shows in the hash, and after a compaction as CORRUPT: with an ID since 3.6 (R30, R32)", () => {
  for (const [version, gate] of [
    ["3.5.35", { "experimental-compact-hash-check-enabled": true }],
    ["3.6.16", { "feature-gates": "CompactHashCheck=true" }],
  ] as const) {
    const lab = new Lab();
    lab.found("abc", version, gate);
    const { revision } = lab.keys.put(lab.leader(), "k", 10);
    const victim = ["a", "b", "c"].map((name) => lab.at(name)).find((server) => server !== lab.leader());
    assert.ok(victim);
    victim.dir.corruption = 77;
    assert.notEqual(lab.calls.hashKV(victim, revision).hash, lab.calls.hashKV(lab.leader(), revision).hash);
    lab.keys.compact(lab.leader(), revision);
    lab.pass(70_000);
    const memberID = version === "3.6.16" ? victim.id : "0";
    assert.deepEqual(lab.calls.alarms(lab.leader()), [{ memberID, alarm: "CORRUPT" }]);
    assert.throws(() => lab.keys.put(lab.leader(), "k", 1), Refusal);
  }
});

test("a learner's flipped page shows after a compaction too: the leader asks it on its peer port (R30)", () => {
  const lab = new Lab();
  const gate = { "feature-gates": "CompactHashCheck=true" };
  lab.found("abc", "3.6.16", gate);
  lab.calls.memberAdd(lab.leader(), ["http://d:2380"], true);
  const { server } = lab.start("d", { cluster: "abcd", state: "existing" });
  lab.pass(20_000);
  const { revision } = lab.keys.put(lab.leader(), "k", 10);
  lab.pass(1_000);
  assert.ok(server?.isLearner);
  server.dir.corruption = 77;
  lab.keys.compact(lab.leader(), revision);
  lab.pass(70_000);
  assert.deepEqual(lab.calls.alarms(lab.leader()), [{ memberID: server.id, alarm: "CORRUPT" }]);
});

test("a slow learner stays behind while writes go on", () => {
  const lab = new Lab();
  lab.found("abc");
  for (let i = 0; i < 100; i++) lab.keys.put(lab.leader(), `k${i}`, 10);
  const { id } = lab.calls.memberAdd(lab.leader(), ["http://d:2380"], true);
  const learner = lab.start("d", { cluster: "abcd", state: "existing" });
  assert.ok(learner.server);
  learner.server.speed = 0.1;
  lab.pass(20_000);
  assert.throws(() => lab.calls.memberPromote(lab.leader(), id), Refusal);
  learner.server.speed = 1;
  lab.pass(5_000);
  lab.calls.memberPromote(lab.leader(), id);
});
