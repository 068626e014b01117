import assert from "node:assert/strict";
import { test } from "node:test";
import { decide } from "../decide.ts";
import type { Observation } from "../observation.ts";
import { predict } from "../plan/predict.ts";
import {
  NOW,
  answering,
  asked,
  change,
  edit,
  exited,
  healthy,
  leaderOf,
  record,
  run,
} from "../testing/cluster.ts";
import { says } from "../testing/says.ts";
import { rollout } from "./rollout.ts";

test("an edited spec changes one record, of a follower", () => {
  const world = edit(healthy(), { options: { snapshotCount: 5000 } });
  const { act } = decide(world);
  assert.equal(act?.action.kind === "UpdateMember" && act.action.purpose, "roll");
  assert.notEqual(act?.action.kind === "UpdateMember" && act.action.member, leaderOf(world));
});

test("a rollout names only what differs, in whatever order the fields were written", () => {
  const world = edit(healthy(), { options: { snapshotCount: 5000 } });
  const turned = (value: unknown): unknown =>
    typeof value === "object" && value !== null && !Array.isArray(value)
      ? Object.fromEntries(
          Object.entries(value)
            .toReversed()
            .map(([key, field]) => [key, turned(field)]),
        )
      : value;
  const spec = turned(world.cluster.spec) as typeof world.cluster.spec;
  const { act } = decide({ ...world, cluster: { ...world.cluster, spec } });
  assert.match(act?.message ?? "", /: new options$/);
});

test("the next member waits until the canary has been healthy for a while", () => {
  let world = edit(healthy(), { options: { snapshotCount: 5000 } });
  world = predict(world, decide(world).act!.action);
  world = predict(world, decide(world).act!.action);
  const { act, lookAgainAt } = decide(world);
  assert.equal(act, undefined);
  assert.equal(lookAgainAt, NOW + 3000);
});

test("nothing is rolled while a member is down", () => {
  const { act, holds } = decide(exited(edit(healthy(), { options: { snapshotCount: 5000 } }), "demo-2"));
  assert.equal(act, undefined);
  assert.ok(holds.some((hold) => hold.reason === "MemberUnhealthy"));
});

test("OnApproval waits for exactly this plan", () => {
  const world = edit(healthy(), { options: { snapshotCount: 5000 }, update: { strategy: "OnApproval" } });
  const { act, holds } = decide(world);
  assert.equal(act, undefined);
  assert.equal(holds[0]?.reason, "AwaitingApproval");
  const hash = /approval (\w+)/.exec(holds[0]?.message ?? "")?.[1];
  assert.ok(hash);
  assert.equal(decide({ ...world, cluster: { ...world.cluster, approved: hash } }).act?.rule, "rollout");
  assert.equal(decide({ ...world, cluster: { ...world.cluster, approved: "other" } }).act, undefined);
});

test("our own render version is no reason to restart anybody", () => {
  const world = healthy();
  const older = world.members.map((facts) => ({
    ...facts,
    record: { ...facts.record, template: { ...facts.record.template, renderVersion: 0 } },
  }));
  assert.ok(decide({ ...world, members: older }).converged);
});

test("a grown volume changes records and restarts nobody", () => {
  const world = edit(healthy(), { storage: { size: "20Gi" } });
  const end = run(world);
  for (const [i, facts] of end.members.entries()) {
    assert.equal(facts.record.template.storage.size, "20Gi");
    assert.deepEqual(facts.workload, world.members[i]?.workload);
  }
});

for (const medium of ["Persistent", "Memory"] as const)
  test(`${medium}: other resources reach members that the platform can resize, and restart nobody`, () => {
    const made = healthy({ storage: { medium } });
    const resizable = made.members.map((facts) => ({
      ...facts,
      workload: facts.workload.state === "running" ? { ...facts.workload, resizable: true } : facts.workload,
    }));
    const world = edit({ ...made, members: resizable }, { pod: { resources: { requests: { cpu: "1" } } } });
    const end = run(world);
    assert.deepEqual(
      end.members.map(({ record }) => [record.name, record.template.pod.resources]),
      world.members.map(({ record }) => [record.name, { requests: { cpu: "1" } }]),
    );
    assert.equal(leaderOf(end), leaderOf(world));
    for (const [i, { workload }] of end.members.entries()) {
      const before = world.members[i]?.workload;
      assert.ok(workload.state === "running" && before?.state === "running");
      assert.deepEqual([workload.since, workload.restarts], [before.since, before.restarts]);
      assert.notEqual(workload.startedFrom, before.startedFrom);
    }
  });

