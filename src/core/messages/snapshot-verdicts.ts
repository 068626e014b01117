/** What is reported of EtcdSnapshots and of their verifications, each with its reason. Times are as a status has them. */
import type { Transfer } from "../snapshots/facts.ts";
import type { SnapshotReason } from "./snapshot-reasons.ts";
import type { VerificationReason } from "./verification-reasons.ts";
import { rowsFor, verdictsOf } from "./verdict.ts";
import { share } from "./words.ts";

/** What does it: a Job and its Pod, or a process of this machine. */
export interface Worker {
  readonly by: "process" | undefined;
  readonly name: string;
}

export function sayJob({ by, name }: Worker): string {
  return `${by ?? "Job"} ${name}`;
}

/** Who is at work. */
export function sayWorker({ by, name }: Worker): string {
  return `${by ?? "Pod"} ${name}`;
}

interface OfCluster {
  readonly cluster: string;
}
interface Waiting {
  readonly job: Worker;
  readonly why: string | undefined;
}

interface AtWork {
  readonly worker: Worker;
  readonly transfer: Transfer | undefined;
}

function sayShare(transfer: Transfer | undefined, verb: string): string {
  const done = transfer && share(transfer);
  return done === undefined ? "" : `, ${done} ${verb}`;
}

const row = rowsFor<SnapshotReason>();
const CLUSTER: OfCluster = { cluster: "demo" };
const JOB: Worker = { by: undefined, name: "nightly-29875830-save-1" };
const POD: Worker = { by: undefined, name: "nightly-29875830-save-1-x2v7q" };
const UNTIL = "2026-11-16T13:09:30Z";

export const SNAPSHOT_VERDICTS = {
  ClusterAwaited: row("ClusterNotFound", {
    say: ({ cluster, until }: OfCluster & { until: string }) =>
      `EtcdCluster ${cluster} does not exist; the snapshot is taken if it is created by ${until}, and is rejected otherwise`,
    example: { ...CLUSTER, until: UNTIL },
  }),
  ClusterNotFound: row("ClusterNotFound", {
    say: ({ cluster }: OfCluster) =>
      `EtcdCluster ${cluster} does not exist; create the snapshot again once it does`,
    example: CLUSTER,
  }),
  InvalidBeforeTaken: row("ClusterInvalid", {
    say: ({ cluster, why, point }: OfCluster & { why: string; point: boolean }) =>
      `EtcdCluster ${cluster} is invalid (${why}); the snapshot is ${point ? "built" : "taken"} once it is corrected`,
    example: { ...CLUSTER, why: "spec.version: 3.4.0 is not supported", point: false },
  }),
  InvalidMeanwhile: row("ClusterInvalid", {
    say: ({ cluster, why }: OfCluster & { why: string }) => `EtcdCluster ${cluster} is invalid (${why})`,
    example: { ...CLUSTER, why: "spec.version: 3.4.0 is not supported" },
  }),
  ClusterLeaves: row("ClusterDeleted", {
    say: ({ cluster }: OfCluster) => `EtcdCluster ${cluster} is being deleted`,
    example: CLUSTER,
  }),
  ClusterGone: row("ClusterDeleted", {
    say: ({ cluster }: OfCluster) => `the EtcdCluster ${cluster} that it is of was deleted`,
    example: CLUSTER,
  }),
  VersionAwaited: row("ClusterNotFound", {
    say: ({ cluster, until }: OfCluster & { until: string }) =>
      `${versionUnknown(cluster)}; it is built if that is created by ${until}, and is rejected otherwise`,
    example: { ...CLUSTER, until: UNTIL },
  }),
  VersionUnknown: row("ClusterNotFound", {
    say: ({ cluster }: OfCluster) =>
      `${versionUnknown(cluster)}: create another EtcdSnapshot with spec.pointInTime.etcdVersion`,
    example: CLUSTER,
  }),
  VersionLost: row("ClusterDeleted", {
    say: ({ cluster }: OfCluster) =>
      `EtcdCluster ${cluster} was deleted; create another EtcdSnapshot with spec.pointInTime.etcdVersion`,
    example: CLUSTER,
  }),
  AwaitsTurn: row("Queued", {
    say: ({ ahead }: { ahead: string }) => `waiting for ${ahead} to be taken`,
    example: { ahead: "before-upgrade" },
  }),
  NoMember: row("NoMember", {
    say: () => "no voting member of the cluster answers; waiting for one",
    example: {},
  }),
  LoginByCertificate: row("AuthNeedsCertificate", {
    say: () =>
      "etcd has auth enabled, and the snapshot process can log in by client certificate only, which spec.tls of the EtcdCluster does not provide for; the snapshot is taken once spec.auth.enabled is false",
    example: {},
  }),
  JobBegins: row("Started", {
    say: ({ job }: { job: Worker }) => `creating ${sayJob(job)}`,
    example: { job: JOB },
  }),
  JobWaits: row("Started", { say: sayWaiting, example: { job: JOB, why: undefined } }),
  BeingTaken: row("Started", {
    say: ({ worker, transfer }: AtWork) =>
      `${sayWorker(worker)} is taking the snapshot${sayShare(transfer, "sent")}`,
    example: { worker: POD, transfer: { done: 1_300_000_000, of: 3_200_000_000 } },
  }),
  Taken: row("Completed", {
    say: ({ revision, from }: { revision: number | undefined; from: string | undefined }) =>
      `taken${from === undefined ? "" : ` from ${from}`} at revision ${revision}`,
    example: { revision: 2641, from: "demo-2" },
  }),
  PointBuilt: row("Completed", {
    say: ({ revision }: { revision: number | undefined }) =>
      `built from recorded changes, at revision ${revision}`,
    example: { revision: 2641 },
  }),
  JobRefused: row("JobRefused", {
    say: sayRefused,
    example: { job: JOB, why: "exceeded quota: pods" },
  }),
  JobIsStopped: row("DeletingObject", {
    say: ({ job }: { job: Worker }) => `${sayJob(job)} is stopped before the object is deleted`,
    example: { job: JOB },
  }),
  ObjectIsDeleted: row("DeletingObject", {
    say: ({ job, why }: Waiting) =>
      `${sayJob(job)} deletes the object from the store${why === undefined ? "" : ` (${why})`}`,
    example: { job: JOB, why: undefined },
  }),
  ObjectNotDeleted: row("DeleteFailed", {
    say: ({ why }: { why: string }) =>
      `the object could not be deleted: ${why}. Set spec.deletionPolicy to Retain to keep it and let the EtcdSnapshot go`,
    example: { why: "access denied" },
  }),
} as const;

