import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { EtcdSnapshotSpec } from "../../api/etcd-snapshot.ts";
import { NOW } from "../testing/cluster.ts";
import { briefly, decided, ENDPOINT, jobOf, runningSnapshot, snapshotNamed } from "../testing/snapshots.ts";
import { AWAIT_CLUSTER_MS } from "./decide.ts";
import type { SnapshotFacts, TakenFacts } from "./facts.ts";
import { jobName, objectID } from "./names.ts";

const TAKEN: TakenFacts = { uri: "s3://backups/a.db", size: 7, revision: 12, takenFrom: "demo-2" };

describe("a snapshot that was asked for", () => {
  test("is recorded as running, of this very cluster, before its Job is made", () => {
    const { effects } = decided([snapshotNamed("a")]);
    const [effect] = effects;
    assert.ok(effect?.kind === "UpdateSnapshot");
    const { phase, clusterUID, job, startedAt } = effect.status;
    assert.deepEqual([phase, clusterUID, job], ["Running", "cluster-uid", "a-a-0000-u-save"]);
    assert.ok(startedAt);
    const [next] = decided([{ ...snapshotNamed("a"), status: effect.status }]).effects;
    assert.ok(next?.kind === "StartJob");
    assert.deepEqual([next.task, next.endpoints], ["save", [ENDPOINT]]);
  });

  test("waits for another one that is being taken, in the order of creation", () => {
    const first = runningSnapshot("a", { is: "running", pod: "p" });
    assert.deepEqual(briefly(decided([snapshotNamed("b"), first])), ["Pending/Queued", "Running/Started"]);
    assert.deepEqual(briefly(decided([snapshotNamed("a"), snapshotNamed("b")])), [
      "Running/Started",
      "Pending/Queued",
    ]);
  });

  test("waits for a member, an image, a certificate, a valid cluster, and says so once", () => {
    const none = { is: "present", uid: "cluster-uid", deleting: false, sources: [] } as const;
    assert.deepEqual(briefly(decided([snapshotNamed("a")], { cluster: none })), ["Pending/NoMember"]);
    const blocked = { reason: "ImageUnknown", message: "which image?" } as const;
    const [effect] = decided([snapshotNamed("a")], { blocked }).effects;
    assert.ok(effect?.kind === "UpdateSnapshot" && effect.status.reason === "ImageUnknown");
    const reported = { ...snapshotNamed("a"), status: effect.status };
    assert.deepEqual(decided([reported], { blocked }).effects, []);
    const cluster = { is: "invalid", uid: "u", why: "spec.version" } as const;
    assert.deepEqual(briefly(decided([snapshotNamed("a")], { cluster })), ["Pending/ClusterInvalid"]);
  });

  test("waits ten minutes for its cluster, then it is rejected", () => {
    const absent = { cluster: { is: "absent" } } as const;
    assert.deepEqual(briefly(decided([snapshotNamed("a")], absent)), ["Pending/ClusterNotFound"]);
    const late = snapshotNamed("a", { createdAt: NOW - AWAIT_CLUSTER_MS });
    assert.deepEqual(briefly(decided([late], absent)), ["Rejected/ClusterNotFound"]);
  });

  test("is rejected where it cannot be meant", () => {
    const rejected = (change: object) => briefly(decided([snapshotNamed("a", change)]));
    assert.deepEqual(rejected({ unsupported: "no files here" }), ["Rejected/DestinationUnsupported"]);
    assert.deepEqual(rejected({ invalid: "spec.new" }), ["Rejected/InvalidSnapshot"]);
    const cluster = { is: "present", uid: "u", deleting: true, sources: [ENDPOINT] } as const;
    assert.deepEqual(briefly(decided([snapshotNamed("a")], { cluster })), ["Rejected/ClusterDeleted"]);
  });

  test("is held before anything is in the store, if its object is to be deleted with it", () => {
    const spec = { deletionPolicy: "Delete" } as const;
    assert.deepEqual(briefly(decided([snapshotNamed("a", { spec })])), ["HoldSnapshot"]);
    assert.deepEqual(briefly(decided([snapshotNamed("a", { spec, held: true })])), ["Running/Started"]);
  });
});

