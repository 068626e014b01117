import assert from "node:assert/strict";
import { test } from "node:test";
import { Lab, peerURL } from "./lab.ts";
import { Refusal } from "./refusal.ts";

function restart(lab: Lab, name: string, version: string) {
  const running = lab.world.network.all().find((server) => server.config.name === name);
  if (running) lab.world.signal(running, "SIGTERM");
  lab.pass(200);
  const process = lab.start(name, { cluster: name, state: "existing", version });
  lab.pass(8_000);
  return process;
}

test("the cluster version moves when the last member is new, and the storage version with it (R10)", () => {
  const lab = new Lab();
  lab.found("abc", "3.5.35");
  assert.equal(lab.leader().dir.state.clusterVersion, "3.5");
  restart(lab, "a", "3.6.16");
  restart(lab, "b", "3.6.16");
  assert.equal(lab.leader().dir.state.clusterVersion, "3.5");
  restart(lab, "c", "3.6.16");
  assert.equal(lab.leader().dir.state.clusterVersion, "3.6");
  assert.equal(lab.calls.status(lab.at("a")).storageVersion, "3.6");
});

test("the cluster version moves too when the last old member leaves (R10)", () => {
  const lab = new Lab();
  lab.found("abc", "3.5.35");
  for (const name of "ab") restart(lab, name, "3.6.16");
  const old = lab.at("c").id;
  if (lab.leader().id === old) lab.world.raftOf(lab.at("c")).transfer(lab.at("a"));
  lab.calls.memberRemove(lab.at("a"), old);
  lab.pass(8_000);
  assert.equal(lab.leader().dir.state.clusterVersion, "3.6");
});

test("while one old member remains, the old binary may come back; after that it may not (R10, R13)", () => {
  const lab = new Lab();
  lab.found("abc", "3.5.35");
  restart(lab, "a", "3.6.16");
  assert.equal(restart(lab, "a", "3.5.35").end, undefined);
  for (const name of "abc") restart(lab, name, "3.6.16");
  assert.deepEqual(restart(lab, "a", "3.5.35").end, { kind: "exited", code: 2 });
});

test("3.5 data started directly on 3.7 panics (H5)", () => {
  const lab = new Lab();
  lab.found("abc", "3.5.35");
  assert.deepEqual(restart(lab, "a", "3.7.3").end, { kind: "exited", code: 2 });
});

test("an online downgrade: enable, storage follows, members go down, it completes by itself (R15, H13)", () => {
  const lab = new Lab();
  lab.found("abc", "3.7.3");
  lab.calls.downgrade(lab.leader(), "ENABLE", "3.6");
  assert.throws(() => lab.calls.downgrade(lab.leader(), "ENABLE", "3.6"), Refusal);
  lab.pass(6_000);
  for (const name of "abc") assert.equal(lab.calls.status(lab.at(name)).storageVersion, "3.6");
  for (const name of "abc") assert.equal(restart(lab, name, "3.6.16").end, undefined);
  lab.pass(6_000);
  assert.equal(lab.leader().dir.state.downgrade, undefined);
  assert.equal(lab.leader().dir.state.clusterVersion, "3.6");
});

test("while a downgrade is enabled nobody joins, of either version, until it is cancelled", () => {
  const lab = new Lab();
  lab.found("abc", "3.7.3");
  lab.calls.downgrade(lab.leader(), "ENABLE", "3.6");
  lab.pass(10_000);
  lab.calls.memberAdd(lab.leader(), [peerURL("d")], true);
  for (const version of ["3.7.3", "3.6.16"]) {
    const refused = lab.start("d", { version, cluster: "abcd", state: "existing" });
    lab.pass(1_000);
    assert.match(refused.lines.at(-1) ?? "", /incompatible with current running cluster/);
  }
  lab.calls.downgrade(lab.leader(), "CANCEL", "");
  const joined = lab.start("d", { version: "3.7.3", cluster: "abcd", state: "existing" });
  lab.pass(5_000);
  assert.equal(joined.server?.serving, true);
});

test("an older joiner gets in while the cluster still speaks the newer version, and ends by it", () => {
  const lab = new Lab();
  lab.found("abc", "3.7.3");
  lab.calls.memberAdd(lab.leader(), [peerURL("d")], true);
  lab.calls.downgrade(lab.leader(), "ENABLE", "3.6");
  lab.pass(10_000);
  const joiner = lab.start("d", { version: "3.6.16", cluster: "abcd", state: "existing" });
  lab.pass(2_000);
  assert.match(joiner.lines.at(-1) ?? "", /invalid downgrade/);
});

test("a downgrade that is cancelled lets the cluster version rise again", () => {
  const lab = new Lab();
  lab.found("abc", "3.7.3");
  lab.calls.downgrade(lab.leader(), "ENABLE", "3.6");
  lab.pass(6_000);
  lab.calls.downgrade(lab.leader(), "CANCEL", "");
  lab.pass(6_000);
  assert.equal(lab.leader().dir.state.clusterVersion, "3.7");
});

test("a downgrade over two minors is refused; 3.5 would go to 3.4 and says when there is none to cancel (R15)", () => {
  const lab = new Lab();
  lab.found("abc", "3.7.3");
  assert.throws(() => lab.calls.downgrade(lab.leader(), "ENABLE", "3.5"), Refusal);
  const old = new Lab();
  old.found("abc", "3.5.35");
  assert.equal(old.calls.downgrade(old.leader(), "VALIDATE", "3.4"), "3.5");
  assert.throws(() => old.calls.downgrade(old.leader(), "CANCEL", ""), Refusal);
  assert.equal(lab.calls.downgrade(lab.leader(), "CANCEL", ""), "3.7");
});

test("what 3.5 wrote for its members ends 3.7 even after everybody ran 3.6, until a snapshot is past it (H5)", () => {
  const lab = new Lab();
  lab.found("abc", "3.5.35");
  for (const name of "abc") restart(lab, name, "3.6.16");
  assert.match(restart(lab, "a", "3.7.3").lines.join("\n"), /unmarshal should never fail/);
  restart(lab, "a", "3.6.16");
  lab.calls.advanceLog(lab.leader(), 20_000);
  for (const name of "abc") assert.equal(restart(lab, name, "3.7.3").end, undefined);
});

test("whoever listens at a member's address counts for the version of the cluster, also one of another cluster", () => {
  const lab = new Lab();
  lab.start("a", { cluster: "a", token: "other" });
  lab.pass(5_000);
  lab.start("b", { cluster: "abc" });
  lab.start("c", { cluster: "abc" });
  lab.pass(20_000);
  const { state } = lab.at("b").dir;
  assert.equal(state.voters().length, 3);
  assert.equal(state.clusterVersion, "3.6");
});
