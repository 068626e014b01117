import assert from "node:assert/strict";
import { test } from "node:test";
import { decide } from "../decide.ts";
import type { MemberFacts, Observation } from "../observation.ts";
import { predict } from "../plan/predict.ts";
import { startHash } from "../template/template.ts";
import { NOW, asked, change, edit, exited, healthy, run } from "../testing/cluster.ts";
import { ended, ill } from "../testing/ill.ts";
import { says, words } from "../testing/says.ts";
import { viewOf } from "../view.ts";
import { firstBoot } from "./first-boot.ts";

function after(observation: Observation, passes: number): Observation {
  let world = observation;
  for (let i = 0; i < passes; i++) {
    const { act } = decide(world);
    if (act) world = predict(world, act.action);
  }
  return world;
}

test("every founder has the whole plan and the token of this life", () => {
  const world = after(asked(), 3);
  const plan = world.members[0]?.record.initialCluster;
  assert.equal(plan?.length, 3);
  for (const { record } of world.members) {
    assert.deepEqual(record.initialCluster, plan);
    assert.equal(record.token, "11111111-2222-1");
    assert.equal(record.boot, "New");
  }
});

test("a crash between two founders goes on with the plan of the first, not with an edited spec", () => {
  const world = edit(after(asked(), 1), { replicas: 5 });
  const { act } = decide(world);
  assert.equal(act?.action.kind === "CreateMember" && act.action.record.initialCluster.length, 3);
  assert.equal(run(world).members.length, 5);
});

test("nobody starts before its record names the volume (H2)", () => {
  const world = after(asked(), 3);
  assert.ok(world.members.every((facts) => facts.workload.state === "absent"));
});

test("a volume lost before the cluster was seen ends the attempt: new token, new names, volumes kept (H2)", () => {
  let world = after(asked(), 4);
  world = change(world, "demo-1", { volume: { state: "absent" }, workload: { state: "absent" } });
  const { act } = decide(world);
  assert.deepEqual(act?.action.kind === "MarkCluster" && act.action.purpose, "new-life");
  const end = run(world);
  assert.deepEqual(
    end.members.map((facts) => facts.record.name),
    ["demo-4", "demo-5", "demo-6"],
  );
  assert.ok(end.members.every((facts) => facts.record.token.endsWith("-2")));
});

test("so does a volume that is found empty after it was used (H2)", () => {
  const world = exited(after(asked(), 4), "demo-1", "data-missing");
  const { act } = decide(world);
  assert.equal(act?.action.kind === "MarkCluster" && act.action.purpose, "new-life");
  assert.ok(run(world).members.every((facts) => facts.record.token.endsWith("-2")));
});

test("so does a founder whose data cannot be read any more: nobody was let in to write any (H2)", () => {
  const world = exited(after(asked(), 4), "demo-1", "data-corrupt");
  const { act } = decide(world);
  assert.equal(act?.action.kind === "MarkCluster" && act.action.purpose, "new-life");
  assert.ok(run(world).members.every((facts) => facts.record.token.endsWith("-2")));
});

test("so does a founder whom its peers know although its volume is empty: without it there may be no quorum (H2)", () => {
  const world = exited(after(asked({ replicas: 2 }), 3), "demo-1", "already-bootstrapped");
  const { act } = decide(world);
  assert.equal(act?.action.kind === "MarkCluster" && act.action.purpose, "new-life");
  assert.ok(run(world).members.every((facts) => facts.record.token.endsWith("-2")));
});

test("a volume lost while the other founders serve everybody but us ends nothing (H16)", () => {
  let world = after(asked(), 6);
  const { list: _list, clusterVersion: _version, ...etcd } = world.etcd;
  world = { ...world, etcd };
  for (const { record } of world.members)
    world = change(world, record.name, {
      workload: { state: "running", since: 0, startedFrom: startHash(record), restarts: 0, ready: true },
      answer: { reachable: false, error: "timed out", cause: "network" },
    });
  world = change(world, "demo-1", { volume: { state: "absent" }, workload: { state: "absent" } });
  assert.deepEqual(says(firstBoot, world), ["Booting"]);
  const { act, holds } = decide(world);
  assert.equal(act, undefined);
  assert.ok(holds.some(({ reason }) => reason === "EtcdUnreachable"));
});