describe("a snapshot that runs", () => {
  test("has succeeded with what its Job tells", () => {
    const [effect] = decided([runningSnapshot("a", { is: "succeeded", agoMs: 0, taken: TAKEN })]).effects;
    assert.ok(effect?.kind === "UpdateSnapshot");
    const { phase, uri, revision, completedAt, message } = effect.status;
    assert.deepEqual([phase, uri, revision], ["Succeeded", TAKEN.uri, 12]);
    assert.ok(completedAt);
    assert.equal(message, "Taken from demo-2 at revision 12.");
  });

  test("has failed with the reason that its Job tells, or with Kubernetes' own", () => {
    const failed = (reason: string) =>
      ({ is: "failed", agoMs: 0, reason, message: "no", reported: true }) as const;
    assert.deepEqual(briefly(decided([runningSnapshot("a", failed("StoreDenied"))])), ["Failed/StoreDenied"]);
    assert.deepEqual(briefly(decided([runningSnapshot("a", failed("Martian"))])), ["Failed/JobFailed"]);
  });

  test("is given time for the words of its Pod, which come by another watch than its Job", () => {
    const unreported = (agoMs: number) =>
      runningSnapshot("a", { is: "failed", agoMs, reason: "JobFailed", message: "?", reported: false });
    const early = decided([unreported(500)]);
    assert.deepEqual(early.effects, []);
    assert.equal(early.lookAgainAt, NOW + 19_500);
    assert.deepEqual(briefly(decided([unreported(20_000)])), ["Failed/JobFailed"]);
  });

  test("asks the store once more when its Job succeeded and nobody heard with what", () => {
    const done = (agoMs: number) => runningSnapshot("a", { is: "succeeded", agoMs });
    assert.deepEqual(decided([done(1_000)]).effects, []);
    assert.deepEqual(briefly(decided([done(20_000)])), ["DeleteJob"]);
    // Gone, it is made again under the same name: the process finds what the first one finished.
    assert.deepEqual(briefly(decided([runningSnapshot("a")])), ["StartJob save 1"]);
  });

  test("is followed to its end when its cluster is gone, and fails without a Job", () => {
    const absent = { cluster: { is: "absent" } } as const;
    const done = runningSnapshot("a", { is: "succeeded", agoMs: 0, taken: TAKEN });
    assert.deepEqual(briefly(decided([done], absent)), ["Succeeded/Completed"]);
    assert.deepEqual(briefly(decided([runningSnapshot("a")], absent)), ["Failed/ClusterDeleted"]);
    const another = { is: "present", uid: "another", deleting: false, sources: [ENDPOINT] } as const;
    assert.deepEqual(briefly(decided([runningSnapshot("a")], { cluster: another })), [
      "Failed/ClusterDeleted",
    ]);
  });

  test("tells why its Job cannot be made, and goes on trying", () => {
    const refused = { ...runningSnapshot("a"), failure: "quota" };
    const [effect] = decided([refused]).effects;
    assert.ok(effect?.kind === "UpdateSnapshot" && effect.status.reason === "JobRefused");
    assert.match(effect.status.message ?? "", /quota/);
    assert.deepEqual(briefly(decided([{ ...refused, status: effect.status }])), ["StartJob save 1"]);
  });

  test("tells what its Pod waits for", () => {
    const [effect] = decided([runningSnapshot("a", { is: "waiting", why: "no node" })]).effects;
    assert.ok(effect?.kind === "UpdateSnapshot");
    assert.match(effect.status.message ?? "", /waits: no node/);
  });
});

