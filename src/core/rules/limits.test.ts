/** Times, sizes and counts at their limits: what is done on one side of each, and what on the other. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { HashReport, MemberFacts, Observation } from "../observation.ts";
import { NOW, answering, change, edit, exited, healthy, record, run } from "../testing/cluster.ts";
import { says } from "../testing/says.ts";
import { viewOf } from "../view.ts";
import { compareHashes } from "./compare-hashes.ts";
import { corrupt } from "./corrupt.ts";
import { defragment } from "./defragment.ts";
import { finishRemovals } from "./finish-removals.ts";
import { firstBoot } from "./first-boot.ts";
import { learners } from "./learners.ts";
import { noSpace } from "./no-space.ts";
import { replaceBroken } from "./replace-broken.ts";
import { retemplate } from "./retemplate.ts";
import { scaleIn } from "./scale-in.ts";
import { needsComparison } from "../assess/compared.ts";
import { livenessPatienceMs, mayDefragment } from "../assess/liveness.ts";

const three = healthy();
const NAMES = ["demo-1", "demo-2", "demo-3"];
const HOUR = 3_600_000;
const MIB = 1024 ** 2;
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

test("data is compared when its interval is over, not before, and not where there is nobody to compare with", () => {
  const { interval } = three.cluster.spec.maintenance.hashCheck;
  assert.equal(interval, "1h");
  assert.deepEqual(says(compareHashes, at(three, HOUR - 1)), []);
  assert.deepEqual(says(compareHashes, at(three, HOUR)), ["maintain: compare hashes"]);
  assert.deepEqual(says(compareHashes, hashed(three, undefined)), ["maintain: compare hashes"]);
  assert.deepEqual(says(compareHashes, at(healthy({ replicas: 2 }), HOUR)), ["maintain: compare hashes"]);
  assert.deepEqual(says(compareHashes, at(healthy({ replicas: 1 }), HOUR)), []);
});

test("a 3.5 voter that ended and is back is compared, ten seconds after the last comparison at the earliest", () => {
  const old = healthy({ version: "3.5.35" });
  const back = (o: Observation, since: number, restarts = 1) =>
    change(o, "demo-2", ({ workload }) => ({
      workload: workload.state === "running" ? { ...workload, since, restarts } : workload,
    }));
  assert.deepEqual(says(compareHashes, at(back(old, NOW + 1), 9_999)), []);
  assert.deepEqual(says(compareHashes, at(back(old, NOW + 1), 10_000)), ["maintain: compare hashes"]);
  assert.deepEqual(says(compareHashes, at(back(old, NOW), 10_000)), []);
  assert.deepEqual(says(compareHashes, at(back(old, NOW + 1, 0), 10_000)), []);
  assert.deepEqual(
    says(compareHashes, at(back(three, NOW + 1), 10_000)),
    [],
    "3.6 has compared at its start",
  );
});

test("before a copy goes the comparison must be younger than five minutes, unless it is turned off", () => {
  const needs = (o: Observation) => needsComparison(viewOf(o));
  assert.equal(needs(at(three, 300_000)), false);
  assert.equal(needs(at(three, 300_001)), true);
  assert.equal(needs(hashed(three, undefined)), true);
  assert.equal(needs(at(healthy({ replicas: 2 }), 300_001)), true);
  assert.equal(needs(at(healthy({ replicas: 1 }), 300_001)), false);
  const off = edit(three, { maintenance: { hashCheck: { interval: "0s" } } });
  assert.equal(needs(at(off, 300_001)), false);
  assert.deepEqual(says(scaleIn, at(edit(three, { replicas: 2 }), 300_001)), ["shrink: compare hashes"]);
});

test("an alarm is judged by a comparison of the last minute, and by no older one", () => {
  const armed = alarm(hashed(three, report([1, 1, 2])), "CORRUPT");
  assert.deepEqual(says(corrupt, at(armed, 60_000)), ["heal: leave demo-3"]);
  assert.deepEqual(says(corrupt, at(armed, 60_001)), ["heal: compare hashes"]);
  assert.deepEqual(says(corrupt, hashed(armed, undefined)), ["heal: compare hashes"]);
  assert.deepEqual(says(corrupt, hashed(three, undefined)), [], "without an alarm there is nothing to ask");
});

test("where no majority agrees, that is told until it can be compared again; who was hidden is compared soon", () => {
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

/** Fragmented by its limits: more than 100 MiB free, and more than half. */
function fragmented(o: Observation, size: number, used: number): Observation {
  return o.members.reduce(
    (all, facts) => answering(all, facts.record.name, { dbSize: size, dbSizeInUse: used }),
    edit(o, {
      options: { quotaBackendBytes: "2Gi" },
      maintenance: { defrag: { freeAbove: "100Mi", ratioAbove: 0.5 } },
    }),
  );
}

