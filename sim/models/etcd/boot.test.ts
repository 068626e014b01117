import assert from "node:assert/strict";
import { test } from "node:test";
import { Lab, peerURL, type LabProcess } from "./lab.ts";

const said = (process: LabProcess) => process.lines.join("\n");

test("a wiped founder that starts with new is refused while its peers answer (R6)", () => {
  const lab = new Lab();
  lab.found("abc");
  lab.kill("a");
  lab.wipe("a");
  const again = lab.start("a", { cluster: "abc" });
  lab.pass(2_000);
  assert.match(said(again), /has already been bootstrapped/);
});

test("a wiped single member with new starts over: empty, with the same IDs (R6, H3)", () => {
  const lab = new Lab();
  lab.found("a");
  lab.keys.put(lab.at("a"), "k", 100);
  const { clusterID, memberID } = lab.calls.status(lab.at("a"));
  lab.kill("a");
  lab.wipe("a");
  lab.start("a", { cluster: "a" });
  lab.pass(2_000);
  const now = lab.calls.status(lab.at("a"));
  assert.deepEqual([now.clusterID, now.memberID, now.revision], [clusterID, memberID, 1]);
});

test("two of three bootstrapped; one down, the other wiped and the third new: an empty cluster with the same ID (H2)", () => {
  const lab = new Lab();
  lab.start("a", { cluster: "abc" });
  lab.start("b", { cluster: "abc" });
  lab.pass(10_000);
  lab.keys.put(lab.leader(), "acknowledged", 100);
  const { clusterID } = lab.calls.status(lab.at("a"));
  lab.kill("a");
  lab.kill("b");
  lab.wipe("b");
  lab.start("b", { cluster: "abc" });
  lab.start("c", { cluster: "abc" });
  lab.pass(10_000);
  assert.equal(lab.calls.status(lab.leader()).clusterID, clusterID);
  assert.deepEqual(lab.keys.range(lab.leader(), "acknowledged", undefined, false), []);
  lab.start("a", { cluster: "abc" });
  lab.pass(20_000);
  assert.equal(lab.at("a").synced, false);
});

test("self-only existing with an empty directory exits at once (H3, I4)", () => {
  const lab = new Lab();
  lab.found("abc");
  lab.kill("a");
  lab.wipe("a");
  const again = lab.start("a", { cluster: "a", state: "existing" });
  lab.pass(1_000);
  assert.match(said(again), /could not retrieve cluster information/);
  assert.deepEqual(again.end, { kind: "exited", code: 1 });
});

test("a joiner whose list misses a member exits: member count is unequal (R7, H7)", () => {
  const lab = new Lab();
  lab.found("abc");
  lab.calls.memberAdd(lab.leader(), [peerURL("d")], true);
  const joiner = lab.start("d", { cluster: "bcd", state: "existing" });
  const wrong = lab.start("e", { cluster: "abce", state: "existing" });
  lab.pass(3_000);
  assert.match(said(joiner), /member count is unequal/);
  assert.match(said(wrong), /unmatched member/);
});

test("a wiped voter with its full list panics while the leader remembers it, and comes back an amnesiac after (H3)", () => {
  const lab = new Lab();
  lab.found("abc");
  lab.keys.put(lab.leader(), "k", 10);
  const victim = ["a", "b", "c"].find((name) => lab.at(name) !== lab.leader()) ?? "a";
  lab.kill(victim);
  lab.wipe(victim);
  const first = lab.start(victim, { cluster: "abc", state: "existing" });
  lab.pass(3_000);
  assert.match(said(first), /tocommit\(\d+\) is out of range/);
  lab.wipe(victim);
  const leader = lab.leader().config.name;
  lab.kill(leader);
  lab.start(leader, { cluster: "abc" });
  lab.pass(10_000);
  const second = lab.start(victim, { cluster: "abc", state: "existing" });
  lab.pass(5_000);
  assert.equal(second.end, undefined);
  assert.equal(lab.at(victim).synced, true);
});

test("with a data directory the initial flags are ignored (R4)", () => {
  const lab = new Lab();
  lab.found("abc");
  lab.kill("a");
  const again = lab.start("a", { cluster: "a", token: "another" });
  lab.pass(5_000);
  assert.equal(again.end, undefined);
  assert.deepEqual(lab.list("a"), ["a", "b", "c"]);
});

test("a bound address ends the start", () => {
  const lab = new Lab();
  lab.found("a");
  const second = lab.start("a", { cluster: "a", extra: { "data-dir": "/elsewhere" } });
  lab.pass(1_000);
  assert.match(said(second), /address already in use/);
});

test("an unknown key is passed over in silence; a wrong kind and an unknown gate end the start", () => {
  const lab = new Lab();
  const ends = (extra: Record<string, unknown>, version = "3.6.16") => {
    const process = lab.start("a", { cluster: "a", version, extra });
    lab.pass(500);
    if (process.server) lab.world.signal(process.server, "SIGKILL");
    return /failed to verify flags/.test(said(process));
  };
  assert.equal(ends({ "bogus-flag": 1 }), false);
  assert.equal(ends({ "max-learners": "many" }), true);
  assert.equal(ends({ "max-learners": "many" }, "3.5.35"), false);
  assert.equal(ends({ "feature-gates": "Bogus=true" }), true);
  assert.equal(ends({ "experimental-compact-hash-check-time": "1m" }), true);
  assert.equal(ends({ "experimental-compact-hash-check-time": "1m" }, "3.7.3"), false);
});

test("a full disk and an unreadable database end the start", () => {
  const lab = new Lab();
  lab.found("abc");
  lab.kill("a");
  lab.disk.full.add("/data/a");
  const full = lab.start("a", { cluster: "abc" });
  lab.pass(500);
  assert.match(said(full), /no space left on device/);
  lab.disk.full.clear();
  const dir = lab.disk.read("/data/a");
  assert.ok(dir);
  dir.unreadable = true;
  const broken = lab.start("a", { cluster: "abc" });
  lab.pass(500);
  assert.match(said(broken), /corrupted/);
});
