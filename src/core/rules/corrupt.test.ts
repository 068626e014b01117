import assert from "node:assert/strict";
import { test } from "node:test";
import { decide } from "../decide.ts";
import { viewOf } from "../view.ts";
import { corrupt } from "./corrupt.ts";
import type { HashReport, Observation } from "../observation.ts";
import { NOW, change, edit, exited, healthy, record, run, unchecked } from "../testing/cluster.ts";
import { says } from "../testing/says.ts";

function alarmed(observation: Observation, byMember?: HashReport["byMember"]): Observation {
  const { hashes: _none, ...etcd } = observation.etcd;
  const hashes = byMember && { at: observation.now, revision: 7, byMember };
  return { ...observation, etcd: { ...etcd, alarms: [{ memberID: "0", alarm: "CORRUPT" }], hashes } };
}

const good = { hash: 1, compactRevision: 3 };

test("an alarm that names nobody is followed by a comparison (R32)", () => {
  assert.equal(decide(alarmed(healthy())).act?.action.kind, "CompareHashes");
});

test("the one that differs from the majority is replaced, its volume kept, and only that one", () => {
  const world = alarmed(healthy(), { "demo-1": good, "demo-2": { ...good, hash: 2 }, "demo-3": good });
  const { act } = decide(world);
  assert.equal(act?.action.kind === "UpdateMember" && act.action.member, "demo-2");
  assert.equal(act?.action.kind === "UpdateMember" && act.action.change.leaving?.volume, "Retain");
});

test("without a majority nobody is touched, and it is said", () => {
  const world = alarmed(healthy(), {
    "demo-1": good,
    "demo-2": { ...good, hash: 2 },
    "demo-3": { ...good, hash: 3 },
  });
  const { act, holds } = decide(world);
  assert.equal(act, undefined);
  assert.equal(holds[0]?.reason, "Corrupt");
  assert.ok(holds[0]?.next);
});

test("hashes at other compact revisions say nothing (H14)", () => {
  const world = alarmed(healthy(), {
    "demo-1": good,
    "demo-2": { hash: 9, compactRevision: 2 },
    "demo-3": good,
  });
  const { act, holds } = decide(world);
  assert.equal(act, undefined);
  assert.match(holds[0]?.message ?? "", /demo-2 could not be compared/);
});

test("equal data disarms the alarm", () => {
  const world = alarmed(healthy(), { "demo-1": good, "demo-2": good, "demo-3": good });
  assert.equal(decide(world).act?.action.kind, "Disarm");
});

test("a difference found without an alarm is cured too", () => {
  const world = alarmed(healthy(), { "demo-1": good, "demo-2": { ...good, hash: 2 }, "demo-3": good });
  const quiet = { ...world, etcd: { ...world.etcd, alarms: [] } };
  const end = run(quiet);
  assert.deepEqual(
    end.members.map((facts) => facts.record.name),
    ["demo-1", "demo-3", "demo-4"],
  );
});

test("a learner that the alarm names is made anew (H8)", () => {
  const world = run(edit(healthy(), { learners: 1 }));
  const same = Object.fromEntries(["demo-1", "demo-2", "demo-3"].map((name) => [name, good]));
  const named = alarmed(world, same);
  const alarms = [{ memberID: "id-of-demo-4", alarm: "CORRUPT" as const }];
  const { act } = decide({ ...named, etcd: { ...named.etcd, alarms } });
  assert.equal(act?.action.kind === "UpdateMember" && act.action.member, "demo-4");
});

/** demo-3 was ended by etcd's check at the start; the others were compared without it. */
function suspected(others: HashReport["byMember"]): Observation {
  const world = exited(healthy(), "demo-3", "data-differs");
  return { ...world, etcd: { ...world.etcd, hashes: { at: world.now, revision: 7, byMember: others } } };
}

