import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { decide } from "../decide.ts";
import type { Observation } from "../observation.ts";
import type { ScheduleFacts, SnapshotFacts } from "../snapshots/facts.ts";
import { snapshotWorld } from "../snapshots/world.ts";
import { change, edit, exited, healthy, NOW } from "../testing/cluster.ts";
import { jobOf, scheduleNamed, snapshotNamed } from "../testing/snapshots.ts";
import { viewOf } from "../view.ts";

const HOUR = 3_600_000;

interface Setting {
  readonly schedules?: readonly ScheduleFacts[];
  readonly snapshots?: readonly SnapshotFacts[];
  readonly spec?: object;
}

/** A healthy cluster of 3.6 that is to run 3.7. */
function upgrading({ schedules = [scheduleNamed("nightly")], snapshots = [], spec = {} }: Setting = {}) {
  const world = edit(healthy(), { version: "3.7.3", ...spec });
  return { ...world, snapshots: { snapshots, schedules } };
}

function outcome(world: Observation): string {
  const { act, holds } = decide(world);
  if (act) return act.code;
  return holds.map(({ code }) => code).join();
}

function created(world: Observation) {
  const { before } = snapshotWorld(viewOf(world), world.snapshots ?? { snapshots: [] }, decide(world));
  return before && `${before.schedule.name} ${before.name}`;
}

function versionGiven(world: Observation): string | undefined {
  const { act } = decide(world);
  return act?.action.kind === "UpdateMember" ? act.action.change.template?.version : undefined;
}

const before = (phase: SnapshotFacts["status"]["phase"], change: Partial<SnapshotFacts> = {}) =>
  snapshotNamed("demo-before-3-7-1", { before: "3.7", status: { phase, message: "Denied." }, ...change });

