/** The fields of a status beside its conditions, and the conditions that need more than one look. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { change, edit, healthy, leaderOf, NOW } from "../testing/cluster.ts";
import { alarm, filled, IN_PLACE, of, silent, status, summary } from "../testing/status.ts";

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
    const older = change(healthy({ replicas: 1 }), "demo-1", (f) => ({
      answer: { ...f.answer, revision: 7 } as never,
    }));
    const accepting = { ...older, cluster: { ...older.cluster, approved: "accept-data-900" } };
    assert.equal(status(accepting, first).revision, 7, "a person accepted older data");
    const lost = change(accepting, "demo-1", () => ({ forgot: { evidence: "", seenRevision: 950 } }));
    assert.equal(status(lost, first).revision, 900);
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
    assert.match(of(failed, "Reconciling").message, /the last try failed: disk full/);
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