test("a member that etcd ended for differing from a peer is a suspect: first the others are compared (R33)", () => {
  const world = suspected({ "demo-1": good, "demo-2": good, "demo-3": good });
  assert.equal(decide(world).act?.action.kind, "CompareHashes");
});

test("a comparison from before the suspect ended says nothing, also when the suspect was not part of it (R33)", () => {
  const world = suspected({ "demo-1": good, "demo-2": good });
  const { hashes } = world.etcd;
  assert.ok(hashes);
  const earlier = { ...world, etcd: { ...world.etcd, hashes: { ...hashes, at: world.now - 17_000 } } };
  assert.equal(decide(earlier).act?.action.kind, "CompareHashes");
});

test("a suspect is replaced when the others agree without it, and its volume is kept", () => {
  const { act } = decide(suspected({ "demo-1": good, "demo-2": good }));
  assert.ok(act?.action.kind === "UpdateMember" && act.action.member === "demo-3");
  assert.equal(act.action.change.leaving?.volume, "Retain");
});

test("a suspect that ended beside one that was removed since starts again before anything is said of it (R33)", () => {
  const world = suspected({ "demo-1": good, "demo-2": good });
  const { marks } = world.cluster;
  const after = (at: number) => ({
    ...world,
    now: NOW + 10,
    cluster: { ...world.cluster, marks: { ...marks, replaced: { "demo-9": at } } },
  });
  const { workload } = world.members[2] ?? {};
  assert.ok(workload?.state === "exited");
  const { act } = decide(after(workload.since + 1));
  assert.deepEqual(act?.action, { kind: "StopWorkload", member: "demo-3" });
  const guilty = decide(after(workload.since - 1)).act;
  assert.equal(guilty?.action.kind, "UpdateMember", "it has met only those that are left");
  const ahead = decide(after(NOW + 60_000)).act;
  assert.equal(
    ahead?.action.kind,
    "UpdateMember",
    "a mark from a clock that was ahead would restart it for ever",
  );
});

test("a suspect waits for the removal of another corrupt one", () => {
  const leaving = { reason: "its data differs", volume: "Retain" as const, broken: true };
  const five = exited(healthy({ replicas: 5 }), "demo-3", "data-differs");
  const world = change(five, "demo-4", ({ record }) => ({ record: { ...record, leaving } }));
  const byMember = { "demo-1": good, "demo-2": good, "demo-5": good };
  const hashes = { at: world.now, revision: 7, byMember };
  const [outcome] = corrupt(viewOf({ ...world, etcd: { ...world.etcd, hashes } }));
  assert.ok(outcome && "hold" in outcome);
  assert.equal(outcome.hold.code, "SuspectAwaitsRemoval");
});

test("when the others differ, the suspect may be the good one: it starts without the check, to be compared", () => {
  const { act } = decide(suspected({ "demo-1": good, "demo-2": { ...good, hash: 2 } }));
  assert.ok(act?.action.kind === "UpdateMember" && act.action.member === "demo-3");
  assert.equal(act.action.change.leaving, undefined);
  assert.equal(act.action.change.template?.options.corruptCheck.initial, false);
});

test("of two voters, the one that its peer's copy ended starts without the check: nobody serves before (R33)", () => {
  const down = exited(healthy({ replicas: 2 }), "demo-2", "data-differs");
  const list = down.etcd.list && { ...down.etcd.list, linearizable: false };
  const alone = change({ ...down, etcd: { ...down.etcd, list } }, "demo-1", ({ answer }) => ({
    answer: { ...answer, linearizable: false, leaderID: "0" } as typeof answer,
  }));
  const { act } = decide(alone);
  assert.ok(act?.action.kind === "UpdateMember" && act.action.member === "demo-2", JSON.stringify(act));
  assert.equal(act.action.change.leaving, undefined);
  assert.equal(act.action.change.template?.options.corruptCheck.initial, false);
});