describe("before members move to another minor version", () => {
  test("a snapshot is created with the schedule's destination, and the rollout waits for it", () => {
    const world = upgrading();
    assert.equal(outcome(world), "SnapshotBeforeAwaited");
    assert.equal(created(world), `nightly demo-before-3-7-${Math.floor(NOW / HOUR)}`);
    for (const phase of [undefined, "Pending", "Running"] as const) {
      const waits = upgrading({ snapshots: [before(phase)] });
      assert.equal(outcome(waits), "SnapshotBeforeAwaited");
      assert.equal(created(waits), undefined, "once");
      const long = upgrading({ snapshots: [before(phase, { createdAt: NOW - 9 * HOUR })] });
      assert.equal(created(long), undefined, "nor another one while it waits");
    }
    assert.notEqual(outcome(upgrading({ snapshots: [before("Succeeded")] })), "SnapshotBeforeAwaited");
    const status = { phase: "Succeeded", completedAt: new Date(NOW - HOUR / 2).toISOString() } as const;
    const slow = upgrading({ snapshots: [before("Succeeded", { createdAt: NOW - 2 * HOUR, status })] });
    assert.notEqual(outcome(slow), "SnapshotBeforeAwaited", "one that took more than an hour counts too");
  });

  test("a failed one holds the rollout with its words, is tried again after an hour, and can be done without", () => {
    const world = upgrading({ snapshots: [before("Failed")] });
    const [hold] = decide(world).holds;
    assert.equal(hold?.code, "SnapshotBeforeFailed");
    assert.match(hold?.message ?? "", /Denied/);
    assert.equal(created(world), undefined);
    const later = upgrading({ snapshots: [before("Failed", { createdAt: NOW - HOUR })] });
    assert.ok(created(later));
    const approved = { ...world, cluster: { ...world.cluster, approved: "without-snapshot-3.7" } };
    assert.doesNotMatch(outcome(approved), /Snapshot/);
    const other = { ...world, cluster: { ...world.cluster, approved: "without-snapshot-3.6" } };
    assert.equal(outcome(other), "SnapshotBeforeFailed");
  });

  test("no member that is down is given another minor version before: it waits for the snapshot, which is taken", () => {
    for (const trouble of [
      (world: Observation) =>
        change(world, "demo-2", () => ({ answer: { reachable: false, error: "refused" }, alive: false })),
      (world: Observation) => exited(world, "demo-2", "bad-configuration", { restarts: 3 }),
      (world: Observation) => exited(world, "demo-2", "killed", { restarts: 3 }),
    ]) {
      const down = trouble(upgrading());
      const world = change(down, "demo-2", () => ({ unhealthySince: NOW - HOUR }));
      const { act, holds } = decide(world);
      if (act?.action.kind === "UpdateMember") assert.equal(act.action.change.template, undefined);
      assert.ok(holds.some(({ code, rule }) => code === "SnapshotBeforeAwaited" && rule === "retemplate"));
      assert.ok(created(world), "the snapshot does not wait for the member");
      const taken = { ...world, snapshots: { ...world.snapshots, snapshots: [before("Succeeded")] } };
      assert.equal(versionGiven(taken), "3.7.3");
      const lost = change(taken, "demo-1", () => ({ answer: { reachable: false, error: "refused" } }));
      assert.notEqual(decide(lost).holds[0]?.code, "SnapshotBeforeAwaited", "not without quorum");
    }
  });

  test("what mends a member besides need not wait: it is given the rest of the spec at the version it has", () => {
    const options = { snapshotCount: 5_000 };
    const edited = upgrading({ spec: { options } });
    const down = exited(edited, "demo-2", "bad-configuration", { restarts: 3 });
    const { act } = decide(change(down, "demo-2", () => ({ unhealthySince: NOW - HOUR })));
    assert.equal(act?.code, "UnhealthyGivenTarget");
    const { template } = act.action.kind === "UpdateMember" ? act.action.change : {};
    assert.deepEqual([template?.version, template?.options.snapshotCount], ["3.6.16", 5_000]);
    // An image that is pinned to the new version is that version.
    const digest = `sha256:${"7".repeat(64)}`;
    const pinned = exited(
      upgrading({ spec: { options, image: { repository: "registry.example/etcd", digest } } }),
      "demo-2",
      "bad-configuration",
      { restarts: 3 },
    );
    const step = decide(change(pinned, "demo-2", () => ({ unhealthySince: NOW - HOUR }))).act?.action;
    const { image } = (step?.kind === "UpdateMember" && step.change.template) || {};
    assert.equal(image?.digest, undefined);
  });

  test("where rollouts wait for approval, one word approves this rollout and that no snapshot precedes it", () => {
    const world = upgrading({ snapshots: [before("Failed")], spec: { update: { strategy: "OnApproval" } } });
    const approve = (approved: string) => ({ ...world, cluster: { ...world.cluster, approved } });
    const [asked] = decide(world).holds;
    assert.equal(asked?.code, "ApprovalAwaited");
    const [failed] = decide(approve(asked.approval?.word ?? "")).holds;
    assert.equal(failed?.code, "SnapshotBeforeFailed");
    const word = failed.approval?.word ?? "";
    assert.equal(word, `${asked.approval?.word}-without-snapshot`);
    assert.doesNotMatch(outcome(approve(word)), /Snapshot|Approval/);
    assert.equal(outcome(approve("0000-without-snapshot")), "ApprovalAwaited", "not another rollout's");
  });

  test("one that nothing takes says after a while why, and how to do without it", () => {
    const status = { phase: "Pending", message: "No image." } as const;
    const since = (ms: number, more: Partial<SnapshotFacts> = {}) =>
      decide(upgrading({ snapshots: [before("Pending", { status, createdAt: NOW - ms, ...more })] }))
        .holds[0];
    assert.equal(since(1_000)?.code, "SnapshotBeforeAwaited");
    const stuck = since(200_000);
    assert.equal(stuck?.code, "SnapshotBeforeStuck");
    assert.match(`${stuck.message} ${stuck.next}`, /No image.*approve demo without-snapshot-3\.7/);
    const running = { status: { phase: "Running", message: "Job waits: ErrImagePull" } } as const;
    assert.equal(since(200_000, running)?.code, "SnapshotBeforeAwaited", "it is being taken");
    const jobs = [jobOf("job", { is: "waiting", why: "ErrImagePull" })];
    assert.equal(since(200_000, { ...running, jobs })?.code, "SnapshotBeforeStuck");
    const refused = scheduleNamed("nightly", { failure: "exceeded quota." });
    const world = upgrading({ schedules: [refused] });
    assert.match(decide(world).holds[0]?.message ?? "", /cannot be created: exceeded quota\.$/);
    assert.ok(created(world), "and is tried again");
  });

  test("a schedule that cannot be understood is not none: the rollout waits and names it, and can be done without", () => {
    const invalid = scheduleNamed("nightly", { invalid: "unknown field spec.tape." });
    const damaged = {
      ...upgrading(),
      snapshots: { snapshots: [], unreadable: [{ name: "weekly", why: "weekly.json is not JSON" }] },
    };
    for (const [world, words] of [
      [upgrading({ schedules: [invalid] }), /EtcdSnapshotSchedule nightly .*unknown field spec\.tape\.$/],
      [damaged, /EtcdSnapshotSchedule weekly .*weekly\.json is not JSON$/],
    ] as const) {
      const [hold] = decide(world).holds;
      assert.equal(hold?.code, "SnapshotBeforeUnreadable");
      assert.match(hold.message, words);
      assert.equal(created(world), undefined);
      const approved = { ...world, cluster: { ...world.cluster, approved: hold.approval?.word ?? "" } };
      assert.doesNotMatch(outcome(approved), /Snapshot/);
    }
    assert.equal(
      created(upgrading({ schedules: [invalid, scheduleNamed("other")] }))?.split(" ")[0],
      "other",
      "one that is understood is enough",
    );
    const taken = upgrading({ schedules: [invalid], snapshots: [before("Succeeded")] });
    assert.doesNotMatch(outcome(taken), /Snapshot/, "nor is it asked for twice");
    const suspended = scheduleNamed("nightly", { invalid: "unknown field", spec: { suspend: true } });
    assert.doesNotMatch(outcome(upgrading({ schedules: [suspended] })), /Snapshot/);
  });

  test("one that is too old, of another cluster, or of another rollout does not count", () => {
    for (const change of [
      { createdAt: NOW - 2 * HOUR },
      { before: "3.6" },
      { status: { phase: "Succeeded", clusterUID: "another" } },
      { deleting: true },
    ] as const)
      assert.equal(outcome(upgrading({ snapshots: [before("Succeeded", change)] })), "SnapshotBeforeAwaited");
  });

  test("none is taken where there is no schedule, where it is switched off, and for a patch", () => {
    const free = (setting: Setting) => {
      const world = upgrading(setting);
      assert.doesNotMatch(outcome(world), /Snapshot/);
      assert.equal(created(world), undefined);
    };
    free({ schedules: [] });
    free({ schedules: [scheduleNamed("nightly", { spec: { suspend: true } })] });
    free({ spec: { update: { snapshotBefore: false } } });
    const patch = edit(healthy(), { options: { snapshotCount: 5000 } });
    const snapshots = { snapshots: [], schedules: [scheduleNamed("nightly")] };
    assert.doesNotMatch(outcome({ ...patch, snapshots }), /Snapshot/);
  });

  test("nothing is created while the rollout waits for something else", () => {
    const paused = upgrading({ spec: { paused: true } });
    assert.equal(created(paused), undefined);
    const unapproved = upgrading({ spec: { update: { strategy: "OnApproval" } } });
    assert.equal(created(unapproved), undefined);
  });
});
