/** Situations and what the status says of them, as a table to be read. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { ClusterPhase } from "../../api/status-words.ts";
import type { Observation } from "../observation.ts";
import { asked, edit, exited, healthy, NOW } from "../testing/cluster.ts";
import { alarm, down, filled, of, silent, status, summary, unquorate } from "../testing/status.ts";

const well = {
  Ready: "True Converged",
  Reconciling: "False Converged",
  Stalled: "False Converged",
  Available: "True Quorum",
  Degraded: "False AllHealthy",
  Quorate: "True Quorum",
  TLSReady: "True Issued",
  SpaceLow: "False Room",
  Corrupt: "False NoDifference",
};

const asleep = (): Observation => {
  const reported = edit(healthy(), { replicas: 0 });
  const members = reported.members.map((facts) => ({
    ...facts,
    record: { ...facts.record, run: false },
    workload: { state: "absent" as const },
    answer: { reachable: false as const, error: "not running" },
  }));
  return silent({ ...reported, members });
};

const rows: readonly [
  situation: string,
  world: () => Observation,
  conditions: Record<string, string>,
  phase: ClusterPhase,
  message: RegExp,
][] = [
  [
    "three healthy members",
    healthy,
    well,
    "Healthy",
    /^The cluster matches its spec: 3 of 3 voters healthy, running etcd 3\.6\.16\.$/,
  ],
  [
    "only asked for",
    asked,
    {
      Available: "False Booting",
      Ready: "False Joining",
      Reconciling: "True Joining",
      Stalled: "False Joining",
      Degraded: "False Booting",
      Quorate: "False Booting",
      SpaceLow: "Unknown NotObserved",
      Corrupt: "Unknown NotObserved",
    },
    "Creating",
    /^demo-1 is one of the 3 initial members\.$/,
  ],
  [
    "a version that is refused",
    () => asked({ version: "3.4.45" }),
    {
      Available: "False Booting",
      Ready: "False VersionRefused",
      Reconciling: "False VersionRefused",
      Stalled: "True VersionRefused",
    },
    "Stalled",
    /^etcd 3\.4 is end of life.*Set spec\.version/,
  ],
  [
    "one of three down",
    () => down(healthy(), "demo-2"),
    {
      ...well,
      Ready: "False MemberUnhealthy",
      Reconciling: "True MemberUnhealthy",
      Stalled: "False MemberUnhealthy",
      Degraded: "True MemberDown",
    },
    "Degraded",
    /^demo-2 is down/,
  ],
  [
    "two of three down: quorum may return",
    () => unquorate(down(healthy(), "demo-2", "demo-3")),
    {
      Available: "False NoQuorum",
      Ready: "False NoQuorum",
      Reconciling: "True Waking",
      Degraded: "True NoQuorum",
      Quorate: "False NoQuorum",
      Corrupt: "Unknown NotObserved",
    },
    "NoQuorum",
    /^[01] of 3 voters healthy, 2 needed/,
  ],
  [
    "two of three without their data: quorum is lost for good",
    () => {
      const gone = (o: Observation, name: string) => exited(o, name, "data-missing");
      return unquorate(gone(gone(healthy(), "demo-2"), "demo-3"));
    },
    {
      Available: "False QuorumLost",
      Ready: "False QuorumLost",
      Reconciling: "False QuorumLost",
      Stalled: "True QuorumLost",
      Degraded: "True QuorumLost",
      Quorate: "False QuorumLost",
    },
    "NoQuorum",
    /^Quorum is permanently lost.*restore a snapshot/i,
  ],
  [
    "all wiped: the data is gone, and nothing starts over",
    () => {
      const names = ["demo-1", "demo-2", "demo-3"];
      return silent(names.reduce((o, name) => exited(o, name, "data-missing"), healthy()));
    },
    {
      Available: "False DataGone",
      Degraded: "True DataGone",
      Quorate: "False DataGone",
      Stalled: "True DataGone",
    },
    "NoQuorum",
    /^Not bootstrapping an empty cluster: all 3 voters lost their data/,
  ],
  [
    "hibernated",
    asleep,
    {
      Available: "False Hibernated",
      Ready: "False Hibernated",
      Reconciling: "False Hibernated",
      Stalled: "False Hibernated",
      Degraded: "False Hibernated",
      Quorate: "False Hibernated",
    },
    "Hibernated",
    /^Hibernated; the data of 3 members is retained\./,
  ],
  [
    "told to hibernate, still serving",
    () => edit(healthy(), { replicas: 0 }),
    {
      Available: "True Quorum",
      Ready: "False Hibernated",
      Reconciling: "True LifeCycle",
      Degraded: "False Hibernated",
    },
    "Hibernating",
    /^spec\.replicas is 0/,
  ],
  [
    "paused with one down",
    () => edit(down(healthy(), "demo-2"), { paused: true }),
    {
      Available: "True Quorum",
      Ready: "False Paused",
      Reconciling: "False Paused",
      Stalled: "False Paused",
      Degraded: "True MemberDown",
    },
    "Paused",
    /^spec\.paused is true.*\. 2 of 3 voters healthy/,
  ],
  [
    "paused without quorum: nothing goes on by itself, and a person has to end the pause",
    () => edit(unquorate(down(healthy(), "demo-2", "demo-3")), { paused: true }),
    {
      Ready: "False NoQuorum",
      Reconciling: "False Paused",
      Stalled: "True Paused",
      Quorate: "False NoQuorum",
    },
    "Paused",
    /waiting for demo-1, demo-2, demo-3/,
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
    "Healing",
    /^The database is full/,
  ],
  [
    "data near the quota",
    () => filled(healthy(), 0.85),
    { ...well, SpaceLow: "True DataNearQuota" },
    "Healthy",
    /./,
  ],
  [
    "a corrupt member that is not found yet",
    () => alarm(healthy(), "CORRUPT"),
    { Available: "False Corrupt", Degraded: "True Corrupt", Corrupt: "True Corrupt", Quorate: "True Quorum" },
    "Stalled",
    /./,
  ],
  [
    "a member whose data cannot be read",
    () => exited(healthy(), "demo-3", "data-corrupt"),
    { Available: "True Quorum", Degraded: "True Unreadable", Corrupt: "True Unreadable" },
    "Healing",
    /^Replacing demo-3: its data is corrupt\.$/,
  ],
  [
    "a rollout that begins",
    () => edit(healthy(), { options: { logLevel: "Debug" } }),
    {
      ...well,
      Ready: "False RollingOut",
      Reconciling: "True RollingOut",
      Stalled: "False RollingOut",
    },
    "RollingOut",
    /^demo-\d: new options\.$/,
  ],
  [
    "being deleted",
    () => {
      const o = healthy();
      return { ...o, cluster: { ...o.cluster, deleting: true } };
    },
    {
      Available: "True Quorum",
      Degraded: "False Deleting",
      Ready: "False Deleting",
      Reconciling: "True LifeCycle",
    },
    "Deleting",
    /^The cluster is being deleted\.$/,
  ],
  [
    "TLS turned off",
    () => healthy({ tls: { mode: "Disabled" } }),
    { ...well, TLSReady: "False Disabled" },
    "Healthy",
    /./,
  ],
];

describe("what the conditions say", () => {
  for (const [situation, world, conditions, phase, message] of rows) {
    test(situation, () => {
      const result = status(world());
      const said = summary(result);
      for (const [type, expected] of Object.entries(conditions)) assert.equal(said[type], expected, type);
      assert.equal(result.phase, phase);
      assert.match(result.message ?? "", message);
      assert.equal(result.message, of(result, "Ready").message, "one sentence for both");
      const abnormal = ["Reconciling", "Stalled"].filter((type) => of(result, type).status === "True");
      assert.ok(abnormal.length <= 1, "kstatus reads the first of the two that it finds");
      if (abnormal.length > 0) assert.notEqual(of(result, "Ready").status, "True");
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
    assert.equal(of(then, "Stalled").reason, "Paused");
    assert.equal(of(then, "Stalled").lastTransitionTime, of(first, "Stalled").lastTransitionTime);
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
    assert.equal(summary(began)["Reconciling"], "True Waking");
    const soon = status(at(waiting(), NOW + 599_000, NOW), began);
    assert.equal(of(soon, "Reconciling").status, "True");
    const over = status(at(waiting(), NOW + 600_000, NOW), soon);
    assert.equal(summary(over)["Stalled"], "True ProgressDeadlineExceeded");
    assert.equal(summary(over)["Reconciling"], "False ProgressDeadlineExceeded");
    assert.match(
      of(over, "Stalled").message,
      /^No progress since 2025-06-15T15:06:40Z; still trying: .*waiting for/,
    );
    const still = status(at(waiting(), NOW + 900_000, NOW), over);
    assert.match(of(still, "Stalled").message, /^No progress since 2025-06-15T15:06:40Z/);
  });

  test("begins anew when something moves, or the spec changes", () => {
    const over = status(at(waiting(), NOW + 600_000, NOW), status(at(waiting(), NOW, NOW)));
    const moved = status(at(waiting(), NOW + 601_000, NOW + 600_900), over);
    assert.equal(of(moved, "Reconciling").status, "True");
    const edited = status(at(edit(waiting(), { replicas: 5 }), NOW + 601_000, NOW), over);
    assert.equal(of(edited, "Reconciling").status, "True");
  });

  test("does not count the time that the cluster was at rest", () => {
    const rest = status(at(healthy(), NOW, NOW - 86_400_000));
    assert.equal(summary(rest)["Reconciling"], "False Converged");
    const broken = status(at(waiting(), NOW + 1000, NOW - 86_400_000), rest);
    assert.equal(of(broken, "Reconciling").status, "True");
  });

  test("does not pass for what only a person can end", () => {
    const paused = at(edit(healthy(), { paused: true }), NOW + 9_000_000, NOW);
    assert.equal(summary(status(paused, status(at(paused, NOW, NOW))))["Stalled"], "False Paused");
  });
});