test("a node's clock that is ahead does not make all data be read all the time", () => {
  const world = suspected({ "demo-1": good, "demo-2": good });
  const ahead = change(world, "demo-3", ({ workload }) => ({
    workload: workload.state === "exited" ? { ...workload, since: world.now + 20_000 } : workload,
  }));
  const { act, holds, lookAgainAt } = decide(ahead);
  assert.equal(act, undefined);
  assert.ok(holds.some(({ reason }) => reason === "Corrupt"));
  assert.equal(lookAgainAt, world.now + 5_000);
  assert.equal(decide({ ...ahead, now: world.now + 5_000 }).act?.action.kind, "CompareHashes");
});

test("a suspect that has stood still for long is not replaced for being down", () => {
  const world = suspected({ "demo-1": good, "demo-2": { ...good, hash: 2 } });
  const later = { ...world, now: world.now + 3_600_000 };
  assert.equal(decide(later).act?.action.kind, "CompareHashes");
});

/** demo-1 and demo-2 were ended by etcd's check; demo-3 runs, alone and without a leader. */
function alone(waits: { demo2: "data-differs" | "killed" }): Observation {
  let world = exited(exited(healthy(), "demo-1", "data-differs"), "demo-2", waits.demo2);
  world = change(world, "demo-3", ({ answer }) => ({
    answer: answer.reachable ? { ...answer, leaderID: "0", linearizable: false } : answer,
    unhealthySince: world.now,
  }));
  const { list, ...etcd } = world.etcd;
  return { ...world, etcd: { ...etcd, list: list && { ...list, linearizable: false } } };
}

test("when the one that runs keeps all the others from starting, one starts without the check: quorum waits for it", () => {
  const { act } = decide(alone({ demo2: "data-differs" }));
  assert.ok(act?.action.kind === "UpdateMember" && act.action.member === "demo-1");
  assert.equal(act.action.change.template?.options.corruptCheck.initial, false);
});

test("a suspect is not let in without its check while another voter may yet make the quorum", () => {
  const world = alone({ demo2: "killed" });
  assert.equal(decide(world).act?.rule === "corrupt", false);
  const { act } = decide({ ...world, now: world.now + 10 * 60_000 });
  assert.equal(act?.rule, "corrupt");
});

test("one that started without the check is compared before anything else happens to it", () => {
  const world = healthy({ replicas: 2 });
  const uncheckedNow = unchecked(world, "demo-1", world.now);
  const hashes = (at: number, other: number): HashReport => ({
    at,
    revision: 7,
    byMember: { "demo-1": good, "demo-2": { ...good, hash: other } },
  });
  const before = { ...uncheckedNow, etcd: { ...uncheckedNow.etcd, hashes: hashes(world.now - 10_000, 1) } };
  assert.equal(decide(before).act?.action.kind, "CompareHashes");
  const later = { ...uncheckedNow, now: world.now + 2_000 };
  const differs = decide({ ...later, etcd: { ...later.etcd, hashes: hashes(world.now + 1_000, 2) } });
  assert.equal(differs.act, undefined);
  assert.equal(differs.holds[0]?.reason, "Corrupt");
  // Not again at once: it is rolled back to what the spec says.
  const equal = decide({ ...later, etcd: { ...later.etcd, hashes: hashes(world.now + 1_000, 1) } });
  assert.notEqual(equal.act?.action.kind, "CompareHashes");
});

test("also while nobody tells who votes: records say who did, and the one that runs is waited for a while", () => {
  const { list: _unknown, ...etcd } = alone({ demo2: "data-differs" }).etcd;
  const world = change({ ...alone({ demo2: "data-differs" }), etcd }, "demo-3", {
    answer: { reachable: false, error: "it serves no clients before it has found a leader" },
  });
  assert.equal(decide(world).act, undefined);
  assert.equal(decide(world).holds[0]?.reason, "Corrupt");
  const { act } = decide({ ...world, now: world.now + 10 * 60_000 });
  assert.ok(act?.action.kind === "UpdateMember" && act.action.member === "demo-1");
  assert.equal(act.action.change.template?.options.corruptCheck.initial, false);
});

