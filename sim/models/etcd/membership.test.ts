import assert from "node:assert/strict";
import { test } from "node:test";
import { Lab, peerURL } from "./lab.ts";
import { Refusal, type RefusalKind } from "./refusal.ts";

const refuses = (kind: RefusalKind, call: () => unknown) =>
  assert.throws(call, (error) => error instanceof Refusal && error.kind === kind, kind);

test("founders with the same list and token have the same IDs, with another token others (R5)", () => {
  const id = (token: string) => {
    const lab = new Lab();
    lab.start("a", { cluster: "a", token });
    lab.pass(5_000);
    const { clusterID, memberID } = lab.calls.status(lab.at("a"));
    return `${clusterID} ${memberID}`;
  };
  assert.equal(id("x"), id("x"));
  assert.notEqual(id("x"), id("y"));
});

test("three founders elect one leader, publish themselves and serve", () => {
  const lab = new Lab();
  lab.found("abc");
  assert.deepEqual(lab.list("a"), ["a", "b", "c"]);
  assert.equal(lab.calls.status(lab.at("b")).leaderID, lab.leader().id);
  assert.ok(lab.calls.memberList(lab.at("c"), true).every((member) => member.clientURLs.length === 1));
});

test("a founder that never started is listed with its name but without client URLs (H14)", () => {
  const lab = new Lab();
  lab.start("a", { cluster: "abc" });
  lab.start("b", { cluster: "abc" });
  lab.pass(10_000);
  const c = lab.calls.memberList(lab.at("a"), true).find((member) => member.name === "c");
  assert.deepEqual(c?.clientURLs, []);
});

test("a learner joins, catches up, is promoted; too early it is refused (R17, R18)", () => {
  const lab = new Lab();
  lab.found("abc");
  const { id } = lab.calls.memberAdd(lab.at("a"), [peerURL("d")], true);
  refuses("learnerNotReady", () => lab.calls.memberPromote(lab.leader(), id));
  lab.start("d", { cluster: "abcd", state: "existing" });
  lab.pass(5_000);
  assert.deepEqual(lab.list("a"), ["a", "b", "c", "d*"]);
  refuses("notForLearner", () => lab.calls.memberList(lab.at("d"), false));
  lab.calls.memberPromote(lab.leader(), id);
  assert.deepEqual(lab.list("d"), ["a", "b", "c", "d"]);
  refuses("notLearner", () => lab.calls.memberPromote(lab.leader(), id));
});

test("with auth enabled a follower's promotion is refused to nobody by the leader, until it gives up", () => {
  const lab = new Lab();
  lab.found("abc");
  const { id } = lab.calls.memberAdd(lab.leader(), [peerURL("d")], true);
  lab.start("d", { cluster: "abcd", state: "existing" });
  lab.pass(5_000);
  const [follower] = ["a", "b", "c"].map((name) => lab.at(name)).filter((server) => server !== lab.leader());
  assert.ok(follower);
  lab.calls.auth(follower, { do: "user-add", user: "root", password: "one" });
  lab.calls.auth(follower, { do: "user-grant", user: "root", role: "root" });
  lab.calls.auth(follower, { do: "enable" });
  refuses("timedOut", () => lab.calls.memberPromote(follower, id));
  lab.calls.memberPromote(lab.leader(), id);
  assert.deepEqual(lab.list("a"), ["a", "b", "c", "d"]);
});

test("an add is refused until voters have been connected for five seconds (R19)", () => {
  const lab = new Lab();
  for (const name of "abc") lab.start(name, { cluster: "abc" });
  lab.pass(3_500);
  refuses("unhealthy", () => lab.calls.memberAdd(lab.leader(), [peerURL("d")], true));
  lab.pass(3_000);
  lab.calls.memberAdd(lab.leader(), [peerURL("d")], true);
});

test("a member that counts a connected peer as lost refuses an add, and the others do not (R19)", () => {
  const lab = new Lab();
  lab.found("abc");
  const [one, two] = ["a", "b", "c"].map((name) => lab.at(name));
  one!.doubt(two!);
  lab.pass(20_000);
  refuses("unhealthy", () => lab.calls.memberAdd(one!, [peerURL("d")], true));
  lab.calls.memberAdd(two!, [peerURL("d")], true);
});

test("with one of three down any add is refused, and the dead one can be removed (R19, H14)", () => {
  for (const version of ["3.5.35", "3.6.16", "3.7.3"]) {
    const lab = new Lab();
    lab.found("abc", version);
    const dead = ["a", "b", "c"].find((name) => lab.at(name) !== lab.leader()) ?? "a";
    const { id } = lab.at(dead);
    lab.kill(dead);
    lab.pass(20_000);
    refuses("unhealthy", () => lab.calls.memberAdd(lab.leader(), [peerURL("d")], true));
    lab.calls.memberRemove(lab.leader(), id);
    lab.calls.memberAdd(lab.leader(), [peerURL("d")], true);
  }
});

