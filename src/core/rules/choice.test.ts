/** Who is chosen where several could be: the order is part of the rules, and the same on every pass. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { MemberFacts, Observation } from "../observation.ts";
import { change, edit, exited, healthy, leaderOf, record, run } from "../testing/cluster.ts";
import { says } from "../testing/says.ts";
import { viewOf } from "../view.ts";
import { deletion } from "./deletion.ts";
import { finishJoins } from "./finish-joins.ts";
import { finishRemovals } from "./finish-removals.ts";
import { hibernate } from "./hibernate.ts";
import { outgrown } from "./outgrown.ts";
import { restartOutdated } from "./restart-outdated.ts";
import { rollout } from "./rollout.ts";
import { scaleIn } from "./scale-in.ts";
import { stay } from "./stay.ts";
import { successor } from "../assess/successor.ts";

const five = healthy({ replicas: 5 });
const three = healthy();
const NAMES = ["demo-1", "demo-2", "demo-3"];
const lagging = (o: Observation, name: string, behind: number) =>
  change(o, name, ({ answer }) => ({
    answer: answer.reachable ? { ...answer, raftAppliedIndex: answer.raftIndex - behind } : answer,
  }));
const started = (o: Observation, name: string, startedFrom: string) =>
  change(o, name, ({ workload }) => ({
    workload: workload.state === "running" ? { ...workload, startedFrom } : workload,
  }));
const retiring = { reason: "it is old" };
const leaving = { reason: "it goes", volume: "Retain" } as const;

function heir(o: Observation, prefer?: (name: string) => boolean): string | undefined {
  const view = viewOf(o);
  assert.ok(view.leader);
  return successor(view, view.leader, prefer && (({ name }) => prefer(name)))?.name;
}

test("the heir is whom the caller prefers, then who runs what its record says, then who lags least", () => {
  assert.equal(leaderOf(five), "demo-1");
  assert.equal(heir(five), "demo-2");
  assert.equal(heir(lagging(five, "demo-2", 5)), "demo-3");
  const old = started(started(five, "demo-2", "old"), "demo-3", "old");
  assert.equal(heir(old), "demo-4");
  assert.equal(heir(lagging(lagging(old, "demo-4", 9), "demo-5", 3)), "demo-5");
  assert.equal(
    heir(lagging(old, "demo-3", 9), (name) => name === "demo-3"),
    "demo-3",
  );
  assert.equal(
    heir(five, (name) => name !== "demo-2"),
    "demo-3",
  );
});

test("nobody inherits who is ill, retires, leaves or is a learner", () => {
  const ill = exited(five, "demo-2");
  const old = record(ill, "demo-3", { retiring });
  const off = record(old, "demo-4", { leaving });
  assert.equal(heir(off), "demo-5");
  assert.equal(heir(exited(off, "demo-5")), undefined);
});

test("too many: the broken goes first, then who does not vote, then the youngest; the leader is the last", () => {
  const chosen = (o: Observation) => says(scaleIn, o)[0];
  const small = edit(five, { replicas: 4 });
  assert.equal(chosen(small), "shrink: leave demo-5");
  assert.equal(chosen(exited(small, "demo-2")), "shrink: leave demo-2");
  const isLearner = (o: Observation, name: string): Observation => ({
    ...o,
    etcd: {
      ...o.etcd,
      list: o.etcd.list && {
        ...o.etcd.list,
        members: o.etcd.list.members.map((entry) =>
          entry.name === name ? { ...entry, isLearner: true } : entry,
        ),
      },
    },
  });
  assert.equal(chosen(isLearner(small, "demo-3")), "shrink: leave demo-3");
  // What is broken is of less use than what does not vote yet.
  assert.equal(chosen(exited(isLearner(small, "demo-3"), "demo-2")), "shrink: leave demo-2");
  const leads = small.members[4]?.record.memberID ?? "";
  const led = small.members.reduce(
    (o, facts) =>
      change(o, facts.record.name, ({ answer }) => ({
        answer: answer.reachable ? { ...answer, leaderID: leads } : answer,
      })),
    small,
  );
  assert.equal(chosen(led), "shrink: leave demo-4");
  assert.equal(chosen(edit(healthy({ replicas: 2 }), { replicas: 1 })), "shrink: leave demo-2");
});

test("who retires goes when as many others serve as the spec asks for, and not before (H6)", () => {
  const old = record(three, "demo-2", { retiring });
  assert.deepEqual(says(scaleIn, old), []);
  const more = record(edit(five, { replicas: 4 }), "demo-2", { retiring });
  assert.deepEqual(says(scaleIn, more), ["shrink: leave demo-2"]);
  assert.deepEqual(says(scaleIn, exited(more, "demo-4")), []);
});

test("two records deleted by hand are replaced in the order of their ordinals, one at a time", () => {
  const both = change(change(five, "demo-2", { deleting: true }), "demo-4", { deleting: true });
  assert.deepEqual(says(scaleIn, both), ["heal: retire demo-2"]);
  assert.deepEqual(says(scaleIn, record(both, "demo-2", { retiring })), ["heal: retire demo-4"]);
});

test("a member leaves only while enough others are healthy (I1)", () => {
  const small = exited(exited(edit(five, { replicas: 2 }), "demo-4"), "demo-5");
  // Three healthy of five: a broken one may go, and none of the healthy.
  assert.deepEqual(says(scaleIn, small), ["shrink: leave demo-5"]);
  const two = exited(edit(three, { replicas: 2 }), "demo-3");
  const other = change(two, "demo-3", ({ record: known }) => ({ record: { ...known, retiring } }));
  assert.deepEqual(says(scaleIn, edit(other, { replicas: 1 })), ["RemovalUnsafe"]);
});

test("all fall asleep in order, the leader's workload ends last, and all wake in order", () => {
  let world = edit(three, { replicas: 0 });
  assert.deepEqual(says(hibernate, world), ["life: hibernate demo-1"]);
  for (const name of NAMES) world = record(world, name, { run: false });
  assert.deepEqual(says(hibernate, world), ["life: stop workload demo-2"]);
  const stop = (o: Observation, name: string) => change(o, name, { workload: { state: "absent" } });
  assert.deepEqual(says(hibernate, stop(world, "demo-2")), ["life: stop workload demo-3"]);
  const last = stop(stop(world, "demo-2"), "demo-3");
  assert.deepEqual(says(hibernate, last), ["life: stop workload demo-1"]);
  const stopping = change(last, "demo-1", { workload: { state: "stopping", since: last.now } });
  assert.deepEqual(says(hibernate, stopping), ["Stopping"]);
  assert.deepEqual(says(hibernate, stop(last, "demo-1")), ["Hibernated"]);
  assert.deepEqual(says(hibernate, edit(world, { replicas: 3 })), ["life: wake demo-1"]);
});

test("a deletion stops everybody, waits for them, and then takes the records in order (I5)", () => {
  const world = { ...three, cluster: { ...three.cluster, deleting: true } };
  const set = (o: Observation, workload: MemberFacts["workload"], ...names: string[]) =>
    names.reduce((all, name) => change(all, name, { workload }), o);
  const absent = { state: "absent" } as const;
  const stopping = { state: "stopping", since: three.now } as const;
  assert.deepEqual(says(deletion, world), ["life: stop workload demo-1"]);
  assert.deepEqual(says(deletion, set(world, absent, "demo-1")), ["life: stop workload demo-2"]);
  assert.deepEqual(says(deletion, set(world, stopping, "demo-1")), ["life: stop workload demo-2"]);
  assert.deepEqual(says(deletion, set(world, stopping, "demo-1", "demo-2", "demo-3")), ["Stopping"]);
  assert.deepEqual(says(deletion, set(set(world, absent, ...NAMES), stopping, "demo-2")), ["Stopping"]);
  // A node that is gone never confirms: it is not waited for.
  const lost = { ...stopping, lostNode: "node-7" };
  assert.deepEqual(says(deletion, set(set(world, absent, ...NAMES), lost, "demo-2")), [
    "life: delete member demo-1",
  ]);
  const fenced = { ...world, platform: { ...world.platform, fenced: true } };
  assert.deepEqual(says(deletion, fenced), []);
  assert.deepEqual(says(deletion, three), []);
  assert.deepEqual(says(deletion, { ...world, members: [] }), ["life: finish deletion"]);
});

test("among those who leave, the first that can go goes; its volume and its record wait for its end", () => {
  const gone = (o: Observation, name: string): Observation => ({
    ...o,
    etcd: {
      ...o.etcd,
      list: o.etcd.list && {
        ...o.etcd.list,
        members: o.etcd.list.members.filter((entry) => entry.name !== name),
      },
    },
  });
  const both = record(record(five, "demo-2", { leaving }), "demo-3", { leaving });
  assert.deepEqual(says(finishRemovals, both), ["heal: remove from etcd demo-2"]);
  const out = gone(gone(both, "demo-2"), "demo-3");
  assert.deepEqual(says(finishRemovals, out), ["heal: stop workload demo-2"]);
  const stopping = { state: "stopping", since: five.now } as const;
  const waits = change(out, "demo-2", { workload: stopping });
  assert.deepEqual(says(finishRemovals, waits), ["record: mark remember-member"]);
  const counted = {
    ...waits,
    cluster: { ...waits.cluster, marks: { ...waits.cluster.marks, highestOrdinal: 5 } },
  };
  assert.deepEqual(says(finishRemovals, counted), ["Stopping for 10000 ms", "heal: stop workload demo-3"]);
  const lost = change(out, "demo-2", { workload: { ...stopping, lostNode: "node-7" } });
  assert.deepEqual(says(finishRemovals, lost), ["record: mark remember-member"]);
  const known = {
    ...lost,
    cluster: { ...lost.cluster, marks: { ...lost.cluster.marks, highestOrdinal: 5 } },
  };
  assert.deepEqual(says(finishRemovals, known), ["heal: delete member demo-2"]);
  const old = {
    ...known,
    etcd: { ...known.etcd, list: known.etcd.list && { ...known.etcd.list, linearizable: false } },
  };
  assert.deepEqual(says(finishRemovals, old), [], "as long as etcd cannot confirm it, nothing is deleted");
});

test("a record of an abandoned first boot goes, and keeps a volume that may have been used", () => {
  const former = record(record(three, "demo-2", { token: "older" }), "demo-3", {
    token: "older",
    volumeUID: undefined,
  });
  assert.deepEqual(says(finishRemovals, former), ["heal: leave demo-2"]);
  const volumeOf = (o: Observation) => {
    const [outcome] = finishRemovals(viewOf(o));
    const action = outcome && "act" in outcome ? outcome.act.action : undefined;
    return action?.kind === "UpdateMember" ? action.change.leaving?.volume : undefined;
  };
  assert.equal(volumeOf(former), "Retain");
  assert.equal(volumeOf(record(former, "demo-2", { leaving })), "Delete");
});

test("the next to be rolled is the youngest follower; the leader comes last, and hands over first", () => {
  const world = edit(three, { options: { logLevel: "Debug" }, update: { canary: false } });
  assert.deepEqual(says(rollout, world), ["roll: roll demo-3"]);
  const template = run(world).members[0]?.record.template;
  assert.ok(template);
  const rolled = (o: Observation, name: string) => record(o, name, { template });
  assert.deepEqual(says(rollout, rolled(world, "demo-3")), ["roll: roll demo-2"]);
  const last = rolled(rolled(world, "demo-3"), "demo-2");
  assert.deepEqual(says(rollout, last), ["roll: move leader demo-2"]);
});

test("one at a time outgrows its volume, a follower first, and only while all are well", () => {
  const small = (o: Observation, name: string) =>
    change(o, name, ({ volume }) => ({
      volume: volume.state === "ready" ? { ...volume, tooSmall: "it cannot grow" } : volume,
    }));
  const all = NAMES.reduce(small, three);
  assert.deepEqual(says(outgrown, all), ["roll: retire demo-2"]);
  assert.deepEqual(says(outgrown, record(all, "demo-2", { retiring })), ["roll: retire demo-3"]);
  assert.deepEqual(says(outgrown, small(three, "demo-1")), ["roll: retire demo-1"]);
  assert.deepEqual(says(outgrown, exited(all, "demo-3")), []);
  assert.deepEqual(says(outgrown, three), []);
});

test("of several that may stay after all, the oldest is told first", () => {
  const both = record(record(three, "demo-2", { retiring }), "demo-3", { retiring });
  assert.deepEqual(says(stay, both), ["revert: stay demo-2"]);
});

test("what lacks only resources waits behind what must restart", () => {
  const outdated = started(started(five, "demo-3", "old"), "demo-4", "old");
  assert.deepEqual(says(restartOutdated, outdated), ["revert: stop workload demo-3"]);
  const stopping = change(outdated, "demo-3", {
    workload: { state: "stopping", since: five.now, startedFrom: "old" },
  });
  assert.deepEqual(says(restartOutdated, stopping), ["Stopping"]);
  assert.deepEqual(says(restartOutdated, started(five, "demo-1", "old")), ["revert: move leader demo-2"]);
  const two = healthy({ replicas: 2 });
  assert.deepEqual(says(restartOutdated, started(two, "demo-1", "old")), ["revert: move leader demo-2"]);
  assert.deepEqual(says(restartOutdated, started(healthy({ replicas: 1 }), "demo-1", "old")), [
    "revert: stop workload demo-1",
  ]);
  // Ill already: it costs no vote, so it need not wait.
  assert.deepEqual(says(restartOutdated, started(exited(three, "demo-2"), "demo-3", "old")), [
    "MemberUnhealthy",
  ]);
});

test("a joiner that etcd knows is started before the next one is added (H7)", () => {
  const grown = run(edit(three, { replicas: 5 }));
  const joiner = { boot: "Join", joined: false, volumeUID: undefined, memberID: undefined } as const;
  const known = record(grown, "demo-4", joiner);
  const blank = record(known, "demo-5", joiner);
  const listed = (o: Observation, name: string): Observation => ({
    ...o,
    etcd: {
      ...o.etcd,
      list: o.etcd.list && {
        ...o.etcd.list,
        members: o.etcd.list.members.flatMap((entry) =>
          entry.name === "demo-5"
            ? []
            : [entry.name === name ? { ...entry, name: "", isLearner: true } : entry],
        ),
      },
    },
  });
  assert.deepEqual(says(finishJoins, listed(blank, "demo-4")), ["join: permit-start demo-4"]);
  const pending = change(listed(blank, "demo-4"), "demo-4", { volume: { state: "pending", reason: "none" } });
  assert.deepEqual(says(finishJoins, pending), ["VolumePending"]);
});