test("a suspect is not let in without its check while the others serve everybody but us (H16)", () => {
  let world = exited(healthy(), "demo-1", "data-differs");
  for (const name of ["demo-2", "demo-3"])
    world = change(world, name, ({ workload }) => ({
      answer: { reachable: false, error: "timed out", cause: "network" },
      workload: workload.state === "running" ? { ...workload, ready: true } : workload,
      unhealthySince: world.now - 3_600_000,
    }));
  const { list: _unknown, ...etcd } = world.etcd;
  const { act, holds } = decide({ ...world, etcd });
  assert.equal(act, undefined);
  const reported = holds.map(({ reason }) => reason);
  assert.ok(reported.includes("EtcdUnreachable") && reported.includes("Corrupt"), reported.join());
});

const three = healthy();
const at = (o: Observation, ms: number): Observation => ({ ...o, now: NOW + ms });

const hashed = (o: Observation, hashes: HashReport | undefined): Observation => ({
  ...o,
  etcd: { ...o.etcd, hashes },
});

const report = (hashes: readonly number[], when = NOW, compacted: readonly number[] = []): HashReport => ({
  at: when,
  revision: 9,
  byMember: Object.fromEntries(
    hashes.map((hash, i) => [`demo-${i + 1}`, { hash, compactRevision: compacted[i] ?? 3 }]),
  ),
});

const alarm = (o: Observation, kind: "CORRUPT" | "NOSPACE", memberID = "0"): Observation => ({
  ...o,
  etcd: { ...o.etcd, alarms: [...o.etcd.alarms, { memberID, alarm: kind }] },
});

test("an alarm is judged by a comparison of the last minute, and by no older one", () => {
  const armed = alarm(hashed(three, report([1, 1, 2])), "CORRUPT");
  assert.deepEqual(says(corrupt, at(armed, 60_000)), ["heal: leave demo-3"]);
  assert.deepEqual(says(corrupt, at(armed, 60_001)), ["heal: compare hashes"]);
  assert.deepEqual(says(corrupt, hashed(armed, undefined)), ["heal: compare hashes"]);
  assert.deepEqual(says(corrupt, hashed(three, undefined)), [], "without an alarm there is nothing to ask");
});

test("where no majority agrees, that is reported until it can be compared again; who was hidden is compared soon", () => {
  const armed = (o: Observation) => alarm(hashed(o, report([1, 2, 3])), "CORRUPT");
  assert.deepEqual(says(corrupt, armed(three)), ["Corrupt for 60000 ms"]);
  assert.deepEqual(says(corrupt, at(armed(three), 6_000)), ["Corrupt for 54000 ms"]);
  const hidden = alarm(hashed(three, report([1, 2])), "CORRUPT");
  assert.deepEqual(says(corrupt, at(hidden, 5_000)), ["Corrupt for 55000 ms"]);
  assert.deepEqual(says(corrupt, at(hidden, 5_001)), ["heal: compare hashes"]);
});

test("the odd one goes only while the others keep quorum, counts as broken, and the largest group is right", () => {
  const five = healthy({ replicas: 5 });
  const odd = hashed(five, report([2, 1, 1, 1, 2]));
  assert.deepEqual(says(corrupt, odd), ["heal: leave demo-1"]);
  assert.deepEqual(says(corrupt, exited(exited(odd, "demo-3"), "demo-4")), ["Corrupt"]);
  const [outcome] = corrupt(viewOf(odd));
  const action = outcome && "act" in outcome ? outcome.act.action : undefined;
  assert.ok(action?.kind === "UpdateMember");
  assert.deepEqual([action.change.leaving?.broken, action.change.leaving?.volume], [true, "Retain"]);
});

