/** Situations and what the status says of them, as a table to be read. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { etcdClusterStatusSchema, type EtcdClusterStatus } from "../../api/etcd-cluster-status.ts";
import { decide } from "../decide.ts";
import type { Observation } from "../observation.ts";
import { statusOf, type GivenStatus } from "./status.ts";
import { asked, change, edit, exited, healthy, leaderOf, NOW } from "../testing/cluster.ts";

const IN_PLACE: GivenStatus = { certificates: { problems: [], expiry: { "demo-1": NOW + 86_400_000 } } };

function status(
  o: Observation,
  previous?: EtcdClusterStatus,
  given: GivenStatus = IN_PLACE,
): EtcdClusterStatus {
  const result = statusOf(o, decide(o), previous, given);
  assert.deepEqual(etcdClusterStatusSchema.parse(result), result, "the schema knows every field");
  return result;
}

function of(result: EtcdClusterStatus, type: string) {
  const found = result.conditions?.find((known) => known.type === type);
  return found ?? assert.fail(`no condition ${type}`);
}

/** "True Quorum" for each condition. */
function summary(result: EtcdClusterStatus): Record<string, string> {
  return Object.fromEntries((result.conditions ?? []).map((c) => [c.type, `${c.status} ${c.reason}`]));
}

const down = (o: Observation, ...names: string[]) => names.reduce((world, name) => exited(world, name), o);
const alarm = (o: Observation, kind: "NOSPACE" | "CORRUPT", memberID = "0"): Observation => ({
  ...o,
  etcd: { ...o.etcd, alarms: [{ memberID, alarm: kind }] },
});
/** What is seen when no quorum answers: no list confirmed, no linearizable read. */
const unquorate = (o: Observation): Observation => ({
  ...o,
  etcd: { ...o.etcd, list: o.etcd.list && { ...o.etcd.list, linearizable: false } },
  members: o.members.map((facts) =>
    facts.answer.reachable
      ? { ...facts, answer: { ...facts.answer, leaderID: "0", linearizable: false } }
      : facts,
  ),
});
const silent = (o: Observation): Observation => ({ ...o, etcd: { ...o.etcd, list: undefined } });
const filled = (o: Observation, used: number, file = used): Observation => ({
  ...o,
  members: o.members.map((facts) =>
    facts.answer.reachable
      ? {
          ...facts,
          answer: {
            ...facts.answer,
            dbSize: Math.floor(file * 2 ** 31),
            dbSizeInUse: Math.floor(used * 2 ** 31),
          },
        }
      : facts,
  ),
});

const well = {
  Available: "True Quorum",
  Progressing: "False Converged",
  Degraded: "False AllHealthy",
  Quorate: "True Quorum",
  TLSReady: "True Issued",
  SpaceLow: "False Room",
  Corrupt: "False NoDifference",
};

const asleep = (): Observation => {
  const told = edit(healthy(), { replicas: 0 });
  const members = told.members.map((facts) => ({
    ...facts,
    record: { ...facts.record, run: false },
    workload: { state: "absent" as const },
    answer: { reachable: false as const, error: "not running" },
  }));
  return silent({ ...told, members });
};

