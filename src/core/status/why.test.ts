import assert from "node:assert/strict";
import { test } from "node:test";
import { decide } from "../decide.ts";
import type { Observation } from "../observation.ts";
import { templateFor, templateHash } from "../template/template.ts";
import { change, edit, exited, healthy, run } from "../testing/cluster.ts";
import { status } from "../testing/status.ts";
import { why } from "./why.ts";

const MIB = 1024 ** 2;

/** All that `why` says, in the order in which it is shown. */
function reported(observation: Observation): string {
  const { summary, reasons, then } = why(decide(observation));
  return [summary, ...reasons.flatMap(({ message, next }) => [message, next ?? ""]), ...then].join("\n");
}

function withMarks(o: Observation, marks: Partial<Observation["cluster"]["marks"]>): Observation {
  return { ...o, cluster: { ...o.cluster, marks: { ...o.cluster.marks, ...marks } } };
}

function full(): Observation {
  const world = healthy({ options: { quotaBackendBytes: "16Mi" } });
  const members = world.members.map((facts) => ({
    ...facts,
    answer: facts.answer.reachable
      ? { ...facts.answer, dbSize: 16 * MIB, dbSizeInUse: 15.9 * MIB }
      : facts.answer,
  }));
  const alarms = [{ memberID: "id-of-demo-1", alarm: "NOSPACE" as const }];
  return { ...world, members, etcd: { ...world.etcd, alarms, compacted: { revision: 50, at: world.now } } };
}

function allDiffer(): Observation {
  const world = healthy();
  const byMember = Object.fromEntries(
    world.members.map(({ record }, index) => [record.name, { hash: index, compactRevision: 0 }]),
  );
  const alarms = [{ memberID: "0", alarm: "CORRUPT" as const }];
  return {
    ...world,
    etcd: { ...world.etcd, alarms, hashes: { at: world.now, revision: 9, byMember } },
  };
}

function failedCanary(): Observation {
  const world = edit(healthy(), { options: { logLevel: "Debug" } });
  const { spec } = world.cluster;
  const hash = templateHash(templateFor(spec, spec.version));
  return withMarks(world, { failedTarget: { hash, member: "demo-3", reason: "unexpected TLS version" } });
}

/** A newcomer that serves and is far behind. */
function behind(): Observation {
  const world = run(edit(healthy(), { replicas: 4 }));
  const list = world.etcd.list;
  assert.ok(list);
  const members = list.members.map((entry) =>
    entry.name === "demo-4" ? { ...entry, isLearner: true } : entry,
  );
  const lagging = change(
    { ...world, etcd: { ...world.etcd, list: { ...list, members } } },
    "demo-4",
    (facts) =>
      facts.answer.reachable
        ? { answer: { ...facts.answer, isLearner: true, linearizable: false, raftAppliedIndex: 0 } }
        : {},
  );
  return {
    ...lagging,
    members: lagging.members.map((facts) => ({
      ...facts,
      answer: facts.answer.reachable ? { ...facts.answer, raftIndex: 1_000_000 } : facts.answer,
    })),
  };
}

