import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { EtcdSnapshotStatus } from "../../api/etcd-snapshot.ts";
import { timestamp } from "../status/condition.ts";
import { NOW } from "../testing/cluster.ts";
import {
  briefly,
  decided,
  jobOf,
  runningSnapshot,
  scheduleNamed,
  snapshotNamed,
} from "../testing/snapshots.ts";
import type { JobState, ScheduleFacts, SnapshotFacts, VerifiedFacts } from "./facts.ts";

const TAKEN = { uri: "s3://backups/a.db", size: 7, revision: 12, totalKeys: 3, etcdVersion: "3.6.16" };
const FOUND: VerifiedFacts = { rtoMs: 4_200, revision: 12, totalKeys: 3, hashCompared: true };

/** The status that the one effect writes; the snapshot as it is then. */
function after(snapshot: SnapshotFacts, change: Parameters<typeof decided>[1] = {}): SnapshotFacts {
  const { effects } = decided([snapshot], change);
  const [effect] = effects;
  assert.ok(effect?.kind === "UpdateSnapshot", JSON.stringify(effects));
  return { ...snapshot, status: effect.status };
}

function taken(spec: { verify?: boolean } = {}): SnapshotFacts {
  const running = runningSnapshot("a", { is: "succeeded", agoMs: 0, taken: TAKEN });
  return after({ ...running, spec: { ...running.spec, ...spec } });
}

/** One whose verification runs, with its Job as given. */
function verifying(state?: JobState, attempt = 1): SnapshotFacts {
  const begun = after(taken());
  assert.equal(begun.status.verification?.phase, "Running");
  const job = state && jobOf("a-verify", state, { task: "verify", attempt });
  return { ...begun, jobs: job ? [job] : [] };
}

const verified = ({ status }: SnapshotFacts) =>
  status.conditions?.find(({ type }) => type === "Verified")?.status;

test("the hash of the keys is asked for only where a verification may compare it", () => {
  const schedule = (verify?: { schedule: string }) =>
    scheduleNamed("daily", { spec: { ...(verify && { verify }) } });
  const asked = (change: Partial<SnapshotFacts>, schedules: ScheduleFacts[] = []) => {
    const running = { ...runningSnapshot("a"), ...change };
    const job = decided([running], { schedules }).effects.find(({ kind }) => kind === "StartJob");
    assert.ok(job?.kind === "StartJob" && job.task === "save");
    return job.hashKv;
  };
  const spec = { ...runningSnapshot("a").spec, verify: false };
  const weekly = schedule({ schedule: "@weekly" });
  assert.equal(asked({}), true);
  assert.equal(asked({ spec }), false);
  assert.equal(asked({ spec, verifyRequest: "now" }), true);
  assert.equal(asked({ spec, schedule: weekly.uid }, [weekly]), true);
  assert.equal(asked({ spec, schedule: weekly.uid }, [schedule()]), false);
  assert.equal(asked({ spec }, [weekly]), false, "it is not of that schedule");
});