describe("a snapshot that is deleted", () => {
  const taken = (change: Parameters<typeof snapshotNamed>[1]) =>
    snapshotNamed("a", {
      deleting: true,
      held: true,
      status: { phase: "Succeeded", startedAt: "2026-01-01T00:00:00Z" },
      ...change,
    });
  const spec = { deletionPolicy: "Delete" } as const;

  test("is let go with its object retained, unless its policy says otherwise", () => {
    assert.deepEqual(briefly(decided([taken({})])), ["ReleaseSnapshot"]);
    assert.deepEqual(briefly(decided([taken({ held: false })])), []);
    assert.deepEqual(briefly(decided([taken({ spec, status: {} })])), ["ReleaseSnapshot"]);
  });

  test("is kept until a Job has deleted its object, also when its cluster is gone", () => {
    const absent = { cluster: { is: "absent" } } as const;
    const job = (state: Parameters<typeof jobOf>[1]) => [jobOf("d", state, { task: "delete" })];
    assert.deepEqual(briefly(decided([taken({ spec })], absent)), ["StartJob delete 1"]);
    const under = taken({ spec, jobs: job({ is: "running", pod: "p" }) });
    assert.deepEqual(briefly(decided([under], absent)), ["Deleting/DeletingObject"]);
    const done = taken({ spec, jobs: job({ is: "succeeded", agoMs: 0 }) });
    assert.deepEqual(briefly(decided([done], absent)), ["ReleaseSnapshot"]);
  });

  test("is not written to the store while it is deleted from there", () => {
    const saving = jobOf("s", { is: "running", pod: "p" });
    assert.deepEqual(briefly(decided([taken({ spec, jobs: [saving] })])), ["DeleteJob"]);
    const stopping = taken({ spec, jobs: [{ ...saving, deleting: true }] });
    const [effect] = decided([stopping]).effects;
    assert.ok(effect?.kind === "UpdateSnapshot");
    assert.match(effect.status.message ?? "", /Job s is stopped before the object is deleted/);
    assert.deepEqual(decided([{ ...stopping, status: effect.status }]).effects, [], "said once");
  });

  test("says why its object cannot be deleted, and tries again after ten minutes", () => {
    const failed = (agoMs: number) =>
      jobOf(
        "d",
        { is: "failed", agoMs, reason: "StoreDenied", message: "denied", reported: true },
        { task: "delete" },
      );
    const [effect] = decided([taken({ spec, jobs: [failed(0)] })]).effects;
    assert.ok(effect?.kind === "UpdateSnapshot" && effect.status.reason === "DeleteFailed");
    assert.match(effect.status.message ?? "", /deletionPolicy to Retain/);
    assert.deepEqual(briefly(decided([taken({ spec, jobs: [failed(600_000)] })])), ["StartJob delete 2"]);
    assert.deepEqual(briefly(decided([taken({ jobs: [failed(0)] })])), ["ReleaseSnapshot"]);
  });
});

test("of snapshots before an upgrade that failed, the last one stays; one that was taken is never forgotten", () => {
  const failed = (name: string, status: object = {}) =>
    snapshotNamed(name, { before: "3.7", status: { phase: "Failed", ...status } });
  const taken = snapshotNamed("c", { before: "3.7", status: { phase: "Succeeded", uri: "s3://b/c" } });
  const forgotten = (...snapshots: Parameters<typeof decided>[0]) =>
    decided(snapshots).effects.map((effect) =>
      effect.kind === "ForgetSnapshot" ? effect.snapshot.name : effect.kind,
    );
  assert.deepEqual(forgotten(failed("a")), []);
  assert.deepEqual(forgotten(failed("a"), failed("b"), taken, failed("d")), ["a", "b"]);
  assert.deepEqual(forgotten(failed("a", { uri: "s3://b/a" }), failed("b")), [], "damaged since");
  assert.deepEqual(forgotten(snapshotNamed("mine", { status: { phase: "Failed" } }), failed("b")), []);
});

test("a finished snapshot is held and let go as its policy is changed, and otherwise left alone", () => {
  const status = { phase: "Succeeded", startedAt: "2026-01-01T00:00:00Z" } as const;
  const spec = { deletionPolicy: "Delete" } as const;
  assert.deepEqual(briefly(decided([snapshotNamed("a", { status })])), []);
  assert.deepEqual(briefly(decided([snapshotNamed("a", { status, spec })])), ["HoldSnapshot"]);
  assert.deepEqual(briefly(decided([snapshotNamed("a", { status, held: true })])), ["ReleaseSnapshot"]);
});

test("names of Jobs and objects follow from the UID, and fit", () => {
  const uid = "7f0c9a52-6f9d-4a0e-9d3b-0d6e2f6a8f10";
  const long = `${"x".repeat(30)}.${"y".repeat(200)}`;
  for (const task of ["save", "delete"] as const) {
    const name = jobName({ name: long, uid }, task, 12);
    assert.ok(name.length <= 63 && /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/.test(name), name);
  }
  assert.equal(jobName({ name: "nightly", uid }, "save", 1), "nightly-7f0c9a52-save");
  assert.equal(objectID({ name: "nightly", uid }), `nightly-${uid}`);
});