test("free pages are given back above both limits, followers first, and each member rests ten minutes after", () => {
  assert.deepEqual(says(defragment, fragmented(three, 300 * MIB, 100 * MIB)), [
    "maintain: defragment demo-2",
  ]);
  assert.deepEqual(says(defragment, fragmented(three, 200 * MIB, 100 * MIB)), [], "exactly half is not more");
  assert.deepEqual(says(defragment, fragmented(three, 150 * MIB, 50 * MIB)), [], "exactly 100 MiB neither");
  assert.deepEqual(says(defragment, fragmented(three, 0, 0)), []);
  const rested = (ms: number, ...names: string[]) => {
    const o = fragmented(three, 300 * MIB, 100 * MIB);
    return { ...o, etcd: { ...o.etcd, defragmentedAt: Object.fromEntries(names.map((n) => [n, NOW - ms])) } };
  };
  assert.deepEqual(says(defragment, rested(0, "demo-2")), ["maintain: defragment demo-3"]);
  assert.deepEqual(says(defragment, rested(0, "demo-2", "demo-3")), ["maintain: defragment demo-1"]);
  assert.deepEqual(says(defragment, rested(599_999, ...NAMES)), []);
  assert.deepEqual(says(defragment, rested(600_000, ...NAMES)), ["maintain: defragment demo-2"]);
});

test("nobody is defragmented while somebody joins, leaves or is down, or where it is turned off", () => {
  const full = fragmented(three, 300 * MIB, 100 * MIB);
  assert.deepEqual(says(defragment, exited(full, "demo-3")), []);
  assert.deepEqual(says(defragment, record(full, "demo-3", { joined: false })), []);
  const leaving = { reason: "it goes", volume: "Retain" } as const;
  assert.deepEqual(says(defragment, record(full, "demo-3", { leaving })), []);
  const off = edit(full, {
    maintenance: { defrag: { ...full.cluster.spec.maintenance.defrag, auto: false } },
  });
  assert.deepEqual(says(defragment, off), []);
});

test("a learner with many free pages is made anew, at most once a day (H8)", () => {
  const grown = fragmented(run(edit(three, { learners: 1 })), 20 * MIB, 10 * MIB);
  const bloated = answering(grown, "demo-4", { dbSize: 300 * MIB, dbSizeInUse: 100 * MIB });
  const made = (ms: number) => record(bloated, "demo-4", { createdAt: bloated.now - ms });
  assert.deepEqual(says(defragment, made(24 * HOUR)), ["maintain: leave demo-4"]);
  assert.deepEqual(says(defragment, made(24 * HOUR - 1)), []);
});

test("a database whose defragmentation would outlast the patience of liveness is not begun with (H12)", () => {
  const options = { quotaBackendBytes: "2Gi" };
  // Three times fifteen seconds a GiB, and at least ninety seconds: a quota of 2 GiB is just at both.
  assert.equal(livenessPatienceMs(options), 90_000);
  assert.equal(livenessPatienceMs({ quotaBackendBytes: "8Gi" }), 360_000);
  assert.equal(mayDefragment(options, 2 * 1024 ** 3), true);
  assert.equal(mayDefragment(options, 2 * 1024 ** 3 + 1024), false);
  assert.deepEqual(says(defragment, fragmented(three, 3 * 1024 ** 3, MIB)), [
    "TooLarge",
    "TooLarge",
    "TooLarge",
  ]);
  const mixed = answering(fragmented(three, 3 * 1024 ** 3, MIB), "demo-3", { dbSize: 300 * MIB });
  assert.deepEqual(says(defragment, mixed), ["maintain: defragment demo-3"]);
});

