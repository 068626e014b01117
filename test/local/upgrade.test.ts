/**
 * Versions change under a working client: up over two minors by one edit, down where etcd can, and back by
 * itself when the first member cannot run what was asked for.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { MemberView } from "../../src/core/view.ts";
import { etcdOf } from "../support/etcd-cluster.ts";
import { LocalChecker } from "../support/local-checker.ts";
import { LocalCluster } from "../support/local-cluster.ts";

/** The figure for an idle machine is 1.0 s (`npm run bench`); a busy one gets three times that. */
const LONGEST_GAP_MS = 3_000;

test("3.5 to 3.7 by one edit of version, and down to 3.6 again: one minor after the other, under the same IDs, writes never stand still for long and none is lost", async (t) => {
  await Promise.all(["3.5.35", "3.6.16", "3.7.3"].map(etcdOf));
  await using local = await LocalCluster.start({
    version: "3.5.35",
    replicas: 3,
    tls: { mode: "Managed" },
    // Less of the log to leave behind before 3.7 (H5).
    options: { snapshotCount: 500 },
  });
  const before = local.view();

  await t.test("up", async (up) => {
    await using checker = await LocalChecker.start(local);
    const from = local.steps.length;
    await local.edit({ version: "3.7.3" });
    const after = await local.settled(120_000);
    const report = await checker.stop();
    up.diagnostic(`${report.writes.acknowledged} writes, longest gap ${gap(report)}`);
    assert.deepEqual(report.violations, []);
    assert.ok(report.longestWriteGapMs <= LONGEST_GAP_MS, gap(report));
    assert.equal(after.observation.etcd.clusterVersion, "3.7");
    assert.deepEqual(versions(after.members), ["3.7.3", "3.7.3", "3.7.3"]);
    assert.deepEqual(ids(after.members), ids(before.members));
    const rolled = local.done(from).filter((step) => step.startsWith("UpdateMember/roll"));
    assert.deepEqual(rolled.length, 6, local.story());
    assert.equal(new Set(rolled.slice(0, 3)).size, 3, "3.6 everywhere before 3.7 anywhere");
  });

  await t.test("down", async (down) => {
    await using checker = await LocalChecker.start(local, { prefix: "down/" });
    const from = local.steps.length;
    await local.edit({ version: "3.6.16" });
    const after = await local.settled(120_000);
    const report = await checker.stop();
    down.diagnostic(`${report.writes.acknowledged} writes, longest gap ${gap(report)}`);
    assert.deepEqual(report.violations, []);
    assert.ok(report.longestWriteGapMs <= LONGEST_GAP_MS, gap(report));
    assert.equal(after.observation.etcd.clusterVersion, "3.6");
    assert.deepEqual(versions(after.members), ["3.6.16", "3.6.16", "3.6.16"]);
    assert.deepEqual(ids(after.members), ids(before.members));
    assert.equal(local.done(from)[0], "EnableDowngrade", "etcd is told before any binary changes (H13)");
  });
});

test("a bad option for the new version: the first member goes back by itself, nobody else is touched, and the next edit is taken", async () => {
  await Promise.all(["3.6.16", "3.7.3"].map(etcdOf));
  await using local = await LocalCluster.start({ version: "3.6.16", replicas: 3 });
  await using checker = await LocalChecker.start(local);
  const before = local.view();
  const started = (names: readonly string[]) => names.map((name) => local.startsOf(name));
  const names = await local.names();

  await local.edit({ version: "3.7.3", options: { extraArgs: { "tls-min-version": "TLS9" } } });
  const back = await local.until(
    "put back",
    (view, { decision }) =>
      decision.holds.some(({ reason }) => reason === "TargetFailed") &&
      view.members.every(({ healthy, upToDate }) => healthy && upToDate),
  );

  const [canary] = local.done().flatMap((step) => /^UpdateMember\/revert (.+)/.exec(step)?.[1] ?? []);
  assert.ok(canary !== undefined, local.story());
  assert.equal(before.leader?.name === canary, false, "a follower tries it first");
  const others = names.filter((name) => name !== canary);
  assert.deepEqual(started(others), [1, 1]);
  assert.deepEqual(versions(back.members), ["3.6.16", "3.6.16", "3.6.16"]);
  const [reported] = local.controller.loop.latest?.decision.holds ?? [];
  assert.match(reported?.message ?? "", new RegExp(`${canary} could not run .* unexpected TLS version`));
  assert.match(reported?.next ?? "", /Correct the spec/);
  const attempts = local.startsOf(canary);
  const report = await checker.stop();
  assert.deepEqual(report.violations, []);

  // Without the option the version is fine.
  await local.edit({ options: {} });
  const after = await local.settled(120_000);
  assert.deepEqual(versions(after.members), ["3.7.3", "3.7.3", "3.7.3"]);
  assert.equal(local.startsOf(canary), attempts + 1);
  assert.deepEqual(ids(after.members), ids(before.members));
});

test("without a canary, a member that cannot run an edit keeps its data, long after it counts as lost, and goes on when the edit is taken back", async () => {
  await using local = await LocalCluster.start({
    version: "3.6.16",
    replicas: 3,
    update: { canary: false },
    repair: { unhealthyAfter: "1s", memberLostAfter: "8s" },
  });
  const before = local.view();
  await local.edit({ options: { extraArgs: { "tls-min-version": "TLS9" } } });
  const kept = await local.until("it was down twice as long as lost members are", (view) =>
    view.members.some(({ unhealthySince = view.now }) => view.now - unhealthySince >= 16_000),
  );
  assert.deepEqual(ids(kept.members), ids(before.members), local.story());
  const holds = local.controller.loop.latest?.decision.holds ?? [];
  const reported = holds.find(({ reason }) => reason === "TargetFailed");
  assert.match(reported?.next ?? "", /^Revert the edit/);
  // With the usual patience: a slow machine may need longer than that to start it.
  await local.edit({ options: {}, repair: {} });
  const after = await local.settled();
  assert.deepEqual(ids(after.members), ids(before.members), local.story());
});

function versions(members: readonly MemberView[]): string[] {
  return members.map(({ answer }) => (answer.reachable ? answer.version : "silent"));
}

function ids(members: readonly MemberView[]): (string | undefined)[] {
  return members.map(({ record }) => record.memberID);
}

function gap({
  longestWriteGapMs,
  longestWriteGapAtMs,
}: {
  longestWriteGapMs: number;
  longestWriteGapAtMs: number;
}) {
  return `${Math.round(longestWriteGapMs)} ms, ${Math.round(longestWriteGapAtMs)} ms after the start`;
}