const rows: readonly [
  situation: string,
  world: () => Observation,
  conditions: Record<string, string>,
  RegExp,
][] = [
  ["three healthy members", healthy, well, /^Healthy: 3 of 3 voters are healthy, all run etcd 3\.6\.16\.$/],
  [
    "only asked for",
    asked,
    {
      Available: "False Booting",
      Progressing: "True Joining",
      Degraded: "False Booting",
      Quorate: "False Booting",
      SpaceLow: "Unknown NotObserved",
      Corrupt: "Unknown NotObserved",
    },
    /^Growing: demo-1 is one of the 3 first members\.$/,
  ],
  [
    "a version that is refused",
    () => asked({ version: "3.4.45" }),
    { Available: "False Booting", Progressing: "False VersionRefused" },
    /^Needs attention: etcd 3\.4 is end of life.*Choose a version/,
  ],
  [
    "one of three down",
    () => down(healthy(), "demo-2"),
    { ...well, Progressing: "True MemberUnhealthy", Degraded: "True MemberDown" },
    /^Waiting: demo-2 is not healthy/,
  ],
  [
    "two of three down: quorum may return",
    () => unquorate(down(healthy(), "demo-2", "demo-3")),
    {
      Available: "False NoQuorum",
      Progressing: "True Waking",
      Degraded: "True NoQuorum",
      Quorate: "False NoQuorum",
      Corrupt: "Unknown NotObserved",
    },
    /^Waiting: [01] of 3 voters are healthy and 2 are needed/,
  ],
  [
    "two of three without their data: quorum is lost for good",
    () => {
      const gone = (o: Observation, name: string) => exited(o, name, "data-missing");
      return unquorate(gone(gone(healthy(), "demo-2"), "demo-3"));
    },
    {
      Available: "False QuorumLost",
      Progressing: "False QuorumLost",
      Degraded: "True QuorumLost",
      Quorate: "False QuorumLost",
    },
    /^Needs attention: quorum is lost for good.*restore a snapshot/i,
  ],
  [
    "all wiped: the data is gone, and nothing starts over",
    () => {
      const names = ["demo-1", "demo-2", "demo-3"];
      return silent(names.reduce((o, name) => exited(o, name, "data-missing"), healthy()));
    },
    { Available: "False DataGone", Degraded: "True DataGone", Quorate: "False DataGone" },
    /the data of all 3 voters is gone/,
  ],
  [
    "hibernated",
    asleep,
    {
      Available: "False Hibernated",
      Progressing: "False Hibernated",
      Degraded: "False Hibernated",
      Quorate: "False Hibernated",
    },
    /^Hibernated; the data of 3 members is kept\.$/,
  ],
  [
    "told to hibernate, still serving",
    () => edit(healthy(), { replicas: 0 }),
    { Available: "True Quorum", Progressing: "True LifeCycle", Degraded: "False Hibernated" },
    /^Changing state: spec\.replicas is 0/,
  ],
  [
    "paused with one down",
    () => edit(down(healthy(), "demo-2"), { paused: true }),
    { Available: "True Quorum", Progressing: "False Paused", Degraded: "True MemberDown" },
    /^Paused; 2 of 3 voters are healthy\.$/,
  ],
  [
    "a full quota",
    () => alarm(filled(healthy(), 0.99), "NOSPACE"),
    {
      Available: "False NoSpace",
      Degraded: "True NoSpace",
      SpaceLow: "True NoSpace",
      Quorate: "True Quorum",
    },
    /^Healing: the database is full/,
  ],
  [
    "data near the quota",
    () => filled(healthy(), 0.85),
    { ...well, SpaceLow: "True DataNearQuota" },
    /^Healthy/,
  ],
  [
    "a corrupt member that is not found yet",
    () => alarm(healthy(), "CORRUPT"),
    { Available: "False Corrupt", Degraded: "True Corrupt", Corrupt: "True Corrupt", Quorate: "True Quorum" },
    /./,
  ],
  [
    "a member whose data cannot be read",
    () => exited(healthy(), "demo-3", "data-corrupt"),
    { Available: "True Quorum", Degraded: "True Unreadable", Corrupt: "True Unreadable" },
    /^Healing: demo-3 is replaced: its data is corrupt\.$/,
  ],
  [
    "a rollout that begins",
    () => edit(healthy(), { options: { logLevel: "Debug" } }),
    { ...well, Progressing: "True RollingOut" },
    /^Rolling out: demo-\d: new options\.$/,
  ],
  [
    "being deleted",
    () => {
      const o = healthy();
      return { ...o, cluster: { ...o.cluster, deleting: true } };
    },
    { Available: "True Quorum", Degraded: "False Deleting", Progressing: "True LifeCycle" },
    /^Being deleted: the cluster is being deleted\.$/,
  ],
  [
    "TLS turned off",
    () => healthy({ tls: { mode: "Disabled" } }),
    { ...well, TLSReady: "False Disabled" },
    /^Healthy/,
  ],
];

