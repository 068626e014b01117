/**
 * Whether snapshots that were taken can be restored: one Job for each request, one at a time for a cluster. A request is
 * made when the snapshot is taken, or later by an annotation; it is in the status before its Job is made, and a snapshot
 * counts as verified only by what the process of that very Job said at its end.
 */
import { formatDuration } from "../../api/duration.ts";
import type { EtcdSnapshotStatus, SnapshotVerification } from "../../api/etcd-snapshot.ts";
import { verificationVerdict } from "../messages/snapshot-verdicts.ts";
import { knownVerificationReason, type VerificationReason } from "../messages/verification-reasons.ts";
import { condition, findCondition, no, sentence, timestamp, unknown, yes } from "../status/condition.ts";
import type { JobFacts, SnapshotFacts } from "./facts.ts";
import { awaitResult, startJob, workerNamed, type Turn } from "./turn.ts";
import type { SnapshotWorld } from "./world.ts";

/** What asks for the first verification of a snapshot. */
const BY_SPEC = "spec";
const LONGEST = 1024;
/** The longest request that is remembered. */
const LONGEST_REQUEST = 253;
/** Found by reading it: there is no snapshot to rely on. */
const DAMAGE: ReadonlySet<string> = new Set<VerificationReason>(["Damaged", "ObjectMissing"]);

interface VerificationVerdict extends Pick<SnapshotVerification, "phase" | "message"> {
  readonly reason: VerificationReason;
  readonly fields?: Partial<SnapshotVerification>;
  readonly found?: Pick<EtcdSnapshotStatus, "verifiedAt" | "rto">;
}

type Note = (why: Pick<VerificationVerdict, "reason" | "message">) => Turn;

/** By itself, or perhaps at a time of its schedule: which of a schedule's snapshots is then the newest is not known yet. */
export function isToBeVerified(
  { schedules = [] }: Pick<SnapshotWorld, "schedules">,
  { spec, verifyRequest, schedule }: SnapshotFacts,
): boolean {
  if (spec.verify !== false || (verifyRequest !== undefined && verifyRequest !== "")) return true;
  return schedules.some(({ uid, spec: { verify } }) => uid === schedule && verify !== undefined);
}

/** What the status of a snapshot that was just taken says of its verification; nothing where none is wanted. */
export function firstRequest({ spec }: SnapshotFacts): Pick<EtcdSnapshotStatus, "verification"> {
  if (spec.verify === false) return {};
  const { reason, message } = verificationVerdict("VerificationAwaited", {});
  return {
    verification: { request: BY_SPEC, phase: "Pending", reason, message: sentence(message), attempt: 0 },
  };
}

/** Undefined where nothing is to be done for it. */
export function verificationTurn(world: SnapshotWorld, snapshot: SnapshotFacts): Turn {
  const { status } = snapshot;
  if (status.uri === undefined) return undefined;
  const { verification } = status;
  if (verification?.phase === "Running") return running(world, snapshot, verification);
  const request = requestOf(snapshot);
  const isPending = verification?.phase === "Pending";
  if (!isPending && (request === undefined || request === verification?.request)) return undefined;
  const fields = { request: request ?? verification?.request ?? BY_SPEC };
  const wait: Note = (why) => reported(world, snapshot, { phase: "Pending", ...why, fields });
  const before = world.snapshots.find((other) => isAhead(other, snapshot));
  if (before) return wait(verificationVerdict("AwaitsVerification", { ahead: before.name }));
  const { blocked } = world;
  if (blocked?.reason === "ImageUnknown") return wait({ reason: "ImageUnknown", message: blocked.message });
  return reported(world, snapshot, {
    phase: "Running",
    ...verificationVerdict("VerificationBegins", { by: world.by }),
    fields: { ...fields, attempt: (verification?.attempt ?? 0) + 1, startedAt: timestamp(world.now) },
  });
}

/** In the order of creation, after one that runs already. */
function isAhead(other: SnapshotFacts, { uid, createdAt, name }: SnapshotFacts): boolean {
  if (other.uid === uid || other.deleting) return false;
  const phase = other.status.verification?.phase;
  if (phase === "Running") return true;
  return (
    phase === "Pending" &&
    (other.createdAt < createdAt || (other.createdAt === createdAt && other.name < name))
  );
}

/** By the annotation, or by a spec that was changed after the snapshot was taken. */
function requestOf({ verifyRequest, spec, status }: SnapshotFacts): string | undefined {
  if (verifyRequest !== undefined && verifyRequest !== "") return verifyRequest.slice(0, LONGEST_REQUEST);
  return spec.verify === true && status.verification === undefined ? BY_SPEC : undefined;
}