test("an older binary waits until every storage version has come down (R15)", () => {
  let world = edit(healthy({ version: "3.7.3" }), { version: "3.6.16" });
  world = predict(world, decide(world).act!.action);
  world = change(world, "demo-2", ({ answer }) => ({
    answer: answer.reachable ? { ...answer, storageVersion: "3.7.0" } : answer,
  }));
  const { act, holds } = decide(world);
  assert.equal(act, undefined);
  assert.equal(holds[0]?.reason, "DowngradePreparing");
});

test("a downgrade taken back midway is cancelled and rolled up again", () => {
  let world = edit(healthy({ version: "3.7.3" }), { version: "3.6.16" });
  for (let i = 0; i < 3; i++) world = predict(world, decide(world).act!.action);
  assert.deepEqual(
    new Set(world.members.map((f) => f.record.template.version)),
    new Set(["3.7.3", "3.6.16"]),
  );
  const back = edit(world, { version: "3.7.3" });
  assert.equal(decide(back).act?.action.kind, "CancelDowngrade");
  assert.ok(run(back).members.every((facts) => facts.record.template.version === "3.7.3"));
});

test("an option that the wanted version does not have is refused, and nothing is rolled or started", () => {
  const wrong = { options: { extraArgs: { "no-such-flag": "1" } } };
  for (const world of [edit(healthy(), wrong), asked(wrong)]) {
    const { act, holds } = decide(world);
    assert.equal(act, undefined);
    assert.equal(holds[0]?.reason, "OptionRefused");
    assert.match(
      holds[0]?.message ?? "",
      /^spec\.options\.extraArgs\.no-such-flag: etcd 3\.6\.16 has no setting/,
    );
    assert.match(holds[0]?.next ?? "", /remove spec\.options\.extraArgs\.no-such-flag/);
  }
});

test("on the way to a version, members do without options that only it has", () => {
  const world = edit(healthy({ version: "3.5.35" }), {
    version: "3.7.3",
    options: { featureGates: { PriorityRequest: true } },
  });
  assert.ok(run(world).members.every((facts) => facts.record.template.version === "3.7.3"));
});

test("a smaller volume is another volume: a swap (I4)", () => {
  const { act } = decide(edit(healthy(), { storage: { size: "5Gi" } }));
  assert.equal(act?.action.kind === "UpdateMember" && act.action.purpose, "retire");
});

test("another name in the certificates restarts nobody (R45)", () => {
  const world = edit(healthy(), { tls: { extraSANs: ["etcd.example.org"] } });
  const end = run(world);
  for (const [i, facts] of end.members.entries())
    assert.deepEqual(facts.workload, world.members[i]?.workload);
});

test("copies are compared before the first member restarts, unless they were lately (R33)", () => {
  const world = edit(healthy(), { options: { snapshotCount: 20_000 } });
  assert.equal(decide(world).act?.action.kind, "UpdateMember");
  const later = { ...world, now: world.now + 600_000 };
  assert.equal(decide(later).act?.action.kind, "CompareHashes");
});

test("an image that holds another version than asked for is reported, and nobody follows it", () => {
  const pinned = (digit: string) => ({ image: { digest: `sha256:${digit.repeat(64)}` } });
  let world = edit(healthy(pinned("a")), pinned("b"));
  world = predict(world, decide(world).act!.action);
  world = predict(world, decide(world).act!.action);
  const canary = world.members.find(
    ({ record }) => record.template.image.digest === pinned("b").image.digest,
  );
  assert.ok(canary);
  world = change(world, canary.record.name, ({ answer }) => ({
    answer: answer.reachable ? { ...answer, version: "3.6.14" } : answer,
  }));
  const later = { ...world, now: world.now + 60_000 };
  const { act, holds, converged } = decide(later);
  assert.equal(act, undefined);
  assert.ok(!converged);
  assert.equal(holds[0]?.reason, "VersionMismatch");
  assert.match(holds[0].message, /^spec\.image: demo-\d runs etcd 3\.6\.14 instead of 3\.6\.16/);
  assert.equal(decide(edit(later, pinned("a"))).act?.rule, "rollout");
});

test("where nobody can say whether a workload can be made from the spec, nobody stops for it and nothing is begun", () => {
  const unverifiedWorkload = "500 no endpoints";
  const world = edit(healthy(), { options: { snapshotCount: 5000 } });
  const { act, holds, converged } = decide({ ...world, platform: { ...world.platform, unverifiedWorkload } });
  assert.deepEqual([act, converged], [undefined, false]);
  assert.deepEqual(
    [holds[0]?.reason, holds[0]?.params, holds[0]?.next],
    ["PodUnverified", { why: unverifiedWorkload }, undefined],
  );
  const first = asked();
  const begun = decide({ ...first, platform: { ...first.platform, unverifiedWorkload } });
  assert.deepEqual([begun.act, begun.holds[0]?.reason], [undefined, "PodUnverified"]);
});