const SITUATIONS: readonly (readonly [
  what: string,
  observation: () => Observation,
  cause: RegExp,
  next: RegExp,
])[] = [
  ["paused", () => edit(healthy(), { replicas: 5, paused: true }), /paused/, /Set spec\.paused to false/],
  [
    "a version that nobody knows",
    () => edit(healthy(), { version: "3.9.1" }),
    /etcd 3\.9 is not supported/,
    /Set spec\.version to a release of 3\.5, 3\.6, 3\.7/,
  ],
  [
    "an option that this version does not have",
    () => edit(healthy(), { options: { extraArgs: { "no-such-flag": "1" } } }),
    /etcd 3\.6\.16 has no setting no-such-flag/,
    /Correct or remove spec\.options\.extraArgs\.no-such-flag/,
  ],
  [
    "a member is down",
    () => exited(healthy(), "demo-2"),
    /demo-2 is down \(killed\)/,
    /it will be replaced at 15:11:40 UTC unless it recovers/,
  ],
  [
    "quorum is lost for good",
    () => exited(exited(healthy(), "demo-1", "data-missing"), "demo-2", "data-missing"),
    /quorum is permanently lost: demo-1, demo-2 lost their data/,
    /Recover from a surviving member or restore a snapshot/,
  ],
  [
    "all data is gone",
    () =>
      ["demo-1", "demo-2", "demo-3"].reduce((world, name) => exited(world, name, "data-missing"), healthy()),
    /all 3 voters lost their data/,
    /Restore a snapshot into this cluster/,
  ],
  [
    "replacing is turned off",
    () => exited(healthy({ repair: { maxReplacementsPerHour: 0 } }), "demo-2", "data-missing"),
    /demo-2 is not replaced \(it lost its data\): spec\.repair\.maxReplacementsPerHour is 0/,
    /raise spec\.repair\.maxReplacementsPerHour/,
  ],
  [
    "a rollout waits for approval",
    () =>
      edit(healthy({ update: { strategy: "OnApproval" } }), {
        update: { strategy: "OnApproval" },
        options: { logLevel: "Debug" },
      }),
    /a rollout is ready and waits for approval/,
    /run kubectl etcd approve demo [0-9a-f]+ -n default, or annotate the EtcdCluster with /,
  ],
  [
    "the first member could not run the change",
    failedCanary,
    /demo-3 could not run what the spec asks for and was rolled back: unexpected TLS version/,
    /Correct the spec/,
  ],
  [
    "live data fills the quota",
    full,
    /live data fills the quota.*quota 16 MiB/,
    /Delete keys, or raise spec\.options\.quotaBackendBytes/,
  ],
  [
    "all members hold different data",
    allDiffer,
    /no majority agrees/,
    /restore from it or from a verified snapshot/,
  ],
  ["a learner does not catch up", behind, /demo-4/, /behind|catch/],
  [
    "no address is left",
    () => {
      const world = edit(healthy(), { replicas: 5 });
      return { ...world, platform: { ...world.platform, offers: [] } };
    },
    /no address is available for another member/,
    /Free some ports/,
  ],
  [
    "somebody else's object has our name",
    () => {
      const world = edit(healthy(), { replicas: 5 });
      return {
        ...world,
        platform: { ...world.platform, clashes: [{ object: "Service demo", concerns: "cluster" }] },
      };
    },
    /Service demo/,
    /Rename or delete the other object/,
  ],
];

for (const [what, observation, cause, next] of SITUATIONS) {
  test(`why, when ${what}: the cause and what comes next`, () => {
    const text = reported(observation());
    assert.match(text, cause);
    assert.match(text, next);
    assert.doesNotMatch(text, /undefined|Nothing to do|In progress/);
  });
}

test("why, when all is well: nothing to do", () => {
  assert.equal(reported(healthy()), "Nothing to do: the cluster matches its spec.");
});

test("what a person can approve is told as data, and in the words of the platform", () => {
  const world = edit(healthy({ update: { strategy: "OnApproval" } }), { options: { logLevel: "Warn" } });
  const [hold] = decide(world).holds.filter(({ approval }) => approval);
  const { word = "", by } = hold?.approval ?? {};
  assert.deepEqual(by, { platform: "kubernetes", namespace: "default" });
  assert.deepEqual(
    status(world).approvals?.map(({ approval }) => approval),
    [word],
  );
  const machine = { command: "npm run quorate --", dir: "/data/my cluster" };
  const local = { ...world, platform: { ...world.platform, machine } };
  const [wait] = decide(local).holds.filter(({ approval }) => approval);
  assert.match(
    wait?.next ?? "",
    new RegExp(`run npm run quorate -- local approve ${word} --dir "/data/my cluster"\\.$`),
  );
});
