/** What a person is told about a member that is not well: the nearest cause that can be seen, in its own words. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { MemberFacts, Observation } from "../observation.ts";
import { change, edit, exited, healthy, NOW } from "../testing/cluster.ts";
import { says, words } from "../testing/says.ts";
import { startHash, templateFor } from "../template/template.ts";
import { viewOf } from "../view.ts";
import { firstBoot } from "./first-boot.ts";
import { quorumLost } from "./quorum-lost.ts";
import { replaceBroken } from "./replace-broken.ts";
import { retemplate } from "./retemplate.ts";
import { strangers } from "./strangers.ts";

const three = healthy();
const UNREACHABLE = { reachable: false, error: "connection refused" } as const;

/** demo-2 as it is not well. */
function ill(
  workload: MemberFacts["workload"],
  more: Partial<MemberFacts> = {},
  o: Observation = three,
): Observation {
  return change(o, "demo-2", { workload, answer: UNREACHABLE, unhealthySince: NOW, ...more });
}

const runs = three.members[1]?.workload;
assert.ok(runs?.state === "running");
const ended = (detail: string, cause: "killed" | "unknown" = "killed") =>
  ({ state: "exited", since: NOW, restarts: 1, cause, detail, startedFrom: runs.startedFrom }) as const;

test("the wait for a member says why it is not healthy, as near to the cause as can be seen", () => {
  const told: readonly [Observation, string][] = [
    [ill(ended("out of memory")), "out of memory"],
    [ill(ended("")), "killed"],
    [ill({ state: "waiting", reason: "no node fits", since: NOW }), "no node fits"],
    [ill({ state: "stopping", since: NOW }), "it is being stopped"],
    [ill({ state: "stopping", since: NOW, lostNode: "node-7" }), "its node node-7 is gone"],
    [ill(runs), "connection refused"],
  ];
  for (const [o, why] of told)
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

test("what is certain is told and acted on at once; storage that cannot be reached is waited for", () => {
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
  const told = (o: Observation) => words(replaceBroken, o);
  assert.equal(told(exited(three, "demo-2", "data-missing")), "replacing demo-2: it lost its data");
  assert.equal(told(exited(three, "demo-2", "removed")), "replacing demo-2: etcd has removed it");
  const met = "it was started to bootstrap a cluster that already exists";
  assert.equal(told(exited(three, "demo-2", "already-bootstrapped")), `replacing demo-2: ${met}`);
  assert.equal(told(exited(three, "demo-2", "data-differs")), "", "a voter that differs may be right (R33)");
  const list = three.etcd.list && {
    ...three.etcd.list,
    members: three.etcd.list.members.filter(({ name }) => name !== "demo-2"),
  };
  const unlisted = { ...exited(three, "demo-2"), etcd: { ...three.etcd, list } };
  assert.equal(told(unlisted), "replacing demo-2: etcd no longer lists it");
  const learner = three.etcd.list && {
    ...three.etcd.list,
    members: three.etcd.list.members.map((e) => (e.name === "demo-2" ? { ...e, isLearner: true } : e)),
  };
  const differs = { ...exited(three, "demo-2", "data-differs"), etcd: { ...three.etcd, list: learner } };
  assert.equal(told(differs), "replacing demo-2: its data differs from that of a peer");
});

test("a replacement that would cost the quorum, or is turned off, is told so", () => {
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

test("a change that a member cannot run is told with what it said last", () => {
  const long = NOW - 600_000;
  const rolled = edit(three, { options: { logLevel: "Debug" }, update: { canary: false } });
  const template = templateFor(rolled.cluster.spec, rolled.cluster.spec.version);
  const failing = (workload: MemberFacts["workload"], more: Partial<MemberFacts> = {}) =>
    change(ill(workload, { unhealthySince: long, ...more }, rolled), "demo-2", ({ record }) => ({
      record: { ...record, template: { ...record.template, ...template } },
    }));
  const started = (o: Observation) => {
    const member = o.members[1];
    assert.ok(member);
    return change(o, "demo-2", ({ workload }) => ({
      workload: "startedFrom" in workload ? { ...workload, startedFrom: startHash(member.record) } : workload,
    }));
  };
  const told: readonly [Observation, string][] = [
    [failing(ended("unknown flag")), "unknown flag"],
    [failing(ended("")), "killed"],
    [failing({ state: "waiting", reason: "image not found", since: NOW }), "image not found"],
    [failing({ state: "absent" }), "it is not running"],
    [failing(runs), "connection refused"],
  ];
  for (const [o, why] of told)
    assert.equal(
      words(retemplate, started(o)),
      `demo-2 does not become healthy with its new template (${why})`,
    );
});

test("the first boot tells what keeps it, once it lasts", () => {
  const booting: Observation = {
    ...three,
    cluster: { ...three.cluster, marks: { life: 1, highestOrdinal: 0 } },
    etcd: { ...three.etcd, list: undefined },
    members: three.members.map((facts) => ({ ...facts, record: { ...facts.record, joined: false } })),
  };
  const of = (workload: MemberFacts["workload"]) => words(firstBoot, ill(workload, {}, booting));
  const start = "bootstrapping: waiting for demo-1, demo-2, demo-3";
  assert.equal(of(ended("no room on the disk")), `${start} (demo-2 ended: no room on the disk)`);
  assert.equal(of(ended("")), `${start} (demo-2 ended: killed)`);
  const waiting = (ms: number) => ({ state: "waiting", reason: "no node fits", since: NOW - ms }) as const;
  assert.equal(of(waiting(5_000)), `${start} (demo-2 cannot start: no node fits)`);
  assert.equal(of(waiting(4_999)), start);
});

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

test("a ghost of ours goes while the rest keeps quorum; it is called by its name, or by its ID", () => {
  const entry = three.etcd.list?.members[0];
  assert.ok(three.etcd.list && entry);
  const { list } = three.etcd;
  const ghost = (more: Partial<typeof entry>) => ({
    ...entry,
    id: "77",
    name: "demo-9",
    peerURLs: ["https://demo-9.demo:2380"],
    ...more,
  });
  const seen = (o: Observation, more: Partial<typeof entry> = {}): Observation => ({
    ...o,
    etcd: { ...o.etcd, list: { ...list, members: [...list.members, ghost(more)] } },
  });
  assert.deepEqual(says(strangers, seen(three)), ["heal: remove from etcd demo-9"]);
  assert.deepEqual(says(strangers, seen(three, { name: "" })), ["heal: remove from etcd 77"]);
  assert.deepEqual(says(strangers, seen(three, { ours: false })), ["ForeignMember"]);
  assert.deepEqual(says(strangers, seen(exited(three, "demo-2"))), [], "two of four voters are no quorum");
  const pair = { ...seen(exited(three, "demo-2"), { isLearner: true }) };
  assert.deepEqual(says(strangers, pair), ["heal: remove from etcd demo-9"]);
});