/** The alarm is armed; quota 100 MiB, room again below 95. */
function noRoom(size: number, used: number, compacted?: { revision: number; at: number }): Observation {
  const world = healthy({ options: { quotaBackendBytes: "100Mi" } });
  const filled = NAMES.reduce(
    (o, name) => answering(o, name, { dbSize: size * MIB, dbSizeInUse: used * MIB, revision: 1000 }),
    world,
  );
  const armed = alarm(filled, "NOSPACE", "a1");
  return { ...armed, etcd: { ...armed.etcd, ...(compacted && { compacted }) } };
}

test("a full database is compacted to its newest revision, and again when ten seconds brought another one", () => {
  assert.deepEqual(says(noSpace, noRoom(100, 50)), ["heal: compact to revision 1000"]);
  const older = (ms: number, revision = 999) => noRoom(100, 98, { revision, at: NOW - ms });
  assert.deepEqual(says(noSpace, older(10_000)), ["heal: compact to revision 1000"]);
  assert.deepEqual(says(noSpace, older(9_999)), ["NoSpace for 1 ms"]);
  assert.deepEqual(
    says(noSpace, older(20_000, 1000)),
    ["NoSpace for 10000 ms"],
    "what has not changed is looked at again, and not at once",
  );
  const one = exited(noRoom(100, 50), "demo-3");
  assert.deepEqual(says(noSpace, one), ["heal: compact to revision 1000"]);
});

test("then each full member gives its pages back once, and the alarm is disarmed when all have room", () => {
  const compacted = { revision: 1000, at: NOW };
  const full = noRoom(95, 50, compacted);
  const done = (o: Observation, ...names: string[]): Observation => ({
    ...o,
    etcd: { ...o.etcd, defragmentedAt: Object.fromEntries(names.map((name) => [name, NOW])) },
  });
  assert.deepEqual(says(noSpace, full), ["heal: defragment demo-2"]);
  assert.deepEqual(says(noSpace, done(full, "demo-2")), ["heal: defragment demo-3"]);
  assert.deepEqual(says(noSpace, done(full, ...NAMES)), ["NoSpace for 10000 ms"]);
  assert.deepEqual(says(noSpace, noRoom(94, 50, compacted)), ["heal: disarm NOSPACE"]);
  assert.deepEqual(says(noSpace, answering(noRoom(94, 50, compacted), "demo-3", { dbSize: 95 * MIB })), [
    "heal: defragment demo-3",
  ]);
  // Live data that leaves no twentieth free is for a person.
  assert.deepEqual(says(noSpace, noRoom(99, 95, compacted)), ["NoSpace for 10000 ms"]);
  assert.deepEqual(says(noSpace, noRoom(99, 94, compacted)), ["heal: defragment demo-2"]);
});

test("a template is blamed at its second exit; anything else after the time that the spec gives it", () => {
  const rolled = edit(three, { options: { logLevel: "Debug" } });
  const bad = (restarts: number) => exited(rolled, "demo-3", "bad-configuration", { restarts });
  assert.deepEqual(says(retemplate, bad(1)), []);
  assert.deepEqual(says(retemplate, bad(2)), ["revert: revert demo-3"]);
  const after = 120_000;
  assert.equal(rolled.cluster.spec.repair.unhealthyAfter, "2m");
  const ill = (ms: number) => exited(rolled, "demo-3", "killed", { since: NOW - ms });
  assert.deepEqual(says(retemplate, ill(after - 1)), []);
  assert.deepEqual(says(retemplate, ill(after)), ["revert: revert demo-3"]);
  const stopping = change(ill(after), "demo-3", { workload: { state: "stopping", since: NOW } });
  assert.deepEqual(says(retemplate, stopping), [], "whoever stops is made anew by itself");
  assert.deepEqual(says(retemplate, record(ill(after), "demo-3", { retiring: { reason: "old" } })), []);
  assert.deepEqual(says(retemplate, record(ill(after), "demo-3", { run: false })), []);
});

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