function running(world: SnapshotWorld, snapshot: SnapshotFacts, { attempt = 1 }: SnapshotVerification): Turn {
  const goesOn: Note = (why) => reported(world, snapshot, { phase: "Running", ...why });
  const job = snapshot.jobs.find((one) => one.task === "verify" && one.attempt === attempt);
  if (job === undefined) {
    const { blocked } = world;
    if (blocked?.reason === "ImageUnknown")
      return goesOn({ reason: "ImageUnknown", message: blocked.message });
    return startJob(world, snapshot, { task: "verify", attempt, endpoints: [] }, (why) =>
      goesOn(verificationVerdict("VerifierRefused", why)),
    );
  }
  // The next one is made when this one is gone.
  if (job.deleting) return undefined;
  const { state } = job;
  switch (state.is) {
    case "waiting":
      return goesOn(
        verificationVerdict("VerifierWaits", { job: workerNamed(world, job.name), why: state.why }),
      );
    case "running":
      return goesOn(
        verificationVerdict("BeingVerified", {
          worker: workerNamed(world, state.pod),
          transfer: state.transfer,
        }),
      );
    case "succeeded":
      return succeeded(world, snapshot, job, state);
    case "failed":
      return awaitResult(state) ?? failed(world, snapshot, state);
  }
}

function succeeded(
  world: SnapshotWorld,
  snapshot: SnapshotFacts,
  { name, uid }: JobFacts,
  { agoMs, verified }: Extract<JobFacts["state"], { is: "succeeded" }>,
): Turn {
  // What it found is not known: its Pod is gone. Once more, then.
  if (verified === undefined)
    return (
      awaitResult({ agoMs, reported: false }) ?? {
        effect: { kind: "DeleteJob", snapshot, job: name, uid },
      }
    );
  const { rtoMs, revision, totalKeys, hashCompared } = verified;
  // The process compared it with the manifest; the status was there before.
  const { status } = snapshot;
  const wanted = [status.revision ?? revision, status.totalKeys ?? totalKeys];
  if (revision < (wanted[0] ?? 0) || totalKeys !== wanted[1])
    return failed(world, snapshot, verificationVerdict("Differs", { revision, keys: totalKeys, wanted }));
  const rto = formatDuration(Math.max(1_000, Math.round(rtoMs / 1_000) * 1_000));
  const done = { rto, revision, keys: totalKeys, hashed: hashCompared };
  return reported(world, snapshot, {
    phase: "Succeeded",
    ...verificationVerdict("Verified", done),
    fields: { completedAt: timestamp(world.now) },
    found: { verifiedAt: timestamp(world.now - agoMs), rto },
  });
}

function failed(
  world: SnapshotWorld,
  snapshot: SnapshotFacts,
  { reason, message }: { readonly reason: string; readonly message: string },
): Turn {
  return reported(world, snapshot, {
    phase: "Failed",
    reason: knownVerificationReason(reason) ?? "JobFailed",
    message,
    fields: { completedAt: timestamp(world.now) },
  });
}

/** Nothing where the status says it already. */
function reported(world: SnapshotWorld, snapshot: SnapshotFacts, verdict: VerificationVerdict): Turn {
  const { verification: before } = snapshot.status;
  const message = sentence(verdict.message).slice(0, LONGEST);
  const isReported =
    before?.phase === verdict.phase &&
    before.reason === verdict.reason &&
    before.message === message &&
    before.request === (verdict.fields?.request ?? before.request);
  if (isReported) return undefined;
  const status = statusWith(snapshot, { ...verdict, message }, world.now);
  return { effect: { kind: "UpdateSnapshot", snapshot, status } };
}

/** The phase of the snapshot follows only where it is known to be damaged, or known again to be right. */
function statusWith(
  { status, generation }: SnapshotFacts,
  { phase, reason, message, fields, found }: VerificationVerdict,
  now: number,
): EtcdSnapshotStatus {
  const before = status.verification;
  const verification: SnapshotVerification = {
    request: before?.request ?? BY_SPEC,
    ...(before?.attempt !== undefined && { attempt: before.attempt }),
    ...(phase !== "Pending" && before?.startedAt !== undefined && { startedAt: before.startedAt }),
    ...fields,
    phase,
    reason,
    message,
  };
  const isDamage = phase === "Failed" && DAMAGE.has(reason);
  const isRight = phase === "Succeeded" && status.phase === "Failed";
  const verdict = phase === "Succeeded" ? yes : phase === "Failed" ? no : unknown;
  const verdicts = {
    ...(isDamage && {
      Ready: no(reason, message),
      Reconciling: no(reason, message),
      Stalled: yes(reason, message),
    }),
    ...(isRight && {
      Ready: yes("Completed", message),
      Reconciling: no("Completed", message),
      Stalled: no("Completed", message),
    }),
    Verified: verdict(reason, message),
  };
  const changed = Object.entries(verdicts).map(([type, one]) =>
    condition(type, one, findCondition(status.conditions, type), { now, generation }),
  );
  const { verifiedAt: _at, rto: _rto, ...damaged } = status;
  return {
    ...(isDamage ? damaged : status),
    ...(isDamage && { phase: "Failed", reason, message }),
    ...(isRight && { phase: "Succeeded", reason: "Completed", message }),
    verification,
    ...found,
    conditions: [
      ...(status.conditions ?? []).filter(({ type }) => !changed.some((one) => one.type === type)),
      ...changed,
    ],
  };
}