describe("a snapshot that was taken", () => {
  test("is verified by a Job of its own, which the status knows before it is made", () => {
    const pending = taken();
    assert.deepEqual(
      [pending.status.phase, pending.status.verification?.phase, pending.status.verifiedAt],
      ["Succeeded", "Pending", undefined],
    );
    const begun = after(pending);
    assert.deepEqual([begun.status.verification?.attempt, verified(begun)], [1, "Unknown"]);
    assert.deepEqual(briefly(decided([begun])), ["StartJob verify 1"]);
  });

  test("is not verified where spec.verify is false, until an annotation asks", () => {
    const left = taken({ verify: false });
    assert.equal(left.status.verification, undefined);
    assert.deepEqual(decided([left]).effects, []);
    const asked = after({ ...left, verifyRequest: "now" });
    assert.deepEqual(
      [asked.status.verification?.request, asked.status.verification?.phase],
      ["now", "Running"],
    );
  });

  test("by an earlier release is left alone", () => {
    const { verification: _, ...before } = taken().status;
    const old = snapshotNamed("a", { status: before });
    assert.deepEqual(decided([old]).effects, []);
    const asked = snapshotNamed("a", { status: before, spec: { verify: true } });
    assert.equal(after(asked).status.verification?.phase, "Running");
  });

  test("is verified when its process said so, with the time that the restore took", () => {
    const done = after(verifying({ is: "succeeded", agoMs: 3_000, verified: FOUND }));
    const { status } = done;
    assert.deepEqual(
      [status.phase, status.verification?.reason, status.verifiedAt, status.rto, verified(done)],
      ["Succeeded", "Verified", timestamp(NOW - 3_000), "4s", "True"],
    );
    assert.deepEqual(decided([done]).effects, [], "once");
  });

  test("is never verified by a Job that succeeded without a word: another one is made", () => {
    const silent = verifying({ is: "succeeded", agoMs: 1_000 });
    assert.deepEqual(decided([silent]).effects, [], "its words may still come");
    const { effects } = decided([verifying({ is: "succeeded", agoMs: 30_000 })]);
    assert.deepEqual(
      effects.map(({ kind }) => kind),
      ["DeleteJob"],
    );
    assert.equal(silent.status.verifiedAt, undefined);
  });

  test("is never verified by the Job of an earlier request, nor by figures that are not its own", () => {
    const earlier = verifying({ is: "succeeded", agoMs: 0, verified: FOUND }, 7);
    assert.deepEqual(briefly(decided([earlier])), ["StartJob verify 1"]);
    const other = after(verifying({ is: "succeeded", agoMs: 0, verified: { ...FOUND, totalKeys: 2 } }));
    assert.deepEqual(
      [other.status.phase, other.status.reason, other.status.verifiedAt],
      ["Failed", "Damaged", undefined],
    );
  });

  const failure = (reason: string): JobState => ({
    is: "failed",
    agoMs: 0,
    reason,
    message: "no",
    reported: true,
  });

  test("that is damaged or gone has failed, and is right again when a later verification says so", () => {
    for (const reason of ["Damaged", "ObjectMissing"]) {
      const damaged = after(verifying(failure(reason)));
      const { status } = damaged;
      assert.deepEqual([status.phase, status.reason, verified(damaged)], ["Failed", reason, "False"]);
      assert.equal(status.uri, TAKEN.uri, "it can still be deleted");
      assert.deepEqual(decided([damaged]).effects, []);
      const again = after({ ...damaged, verifyRequest: "again", jobs: [] });
      assert.equal(again.status.verification?.attempt, 2);
      const job = jobOf("b", { is: "succeeded", agoMs: 0, verified: FOUND }, { task: "verify", attempt: 2 });
      const right = after({ ...again, jobs: [job] });
      assert.deepEqual([right.status.phase, right.status.reason], ["Succeeded", "Completed"]);
    }
  });

  test("that could not be verified is still there, and its last success is remembered", () => {
    const status: Partial<EtcdSnapshotStatus> = { verifiedAt: timestamp(NOW - 1e6), rto: "9s" };
    const before = verifying(failure("StoreDenied"));
    const failed = after({ ...before, status: { ...before.status, ...status } });
    assert.deepEqual(
      [failed.status.phase, failed.status.verification?.reason, verified(failed), failed.status.rto],
      ["Succeeded", "StoreDenied", "False", "9s"],
    );
    const unknown = after(verifying(failure("FromALaterRelease")));
    assert.equal(unknown.status.verification?.reason, "JobFailed");
  });

  test("waits for another one that is being verified, and for the image", () => {
    const first = verifying({ is: "running", pod: "p" });
    const second = { ...taken(), uid: "other", name: "b" };
    const { effects } = decided([first, second]);
    const [, wait] = effects;
    assert.ok(wait?.kind === "UpdateSnapshot");
    assert.equal(wait.status.verification?.message, "Waiting for a to be verified.");
    const blocked = { reason: "ImageUnknown", message: "which image?" } as const;
    assert.equal(after(taken(), { blocked }).status.verification?.reason, "ImageUnknown");
    // A certificate and a member are of no use for it.
    const pending = { reason: "CertificatePending", message: "which?" } as const;
    assert.equal(after(taken(), { blocked: pending }).status.verification?.phase, "Running");
  });

  test("is verified also when its cluster is gone", () => {
    assert.equal(after(taken(), { cluster: { is: "absent" } }).status.verification?.phase, "Running");
  });

  test("tells why its Job could not be made, and tries again", () => {
    const refused = { ...verifying(), failure: "exceeded quota" };
    const reported = after(refused);
    assert.equal(reported.status.verification?.reason, "JobRefused");
    assert.deepEqual(briefly(decided([reported])), ["StartJob verify 1"]);
  });
});