test("a voter at another compact revision cannot be compared, and is not accused (H14)", () => {
  const apart = alarm(hashed(three, report([1, 1, 2], NOW, [3, 3, 4])), "CORRUPT");
  assert.deepEqual(says(corrupt, apart), ["Corrupt for 60000 ms"]);
  const equal = alarm(hashed(three, report([1, 1, 1])), "CORRUPT");
  assert.deepEqual(says(corrupt, equal), ["heal: disarm CORRUPT"]);
  assert.deepEqual(says(corrupt, hashed(three, report([1, 1, 1]))), []);
});

test("a learner that etcd calls corrupt is made anew, and only the one it names", () => {
  const grown = run(edit(three, { learners: 1 }));
  const learner = grown.etcd.list?.members.find((entry) => entry.isLearner);
  assert.ok(learner);
  const agreed = hashed(grown, report([1, 1, 1]));
  assert.deepEqual(says(corrupt, alarm(agreed, "CORRUPT", learner.id)), ["heal: leave demo-4"]);
  assert.deepEqual(says(corrupt, alarm(agreed, "CORRUPT", "another")), ["heal: disarm CORRUPT"]);
});

test("an alarm without a name, while all voters agree, is a learner's, unless somebody was just replaced (R32)", () => {
  const grown = hashed(run(edit(three, { learners: 1 })), report([1, 1, 1]));
  const armed = alarm(grown, "CORRUPT");
  assert.deepEqual(says(corrupt, armed), ["heal: leave demo-4"]);
  const marks = { ...armed.cluster.marks, replaced: { "demo-0": NOW - 1000 } };
  const explained = { ...armed, cluster: { ...armed.cluster, marks } };
  assert.deepEqual(says(corrupt, explained), ["heal: disarm CORRUPT"]);
});

test("a suspect beside learners, which its check asks and we cannot: they are made anew before it is accused (R33)", () => {
  const grown = run(edit(three, { learners: 1 }));
  const ended = hashed(exited(grown, "demo-3", "data-differs"), report([1, 1]));
  assert.deepEqual(says(corrupt, ended), ["heal: leave demo-4"]);
  const leaving = { reason: "", volume: "Retain", broken: true } as const;
  assert.deepEqual(says(corrupt, record(ended, "demo-4", { leaving })), ["Corrupt"]);
  // It was started again after that, and ended once more.
  const { members, etcd } = ended;
  const list = etcd.list && { ...etcd.list, members: etcd.list.members.filter((one) => !one.isLearner) };
  const marks = { ...ended.cluster.marks, replaced: { "demo-4": NOW - 1000 } };
  const alone: Observation = {
    ...ended,
    cluster: { ...ended.cluster, marks },
    members: members.filter((facts) => facts.record.name !== "demo-4"),
    etcd: { ...etcd, list },
  };
  assert.deepEqual(says(corrupt, alone), ["heal: leave demo-3"]);
  const before = { ...marks, replaced: { "demo-4": NOW + 1000 } };
  const again = { ...alone, now: NOW + 2000, cluster: { ...alone.cluster, marks: before } };
  assert.deepEqual(says(corrupt, again), ["heal: stop workload demo-3"]);
});

test("a suspect is replaced when the others agree without it; when they do not, it starts without the check", () => {
  const suspect = exited(three, "demo-3", "data-differs");
  assert.deepEqual(says(corrupt, hashed(suspect, report([1, 1]))), ["heal: leave demo-3"]);
  assert.deepEqual(says(corrupt, hashed(suspect, report([1, 1, 1]))), ["heal: compare hashes"]);
  assert.deepEqual(says(corrupt, hashed(suspect, report([1, 2]))), ["heal: revert demo-3"]);
  const unchecked = change(suspect, "demo-3", ({ record: known }) => ({
    record: {
      ...known,
      template: {
        ...known.template,
        options: {
          ...known.template.options,
          corruptCheck: { ...known.template.options.corruptCheck, initial: false },
        },
      },
    },
  }));
  assert.deepEqual(says(corrupt, hashed(unchecked, report([1, 2]))), ["Corrupt"]);
});