describe("the snapshot of a point in time", () => {
  const asked = (pointInTime: NonNullable<EtcdSnapshotSpec["pointInTime"]>, change = {}) =>
    snapshotNamed("point", { spec: { pointInTime }, ...change });
  const absent = { cluster: { is: "absent" } } as const;
  const versioned = {
    cluster: { is: "present", uid: "u", deleting: false, sources: [], version: "3.6.16" },
  } as const;

  test("needs no member and no cluster, but to know the etcd that changes are replayed with", () => {
    const begins = (snapshot: SnapshotFacts, world: Parameters<typeof decided>[1]) => {
      const [effect] = decided([snapshot], world).effects;
      return effect?.kind === "UpdateSnapshot" ? effect.status : undefined;
    };
    assert.equal(begins(asked({ revision: 7 }), versioned)?.phase, "Running");
    assert.equal(begins(asked({ revision: 7, etcdVersion: "3.6.16" }), absent)?.phase, "Running");
    const early = asked({ revision: 7 });
    assert.equal(begins(early, absent)?.phase, "Pending", "it may be created in one go with its cluster");
    const invalid = { cluster: { is: "invalid", uid: "u", why: "no" } } as const;
    const late = asked({ revision: 7 }, { createdAt: NOW - AWAIT_CLUSTER_MS });
    assert.equal(begins(late, invalid)?.reason, "ClusterInvalid");
    const running = { status: { observedGeneration: 1, phase: "Running" as const } };
    assert.equal(begins(asked({ revision: 7 }, running), invalid)?.reason, "ClusterInvalid");
    const known = asked({ revision: 8, etcdVersion: "3.6.16" }, { name: "next", uid: "next-uid" });
    assert.equal(briefly(decided([early, known], invalid)).at(-1), "Running/Started");
    const lost = begins(late, absent);
    assert.deepEqual([lost?.phase, lost?.reason], ["Rejected", "ClusterNotFound"]);
    assert.match(lost?.message ?? "", /spec\.pointInTime\.etcdVersion/);
    const status = begins(asked({ revision: 7, etcdVersion: "3.5.21" }), versioned) ?? {};
    const [job] = decided([asked({ revision: 7, etcdVersion: "3.5.21" }, { status })], absent).effects;
    assert.ok(job?.kind === "StartJob");
    assert.deepEqual([job.task, job.endpoints, job.etcdVersion], ["save", [], "3.5.21"]);
    const image = { reason: "ImageUnknown", message: "which image" } as const;
    assert.equal(begins(asked({ revision: 7 }), { ...versioned, blocked: image })?.reason, "ImageUnknown");
    const certificate = { reason: "CertificatePending", message: "no certificate" } as const;
    assert.equal(begins(asked({ revision: 7 }), { ...versioned, blocked: certificate })?.phase, "Running");
  });

  test("waits for another one that is built, and for none that is taken, nor they for it", () => {
    const running = { status: { observedGeneration: 1, phase: "Running" as const } };
    const next = asked({ revision: 8 }, { name: "next", uid: "next-uid" });
    assert.equal(
      briefly(decided([asked({ revision: 7 }, running), next], versioned)).at(-1),
      "Pending/Queued",
    );
    // What is to be taken waits for a member, for as long as the cluster is down.
    const both = decided([snapshotNamed("other"), asked({ revision: 7 })], versioned);
    assert.deepEqual(briefly(both), ["Pending/NoMember", "Running/Started"]);
    const taken = decided([asked({ revision: 7 }, running), snapshotNamed("other")]);
    assert.equal(briefly(taken).at(-1), "Running/Started");
  });

  test("tells that it was built", () => {
    const status = { observedGeneration: 1, phase: "Running" as const };
    const taken = { uri: "s3://backups/a.db", revision: 7 };
    const jobs = [jobOf("j", { is: "succeeded", agoMs: 0, taken })];
    const [effect] = decided([asked({ revision: 7 }, { status, jobs })], versioned).effects;
    assert.ok(effect?.kind === "UpdateSnapshot");
    assert.equal(effect.status.message, "Built from recorded changes, at revision 7.");
  });
});