describe("what the conditions say", () => {
  for (const [situation, world, conditions, phase] of rows) {
    test(situation, () => {
      const result = status(world());
      const said = summary(result);
      for (const [type, expected] of Object.entries(conditions)) assert.equal(said[type], expected, type);
      assert.match(result.phase ?? "", phase);
      for (const known of result.conditions ?? []) {
        assert.match(known.message, /\.$/, `${known.type} is a sentence`);
        assert.equal(known.observedGeneration, world().cluster.generation);
      }
    });
  }
});

describe("times of transition", () => {
  const later = (o: Observation, ms: number): Observation => ({ ...o, now: o.now + ms });

  test("are kept while the status of a condition stays, also when its reason changes", () => {
    const first = status(healthy());
    const then = status(later(edit(healthy(), { paused: true }), 60_000), first);
    assert.equal(of(then, "Progressing").reason, "Paused");
    assert.equal(of(then, "Progressing").lastTransitionTime, of(first, "Progressing").lastTransitionTime);
  });

  test("move when it changes", () => {
    const first = status(healthy());
    const then = status(later(down(healthy(), "demo-2"), 60_000), first);
    assert.notEqual(of(then, "Degraded").lastTransitionTime, of(first, "Degraded").lastTransitionTime);
    assert.equal(of(then, "Available").lastTransitionTime, of(first, "Available").lastTransitionTime);
  });
});

describe("the progress deadline", () => {
  const at = (o: Observation, now: number, progressAt: number): Observation => ({
    ...o,
    now,
    platform: { ...o.platform, progressAt },
  });
  const waiting = () => unquorate(down(healthy(), "demo-2", "demo-3"));

  test("passes only after that long without progress; work goes on", () => {
    const began = status(at(waiting(), NOW, NOW));
    assert.equal(summary(began)["Progressing"], "True Waking");
    const soon = status(at(waiting(), NOW + 599_000, NOW), began);
    assert.equal(of(soon, "Progressing").status, "True");
    const over = status(at(waiting(), NOW + 600_000, NOW), soon);
    assert.equal(summary(over)["Progressing"], "False DeadlineExceeded");
    assert.match(of(over, "Progressing").message, /^No progress for 600 s, work goes on: .*waiting for/);
    const still = status(at(waiting(), NOW + 900_000, NOW), over);
    assert.match(of(still, "Progressing").message, /^No progress for 900 s/);
  });

  test("begins anew when something moves, or the spec changes", () => {
    const over = status(at(waiting(), NOW + 600_000, NOW), status(at(waiting(), NOW, NOW)));
    const moved = status(at(waiting(), NOW + 601_000, NOW + 600_900), over);
    assert.equal(of(moved, "Progressing").status, "True");
    const edited = status(at(edit(waiting(), { replicas: 5 }), NOW + 601_000, NOW), over);
    assert.equal(of(edited, "Progressing").status, "True");
  });

  test("does not count the time that the cluster was at rest", () => {
    const rest = status(at(healthy(), NOW, NOW - 86_400_000));
    assert.equal(summary(rest)["Progressing"], "False Converged");
    const broken = status(at(waiting(), NOW + 1000, NOW - 86_400_000), rest);
    assert.equal(of(broken, "Progressing").status, "True");
  });

  test("does not pass for what only a person can end", () => {
    const paused = at(edit(healthy(), { paused: true }), NOW + 9_000_000, NOW);
    assert.equal(summary(status(paused, status(at(paused, NOW, NOW))))["Progressing"], "False Paused");
  });
});