test("a replacement is remembered for an hour, with those of that hour, and only if the member was broken", () => {
  const gone = (leaving: NonNullable<MemberFacts["record"]["leaving"]>) => {
    const o = change(record(three, "demo-2", { leaving }), "demo-2", { workload: { state: "absent" } });
    const list = o.etcd.list && {
      ...o.etcd.list,
      members: o.etcd.list.members.filter((entry) => entry.name !== "demo-2"),
    };
    const replaced = { "demo-8": NOW - HOUR, "demo-9": NOW - HOUR + 1 };
    const marks = { ...o.cluster.marks, replaced };
    return { ...o, etcd: { ...o.etcd, list }, cluster: { ...o.cluster, marks } };
  };
  const kept = (o: Observation) => {
    const [outcome] = finishRemovals(viewOf(o));
    const action = outcome && "act" in outcome ? outcome.act.action : undefined;
    assert.ok(action?.kind === "MarkCluster");
    return action.change;
  };
  assert.deepEqual(kept(gone({ reason: "it broke", volume: "Retain", broken: true })), {
    highestOrdinal: 2,
    replaced: { "demo-9": NOW - HOUR + 1, "demo-2": NOW },
  });
  assert.deepEqual(kept(gone({ reason: "it goes", volume: "Retain" })), { highestOrdinal: 2 });
});

test("a founder on a volume that is not its own any more, or is empty though used, begins the boot anew", () => {
  const booting = {
    ...three,
    cluster: { ...three.cluster, marks: { life: 1, highestOrdinal: 0 } },
    etcd: { ...three.etcd, list: undefined },
    members: three.members.map((facts) => ({ ...facts, record: { ...facts.record, joined: false } })),
  };
  const said = (how: Partial<MemberFacts>) => says(firstBoot, change(booting, "demo-2", how));
  assert.deepEqual(said({}), ["Booting"]);
  assert.deepEqual(said({ volume: { state: "ready", uid: "another" } }), ["heal: mark new-life"]);
  assert.deepEqual(said({ volume: { state: "absent" } }), ["heal: mark new-life"]);
  assert.deepEqual(says(firstBoot, exited(booting, "demo-2", "data-missing")), ["heal: mark new-life"]);
  assert.deepEqual(says(firstBoot, exited(booting, "demo-2", "already-bootstrapped")), [
    "heal: mark new-life",
  ]);
  assert.deepEqual(says(firstBoot, exited(booting, "demo-2", "killed")), ["Booting"]);
  const [outcome] = firstBoot(viewOf(change(booting, "demo-2", { volume: { state: "absent" } })));
  const action = outcome && "act" in outcome ? outcome.act.action : undefined;
  assert.deepEqual(action?.kind === "MarkCluster" && action.change, { life: 2, highestOrdinal: 3 });
});

test("a learner that lags is asked again in a second", () => {
  const grown = run(edit(three, { replicas: 4 }));
  const list = grown.etcd.list && {
    ...grown.etcd.list,
    members: grown.etcd.list.members.map((e) => (e.name === "demo-4" ? { ...e, isLearner: true } : e)),
  };
  const behind = answering({ ...grown, etcd: { ...grown.etcd, list } }, "demo-1", { raftIndex: 9_000 });
  assert.deepEqual(says(learners, behind), ["LearnerBehind for 1000 ms"]);
  assert.deepEqual(says(learners, exited(behind, "demo-2")), ["MemberUnhealthy"]);
  const silent = change(behind, "demo-4", { workload: { state: "waiting", reason: "none", since: NOW } });
  assert.deepEqual(says(learners, answering(silent, "demo-4", { raftAppliedIndex: 9_000 })), [
    "LearnerBehind for 1000 ms",
  ]);
});