test("with one of five down an add is refused by old patches and accepted by new ones (R19)", () => {
  const add = (version: string) => {
    const lab = new Lab();
    lab.found("abcde", version);
    lab.kill(["a", "b"].find((name) => lab.at(name) !== lab.leader()) ?? "a");
    lab.pass(20_000);
    lab.calls.memberAdd(lab.leader(), [peerURL("f")], true);
  };
  refuses("unhealthy", () => add("3.5.29"));
  refuses("unhealthy", () => add("3.6.10"));
  add("3.5.30");
  add("3.6.11");
});

test("a live voter may not go when that breaks the active quorum; a dead one may (R19)", () => {
  const lab = new Lab();
  lab.found("abc");
  const [one, two] = ["a", "b", "c"].filter((name) => lab.at(name) !== lab.leader());
  const live = lab.at(one ?? "").id;
  const dead = lab.at(two ?? "").id;
  lab.kill(two ?? "");
  lab.pass(10_000);
  refuses("unhealthy", () => lab.calls.memberRemove(lab.leader(), live));
  lab.calls.memberRemove(lab.leader(), dead);
  assert.equal(lab.leader().dir.state.members.size, 2);
});

test("the second learner is refused below 3.6 and without --max-learners (R17)", () => {
  for (const [version, extra, ok] of [
    ["3.5.35", { "max-learners": 5 }, false],
    ["3.6.16", {}, false],
    ["3.6.16", { "max-learners": 5 }, true],
  ] as const) {
    const lab = new Lab();
    lab.found("abc", version, extra);
    lab.calls.memberAdd(lab.leader(), [peerURL("d")], true);
    const second = () => lab.calls.memberAdd(lab.leader(), [peerURL("e")], true);
    if (ok) second();
    else refuses("tooManyLearners", second);
  }
});

test("unequal --max-learners split the membership, and the odd member dies at the learner's start (H1)", () => {
  const lab = new Lab();
  const odd = lab.start("c", { cluster: "abc" });
  for (const name of "ab") lab.start(name, { cluster: "abc", extra: { "max-learners": 2 } });
  lab.pass(10_000);
  const through = lab.at("b");
  if (lab.leader() === odd.server) lab.calls.moveLeader(lab.leader(), through.id);
  lab.calls.memberAdd(through, [peerURL("d")], true);
  lab.calls.memberAdd(through, [peerURL("e")], true);
  assert.notDeepEqual(lab.list("c"), lab.list("b"));
  lab.start("e", { cluster: "abcde", state: "existing", extra: { "max-learners": 2 } });
  lab.pass(20_000);
  assert.match(odd.lines.join("\n"), /member unknown/);
});

test("a learner that was refused is not counted at a restart, even if its URL joined as a voter in the same second (H1)", () => {
  const lab = new Lab();
  lab.found("abc", "3.5.35");
  lab.calls.memberAdd(lab.leader(), [peerURL("d")], true);
  refuses("tooManyLearners", () => lab.calls.memberAdd(lab.leader(), [peerURL("e")], true));
  lab.calls.memberAdd(lab.leader(), [peerURL("e")], false);
  lab.kill("a");
  const restarted = lab.start("a", { version: "3.5.35", cluster: "a", state: "existing" });
  lab.pass(5_000);
  assert.equal(restarted.end, undefined);
});

test("a settled cluster made by a batch join panics when a member restarts without the flag (H1)", () => {
  const lab = new Lab();
  lab.found("abc", "3.6.16", { "max-learners": 4 });
  for (const name of "de") lab.calls.memberAdd(lab.leader(), [peerURL(name)], true);
  lab.kill("a");
  const restarted = lab.start("a", { cluster: "a", state: "existing" });
  lab.pass(1_000);
  assert.deepEqual(restarted.end, { kind: "exited", code: 2 });
});

test("the same URL twice, and an unknown member, are refused in etcd's words", () => {
  const lab = new Lab();
  lab.found("abc");
  lab.calls.memberAdd(lab.leader(), [peerURL("d")], true);
  refuses("memberExists", () => lab.calls.memberAdd(lab.leader(), [peerURL("d")], true));
  lab.pass(2_000);
  refuses("peerURLExists", () => lab.calls.memberAdd(lab.leader(), [peerURL("d")], true));
  refuses("memberNotFound", () => lab.calls.memberRemove(lab.leader(), "123"));
});

test("removing the leader costs an election; the removed process ends and never works again (R8, R20)", () => {
  const lab = new Lab();
  const processes = lab.found("abc");
  const old = lab.leader();
  const name = old.config.name;
  lab.calls.memberRemove(old, old.id);
  lab.pass(5_000);
  assert.notEqual(lab.leader(), old);
  assert.match(processes[name]?.lines.join("\n") ?? "", /permanently removed/);
  const again = lab.start(name, { cluster: name, state: "existing" });
  lab.pass(5_000);
  assert.match(again.lines.join("\n"), /permanently removed/);
  assert.ok(again.end);
});