test("nobody stops for tokens that are signed before the key is kept, and newcomers run what the others run", () => {
  const missingTokenKey = "Secret default/demo-auth-token has no key 1 to sign auth tokens with";
  const world = edit(healthy(), { auth: { enabled: false, token: { type: "JWT" } } });
  assert.equal(decide(world).act?.rule, "rollout");
  const { act, holds, converged } = decide({ ...world, platform: { ...world.platform, missingTokenKey } });
  assert.deepEqual([act, converged, holds[0]?.reason], [undefined, false, "TokenKeyMissing"]);
});

test("a spec from which no workload can be made stops nobody, and newcomers run what the others run", () => {
  const refused = "spec.containers[1].image: Required value";
  const world = edit(healthy(), { options: { snapshotCount: 5000 } });
  const platform = { ...world.platform, refusedWorkload: refused };
  const { act, holds } = decide({ ...world, platform });
  assert.equal(act, undefined);
  assert.deepEqual([holds[0]?.reason, holds[0]?.params], ["PodRefused", { why: refused }]);
  const grows = decide({ ...edit(world, { replicas: 5 }), platform });
  assert.ok(grows.act?.action.kind === "CreateMember");
  assert.equal(grows.act.action.record.template.options.snapshotCount, undefined);
  const first = asked();
  const begun = decide({ ...first, platform: { ...first.platform, refusedWorkload: refused } });
  assert.equal(begun.act, undefined);
  assert.equal(begun.holds[0]?.reason, "PodRefused");
});

const three = healthy();

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

test("a rollout waits for whoever is ill, if there is anything to roll or to tell etcd", () => {
  const debug = edit(three, { options: { logLevel: "Debug" } });
  assert.deepEqual(says(rollout, exited(debug, "demo-2")), ["MemberUnhealthy"]);
  assert.deepEqual(says(rollout, exited(three, "demo-2")), []);
  const down = edit(healthy({ version: "3.7.3" }), { version: "3.6.16" });
  assert.deepEqual(says(rollout, down), ["roll: enable downgrade to 3.6.0"]);
  assert.deepEqual(says(rollout, exited(down, "demo-2")), ["MemberUnhealthy"]);
  assert.deepEqual(says(rollout, edit(three, { version: "3.9.0" })), ["VersionRefused"]);
});

test("a downgrade is prepared by etcd before a binary changes, one member's word is enough", () => {
  const down = edit(healthy({ version: "3.7.3" }), { version: "3.6.16" });
  const downgrade = { enabled: true, target: "3.6.0" };
  const reported = answering(down, "demo-2", { downgrade });
  assert.deepEqual(says(rollout, reported), ["DowngradePreparing for 1000 ms"]);
  const spoken = { ...reported, etcd: { ...reported.etcd, clusterVersion: "3.6" } };
  assert.deepEqual(says(rollout, spoken), ["DowngradePreparing for 1000 ms"]);
  const ready = ["demo-1", "demo-2", "demo-3"].reduce<Observation>(
    (o, name) => answering(o, name, { storageVersion: "3.6.0" }),
    spoken,
  );
  assert.deepEqual(says(rollout, ready), ["roll: roll demo-3"]);
  assert.deepEqual(says(rollout, edit(reported, { version: "3.7.3" })), ["revert: cancel downgrade"]);
});

test("the cluster version is waited for once all run the next minor", () => {
  const raised = { ...healthy({ version: "3.7.3" }) };
  const behind = { ...raised, etcd: { ...raised.etcd, clusterVersion: "3.6" } };
  assert.deepEqual(says(rollout, behind), ["ClusterVersionBehind for 1000 ms"]);
  assert.deepEqual(says(rollout, raised), []);
  assert.deepEqual(says(rollout, { ...raised, etcd: { ...raised.etcd, clusterVersion: undefined } }), []);
});

test("the first to run a change is given three seconds, unless nobody asked for a canary", () => {
  let world = edit(three, { options: { logLevel: "Debug" } });
  for (let i = 0; i < 2; i++) world = predict(world, decide(world).act!.action);
  assert.deepEqual(says(rollout, world), ["MemberStarting for 3000 ms"]);
  assert.deepEqual(says(rollout, { ...world, now: NOW + 3_000 }), ["roll: roll demo-2"]);
  assert.deepEqual(says(rollout, edit(world, { update: { canary: false } })), ["roll: roll demo-2"]);
});

test("an image that holds another version than asked for is reported, and nobody follows it", () => {
  const other = answering(three, "demo-3", { version: "3.6.12" });
  assert.deepEqual(says(rollout, other), ["VersionMismatch"]);
  const old = change(other, "demo-3", ({ workload }) => ({
    workload: workload.state === "running" ? { ...workload, startedFrom: "older" } : workload,
  }));
  assert.deepEqual(says(rollout, old), [], "it does not run what its record says yet");
});