test("a refused version starts nothing and says why", () => {
  for (const [version, reason] of [
    ["3.4.45", /end of life/],
    ["3.5.16", /lose data/],
    ["3.9.1", /not supported/],
  ] as const) {
    const { act, holds, converged } = decide(asked({ version }));
    assert.equal(act, undefined);
    assert.equal(converged, false);
    assert.equal(holds[0]?.reason, "VersionRefused");
    assert.match(holds[0]?.message ?? "", reason);
    assert.ok(holds[0]?.next);
  }
});

test("a version the platform cannot get starts nothing", () => {
  const world = asked({ version: "3.6.99" });
  const { holds } = decide({
    ...world,
    platform: { ...world.platform, unavailableVersions: { "3.6.99": "no such release" } },
  });
  assert.match(holds[0]?.message ?? "", /3\.6\.99 is not available: no such release/);
});

test("without addresses nothing is begun half", () => {
  const world = asked();
  const { act, holds } = decide({
    ...world,
    platform: { ...world.platform, offers: world.platform.offers.slice(0, 2) },
  });
  assert.equal(act, undefined);
  assert.equal(holds[0]?.reason, "NoAddress");
});

test("a founder whose volume came late starts even while quorum is lost", () => {
  let world = healthy();
  world = change(world, "demo-3", ({ record }) => ({
    record: { ...record, joined: false, memberID: undefined, volumeUID: undefined },
    workload: { state: "absent" },
    answer: { reachable: false, error: "not running" },
  }));
  const { list, ...etcd } = exited(world, "demo-2").etcd;
  assert.ok(list);
  const { act } = decide({
    ...exited(world, "demo-2"),
    etcd: { ...etcd, list: { ...list, linearizable: false } },
  });
  assert.equal(act?.action.kind === "UpdateMember" && act.action.purpose, "permit-start");
});

test("a version that is being fetched is waited for, and is nobody's fault", () => {
  const world = asked();
  const platform = { ...world.platform, arrivingVersions: { "3.6.16": "compiling" } };
  const { act, holds } = decide({ ...world, platform });
  assert.equal(act, undefined);
  assert.equal(holds[0]?.reason, "VersionArriving");
  assert.equal(holds[0]?.next, undefined);
});

test("a volume that never comes is waited for with its reason, until the spec asks for another", () => {
  let world = after(asked({ storage: { className: "no-such" } }), 3);
  for (const name of ["demo-1", "demo-2", "demo-3"])
    world = change(world, name, { volume: { state: "pending", reason: "no such class", uid: `c-${name}` } });
  const { act, holds } = decide(world);
  assert.equal(act, undefined);
  assert.match(holds[0]?.message ?? "", /^waiting for the volume of demo-1: no such class$/);
  const end = run(edit(world, { storage: { className: "fast" } }));
  assert.deepEqual(
    end.members.map(({ record }) => [record.name, record.template.storage.className]),
    [4, 5, 6].map((ordinal) => [`demo-${ordinal}`, "fast"]),
  );
});

test("what keeps the first members from starting is reported when it lasts, and a corrected spec reaches them", () => {
  let world = after(asked({ image: { repository: "nowhere" } }), 6);
  for (const name of ["demo-1", "demo-2", "demo-3"])
    world = change(world, name, ({ record }) => ({
      workload: {
        state: "waiting",
        reason: "ErrImagePull: no such image",
        since: world.now,
        startedFrom: startHash(record),
      },
      answer: { reachable: false, error: "no process runs" },
      unhealthySince: world.now,
    }));
  const { list: _none, ...etcd } = world.etcd;
  world = { ...world, etcd };
  assert.doesNotMatch(decide(world).holds[0]?.message ?? "", /cannot start/);
  const later = { ...world, now: world.now + 3 * 60_000 };
  assert.match(
    decide(later).holds[0]?.message ?? "",
    /\(demo-1 cannot start: ErrImagePull: no such image\)$/,
  );
  const { act } = decide(edit(later, { image: {} }));
  assert.equal(act?.action.kind === "UpdateMember" && act.action.purpose, "revert");
});

const three = healthy();
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