test("a member that lost its data, and was removed before it heard any of it again, learns that from nobody", () => {
  const lab = new Lab();
  lab.found("abc");
  const lost = ["a", "b", "c"].find((name) => lab.at(name) !== lab.leader()) ?? "a";
  const { id } = lab.at(lost);
  lab.kill(lost);
  lab.wipe(lost);
  const first = lab.start(lost, { cluster: "abc", state: "existing" });
  lab.pass(5_000);
  assert.match(first.lines.at(-1) ?? "", /tocommit/);
  lab.calls.memberRemove(lab.leader(), id);
  // It has a log with nothing in it, and so it knows nobody whom to ask; and nobody asks for it any more.
  const again = lab.start(lost, { cluster: lost, state: "existing" });
  lab.pass(60_000);
  assert.equal(again.end, undefined);
  assert.equal(again.server?.serving, false);
});

test("a member that is asked for its status after its removal panics, and other calls do not end it", () => {
  const lab = new Lab();
  const processes = lab.found("abc");
  const name = ["a", "b", "c"].find((one) => lab.at(one) !== lab.leader()) ?? "a";
  const server = lab.at(name);
  lab.calls.memberRemove(lab.leader(), server.id);
  assert.equal(lab.calls.memberList(server, false).length, 2);
  assert.equal(processes[name]?.end, undefined);
  refuses("cutOff", () => lab.calls.status(server));
  assert.deepEqual(processes[name]?.end, { kind: "exited", code: 2 });
  assert.match(processes[name]?.lines.at(-1) ?? "", /failed to find local ID/);
});

test("MemberUpdate on a learner promotes it before 3.5.31 and 3.6.12 (R9)", () => {
  for (const [version, promoted] of [
    ["3.5.30", true],
    ["3.5.31", false],
    ["3.6.11", true],
    ["3.6.12", false],
  ] as const) {
    const lab = new Lab();
    lab.found("abc", version);
    const { id } = lab.calls.memberAdd(lab.leader(), [peerURL("d")], true);
    lab.calls.memberUpdate(lab.leader(), id, [peerURL("x")]);
    assert.equal(lab.leader().dir.state.members.get(id)?.isLearner, !promoted, version);
  }
});

test("a follower that is stopped leaves the leader alone, and one that is wiped meanwhile does not fit below it any more", () => {
  const lab = new Lab();
  lab.found("abcde");
  const [wiped, stopped] = ["a", "b", "c"].filter((name) => lab.at(name) !== lab.leader());
  assert.ok(wiped !== undefined && stopped !== undefined);
  const leader = lab.leader();
  lab.kill(wiped);
  lab.world.signal(lab.at(stopped), "SIGTERM");
  lab.pass(5_000);
  assert.equal(lab.leader(), leader);
  lab.wipe(wiped);
  const again = lab.start(wiped, { cluster: "abcde", state: "existing" });
  lab.pass(5_000);
  assert.match(again.lines.at(-1) ?? "", /tocommit/);
});

const SECURE = (name: string) => `https://${name}:2380`;
/** Certificates to dial by; and, to listen so, its URLs. */
const CERTIFICATES = {
  "peer-transport-security": { "cert-file": "/pki/peer", "trusted-ca-file": "/pki/ca" },
};
const listening = (name: string) => ({
  ...CERTIFICATES,
  "listen-peer-urls": SECURE(name),
  "initial-advertise-peer-urls": SECURE(name),
});

test("one that listens otherwise than it is listed is reached by the connections that it opens; two such are apart (R52)", () => {
  const lab = new Lab();
  for (const name of "abc") lab.start(name, { cluster: "abc", extra: CERTIFICATES });
  lab.pass(10_000);
  const again = (name: string) => {
    lab.kill(name);
    lab.pass(2_000);
    lab.start(name, { cluster: "abc", state: "existing", extra: listening(name) });
    lab.pass(20_000);
  };
  again("a");
  assert.ok(lab.world.network.connected(lab.at("a"), lab.at("b")));
  again("b");
  assert.ok(lab.world.network.connected(lab.at("b"), lab.at("c")), "the third one is a sibling of both");
  assert.ok(!lab.world.network.connected(lab.at("a"), lab.at("b")), "neither finds the other");
});

test("a connection outlives another URL in the list, until one of the two restarts (R52)", () => {
  const lab = new Lab();
  for (const name of "abc") lab.start(name, { cluster: "abc", extra: CERTIFICATES });
  lab.pass(10_000);
  for (const name of "ab") lab.calls.memberUpdate(lab.leader(), lab.at(name).id, [SECURE(name)]);
  lab.pass(5_000);
  assert.ok(lab.world.network.connected(lab.at("a"), lab.at("b")));
  lab.kill("b");
  lab.pass(2_000);
  lab.start("b", { cluster: "abc", state: "existing", extra: listening("b") });
  lab.pass(20_000);
  assert.ok(lab.world.network.connected(lab.at("a"), lab.at("b")), "it listens as it is listed");
});