describe("the other fields", () => {
  test("count voters, name the leader and the versions, and list the clients' URLs", () => {
    const o = healthy({ learners: 1 });
    const result = status(o, undefined, {
      ...IN_PLACE,
      nodes: { "demo-1": "n1" },
      selector: "role=voter",
      warnings: ["spec.replicas: even"],
      notApplicable: ["spec.pod"],
    });
    assert.deepEqual(
      [result.replicas, result.readyReplicas, result.updatedReplicas, result.leader],
      [3, 3, 3, leaderOf(o)],
    );
    assert.deepEqual(result.version, { current: "3.6.16" });
    assert.deepEqual(
      result.endpoints,
      [1, 2, 3].map((n) => `https://demo-${n}.demo:2379`),
    );
    assert.equal(result.selector, "role=voter");
    assert.deepEqual(result.warnings, ["spec.replicas: even"]);
    assert.deepEqual(result.notApplicable, ["spec.pod"]);
    const roles = result.members?.map(({ role }) => role).toSorted();
    assert.deepEqual(roles, ["Follower", "Follower", "Leader", "Learner"]);
    assert.equal(result.members?.[0]?.node, "n1");
    assert.match(result.members?.[0]?.certExpiry ?? "", /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
  });

  test("name the version that is rolled out next, until it is reached", () => {
    const upgrade = edit(healthy(), { version: "3.7.3" });
    assert.deepEqual(status(upgrade).version, { current: "3.6.16", target: "3.7.3" });
    assert.equal(status(upgrade).updatedReplicas, 0);
    assert.deepEqual(status(edit(healthy(), { version: "3.9.0" })).version, { current: "3.6.16" });
  });

  test("keep the highest revision ever seen", () => {
    const first = status(
      change(healthy(), "demo-1", (f) => ({ answer: { ...f.answer, revision: 900 } as never })),
    );
    assert.equal(first.revision, 900);
    assert.equal(status(silent(healthy()), first).revision, 900);
  });

  test("tell of an alarm at the member that has it", () => {
    const o = healthy();
    const id = o.etcd.list?.members[1]?.id ?? "";
    const member = status(alarm(o, "NOSPACE", id)).members?.find((known) => known.id === id);
    assert.deepEqual([member?.healthy, member?.alarms], [false, ["NOSPACE"]]);
  });

  test("tell what the platform could not do, and why a step failed", () => {
    const problem = status(healthy(), undefined, { ...IN_PLACE, problems: ["port 2379 is taken by pid 7"] });
    assert.equal(of(problem, "Degraded").message, "Port 2379 is taken by pid 7.");
    const roll = edit(healthy(), { options: { logLevel: "Debug" } });
    const failed = status(roll, undefined, { ...IN_PLACE, failure: "disk full" });
    assert.match(of(failed, "Progressing").message, /the last try failed: disk full/);
  });

  test("say which certificates are wrong", () => {
    const expired = { certificates: { problems: [], expiry: { "demo-2": NOW - 1 } } };
    assert.equal(summary(status(healthy(), undefined, expired))["TLSReady"], "False Expired");
    const broken = { certificates: { problems: ["the CA has no key"], expiry: {} } };
    assert.equal(of(status(healthy(), undefined, broken), "TLSReady").message, "The CA has no key.");
    assert.equal(summary(status(healthy(), undefined, {}))["TLSReady"], "Unknown NotObserved");
  });

  test("low space is over only when there is clearly room again", () => {
    const low = status(filled(healthy(), 0.81));
    assert.equal(of(status(filled(healthy(), 0.75), low), "SpaceLow").status, "True");
    assert.equal(of(status(filled(healthy(), 0.65), low), "SpaceLow").status, "False");
    assert.equal(summary(status(filled(healthy(), 0.3, 0.97)))["SpaceLow"], "True FileNearQuota");
  });
});