export const snapshotVerdict = verdictsOf(SNAPSHOT_VERDICTS);

const verification = rowsFor<VerificationReason>();

export const VERIFICATION_VERDICTS = {
  VerificationAwaited: verification("Queued", { say: () => "waiting to be verified", example: {} }),
  AwaitsVerification: verification("Queued", {
    say: ({ ahead }: { ahead: string }) => `waiting for ${ahead} to be verified`,
    example: { ahead: "before-upgrade" },
  }),
  VerificationBegins: verification("Started", {
    say: ({ by }: Pick<Worker, "by">) => `creating the ${by ?? "Job"} that verifies it`,
    example: { by: undefined },
  }),
  VerifierRefused: verification("JobRefused", {
    say: sayRefused,
    example: { job: JOB, why: "exceeded quota: pods" },
  }),
  VerifierWaits: verification("Started", { say: sayWaiting, example: { job: JOB, why: undefined } }),
  BeingVerified: verification("Started", {
    say: ({ worker, transfer }: AtWork) =>
      `${sayWorker(worker)} is restoring the snapshot${sayShare(transfer, "read")}`,
    example: { worker: POD, transfer: { done: 1_300_000_000, of: 3_200_000_000 } },
  }),
  Differs: verification("Damaged", {
    say: ({ revision, keys, wanted }: { revision: number; keys: number; wanted: readonly number[] }) =>
      `after a restore it has revision ${revision} and ${keys} keys, and the status says ${wanted.join(" and ")}`,
    example: { revision: 2000, keys: 10, wanted: [2641, 12] },
  }),
  Verified: verification("Verified", {
    say: ({
      rto,
      revision,
      keys,
      hashed,
    }: {
      rto: string;
      revision: number;
      keys: number;
      hashed: boolean;
    }) =>
      `restored in ${rto}: revision ${revision}, ${keys} keys${hashed ? ", and their hash is the recorded one" : ""}`,
    example: { rto: "2s", revision: 2641, keys: 12, hashed: true },
  }),
} as const;

export const verificationVerdict = verdictsOf(VERIFICATION_VERDICTS);

function versionUnknown(cluster: string): string {
  return `EtcdCluster ${cluster} does not exist, so the version of etcd that wrote the snapshots is not known`;
}

function sayWaiting({ job, why }: Waiting): string {
  return `${sayJob(job)} waits${why === undefined ? " for its Pod" : `: ${why}`}`;
}

function sayRefused({ job, why }: { readonly job: Worker; readonly why: string }): string {
  return `${sayJob(job)} could not be created: ${why}`;
}
