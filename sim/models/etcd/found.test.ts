/** What the comparison with real etcd found: one test for each rule that the model had wrong. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Lab, peerURL } from "./lab.ts";
import { Refusal, type RefusalKind } from "./refusal.ts";

const refuses = (kind: RefusalKind, call: () => unknown) =>
  assert.throws(call, (error) => error instanceof Refusal && error.kind === kind, kind);

test("promoting the leader itself is refused as it is no learner, not as if it were behind (R18)", () => {
  const lab = new Lab();
  lab.found("abc");
  refuses("notLearner", () => lab.calls.memberPromote(lab.leader(), lab.leader().id));
});

test("leadership is not given to learners and members of no list; a voter that is down is waited for (R20)", () => {
  const lab = new Lab();
  lab.found("abc");
  const { id } = lab.calls.memberAdd(lab.leader(), [peerURL("d")], true);
  refuses("badTransferee", () => lab.calls.moveLeader(lab.leader(), id));
  refuses("badTransferee", () => lab.calls.moveLeader(lab.leader(), "123"));
  const down = ["a", "b", "c"].map((name) => lab.at(name)).find((server) => server !== lab.leader());
  assert.ok(down);
  lab.kill(down.config.name);
  refuses("timedOut", () => lab.calls.moveLeader(lab.leader(), down.id));
});

test("a hash at the revision of a compaction is the one made on its way, while the process lives (R30, H14)", () => {
  const lab = new Lab();
  lab.found("a");
  for (let i = 0; i < 5; i++) lab.keys.put(lab.at("a"), "k", 10);
  lab.keys.compact(lab.at("a"), 3);
  lab.keys.compact(lab.at("a"), 5);
  const asked = () => lab.calls.hashKV(lab.at("a"), 5).compactRevision;
  assert.equal(asked(), 3);
  lab.kill("a");
  lab.start("a", { cluster: "a" });
  lab.pass(2_000);
  assert.equal(asked(), 5);
});

test("a transaction is one revision, and none when it changes nothing", () => {
  const lab = new Lab();
  lab.found("a");
  const before = lab.at("a").dir.state.revision;
  lab.keys.txn(lab.at("a"), [
    { kind: "put", key: "x", size: 1 },
    { kind: "put", key: "y", size: 1 },
  ]);
  lab.keys.txn(lab.at("a"), [{ kind: "delete", from: "z" }]);
  assert.equal(lab.at("a").dir.state.revision, before + 1);
});

test("under NOSPACE a transaction with a put in either branch is refused (R27)", () => {
  const lab = new Lab();
  lab.found("a");
  lab.calls.setAlarm(lab.at("a"), lab.at("a").id, "NOSPACE", true);
  refuses("noSpace", () => lab.keys.txn(lab.at("a"), [{ kind: "delete", from: "x" }], true));
  lab.keys.txn(lab.at("a"), [{ kind: "delete", from: "x" }], false);
});

test("without quorum nothing is refused for an alarm: nothing is applied at all (R31)", () => {
  const lab = new Lab();
  lab.found("abc");
  lab.calls.setAlarm(lab.leader(), lab.leader().id, "CORRUPT", true);
  refuses("corrupt", () => lab.keys.put(lab.leader(), "k", 1));
  lab.kill("a");
  lab.kill("b");
  lab.pass(5_000);
  refuses("timedOut", () => lab.keys.put(lab.at("c"), "k", 1));
});

test("what is no URL is refused before the health of the cluster is looked at", () => {
  const lab = new Lab();
  for (const name of "abc") lab.start(name, { cluster: "abc" });
  lab.pass(3_500);
  refuses("badURLs", () => lab.calls.memberAdd(lab.leader(), ["not a URL"], true));
});

test("a learner's refusal has another code in 3.5 (R17), and too few started members none of its own (R19)", () => {
  for (const [version, code] of [
    ["3.5.35", "UNAVAILABLE"],
    ["3.6.16", "FAILED_PRECONDITION"],
  ] as const) {
    const lab = new Lab();
    lab.found("a", version);
    assert.throws(() => lab.calls.memberRemove(lab.at("a"), lab.at("a").id), { code: "UNKNOWN" });
    lab.calls.memberAdd(lab.at("a"), [peerURL("d")], true);
    lab.start("d", { cluster: "ad", state: "existing", version });
    lab.pass(5_000);
    assert.throws(() => lab.calls.memberList(lab.at("d"), false), { code });
  }
});

test("a learner that was one too many, and was refused, does not end a member's next start (H1)", () => {
  const lab = new Lab();
  lab.found("abc");
  lab.calls.memberAdd(lab.leader(), [peerURL("d")], true);
  refuses("tooManyLearners", () => lab.calls.memberAdd(lab.leader(), [peerURL("e")], true));
  lab.kill("a");
  const again = lab.start("a", { cluster: "a", state: "existing" });
  lab.pass(5_000);
  assert.equal(again.end, undefined);
});

test("who catches up on a change that was refused for an unknown member refuses it too, and lives", () => {
  const lab = new Lab();
  lab.found("abc");
  lab.kill("a");
  lab.pass(6_000);
  refuses("memberNotFound", () => lab.calls.memberUpdate(lab.leader(), "1234abcd", [peerURL("x")]));
  const again = lab.start("a", { cluster: "a", state: "existing" });
  lab.pass(5_000);
  assert.equal(again.end, undefined);
});

test("a downgrade goes on only while every member can be asked for its version (R15, H13)", () => {
  const lab = new Lab();
  lab.found("abc", "3.7.3");
  const down = ["a", "b", "c"].find((name) => lab.at(name) !== lab.leader()) ?? "a";
  lab.kill(down);
  lab.pass(3_000);
  lab.calls.downgrade(lab.leader(), "ENABLE", "3.6");
  lab.pass(20_000);
  assert.equal(lab.leader().dir.state.clusterVersion, "3.7");
  lab.start(down, { cluster: down, state: "existing", version: "3.7.3" });
  lab.pass(20_000);
  assert.equal(lab.leader().dir.state.clusterVersion, "3.6");
});
