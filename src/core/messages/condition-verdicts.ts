/** What conditions of an EtcdCluster say where no wait and no step says it, each with its reason. */
import { sayTokens, type TokensInForce } from "./auth-words.ts";
import type { StatusReason } from "./condition-reasons.ts";
import type { Names } from "./names.ts";
import { rowsFor, verdictsOf } from "./verdict.ts";
import { list } from "./words.ts";

const row = rowsFor<StatusReason>();
const percent = (share: number) => `${share * 100} %`;
const NAMES: Names = ["demo-2", "demo-3"];

interface Voters {
  readonly healthy: number;
  readonly voters: number;
}

interface Starting {
  readonly healthy: number;
  readonly members: number;
  readonly starting: readonly { readonly member: string; readonly trouble: string }[];
}

interface OfSchedule {
  readonly schedule: string;
}

interface OfSnapshot extends OfSchedule {
  readonly snapshot: string;
  readonly at: string;
}

interface Failed {
  /** How the last one ended. */
  readonly failed: string | undefined;
}

const SNAPSHOT: OfSnapshot = {
  schedule: "nightly",
  snapshot: "nightly-29875830",
  at: "2026-11-16T13:00:00Z",
};

export const CONDITION_VERDICTS = {
  Converged: row("Converged", { say: () => "the cluster matches its spec", example: {} }),
  ConvergedAnd: row("Converged", {
    say: ({ healthy }: { healthy: string }) => `the cluster matches its spec: ${healthy}`,
    example: { healthy: sayHealth({ healthy: 3, voters: 3, version: "3.6.16" }) },
  }),
  StillTrying: row("ProgressDeadlineExceeded", {
    say: ({ since, message }: { since: string; message: string }) =>
      `no progress since ${since}; still trying: ${message}`,
    example: { since: "2026-11-16T13:00:00Z", message: "demo-2 is not running" },
  }),
  SpecInvalid: row("InvalidSpec", {
    say: ({ errors }: { errors: string }) =>
      `the cluster is invalid (${errors}), so nothing was changed. Correct it; running members are unaffected`,
    example: { errors: "spec.version: 3.4.0 is not supported" },
  }),
  OperatorFails: row("OperatorFault", {
    say: ({ error }: { error: string }) =>
      `internal error while reconciling this cluster (${error}). Running members are unaffected. Undo the last edit, and report the operator's log`,
    example: { error: "TypeError: the cluster has no name" },
  }),
  IsDeleted: row("Deleting", { say: () => "the cluster is being deleted", example: {} }),
  Sleeps: row("Hibernated", { say: () => "spec.replicas is 0: no member is meant to run", example: {} }),
  NotThereYet: row("Booting", { say: () => "the cluster does not exist yet", example: {} }),
  FirstStart: row("Booting", { say: () => "the first members start", example: {} }),
  ServiceAwaited: row("Booting", {
    say: () => "the first members serve, and the client Service is about to be created",
    example: {},
  }),

  VotersHealthy: row("Quorum", {
    say: ({ healthy, voters, unseen, spare }: Voters & { unseen: number; spare: number }) =>
      `${healthy} of ${voters} voters are healthy${unseen === 0 ? "" : ` and ${unseen} cannot be reached`}: ${
        spare === 0 ? "none may fail now" : `${spare} more may fail`
      }`,
    example: { healthy: 3, voters: 5, unseen: 1, spare: 0 },
  }),
  QuorumAnswers: row("Quorum", {
    say: ({ healthy, voters }: Voters) =>
      `etcd answers with a quorum, of which the operator sees ${healthy} of ${voters} voters healthy: none may fail now`,
    example: { healthy: 1, voters: 3 },
  }),
  VotersServe: row("Quorum", {
    say: ({ serving, voters }: { serving: number; voters: number }) =>
      `${serving} of ${voters} voters serve clients`,
    example: { serving: 3, voters: 3 },
  }),
  NoneAnswers: row("NoQuorum", { say: () => "no quorum answers", example: {} }),

  AllHealthy: row("AllHealthy", {
    say: ({ members }: { members: number }) => `all ${members} members are healthy`,
    example: { members: 3 },
  }),
  SomeStart: row("MemberStarting", {
    say: ({ healthy, members, starting }: Starting) =>
      `${healthy} of ${members} members are healthy; ${starting
        .map(({ member, trouble }) => `${member} is starting (${trouble})`)
        .join("; ")}`,
    example: { healthy: 2, members: 3, starting: [{ member: "demo-3", trouble: "the image is pulled" }] },
  }),

  Plaintext: row("Disabled", { say: () => "spec.tls turns encryption off on both planes", example: {} }),
  CertificatesUnread: row("NotObserved", { say: () => "the certificates could not be read", example: {} }),
  CertificateExpired: row("Expired", {
    say: ({ members }: { members: Names }) => `a certificate of ${list(members)} has expired`,
    example: { members: NAMES },
  }),
  TlsRollsOut: row("RollingOut", {
    say: ({ members }: { members: Names }) => `${list(members)} do not run with spec.tls yet`,
    example: { members: NAMES },
  }),
  Issued: row("Issued", {
    say: ({ planes }: { planes: readonly ("client" | "peer")[] }) =>
      `certificates are in place on the ${planes.join(" and ")} plane${
        planes.length === 1 ? `; the ${planes[0] === "client" ? "peer" : "client"} plane uses plaintext` : ""
      }`,
    example: { planes: ["client"] },
  }),

  EnabledByHand: row("AuthEnabledByHand", {
    say: () => "etcd has auth enabled, and spec.auth is absent",
    example: {},
  }),
  AuthUnread: row("NotObserved", { say: () => "users and roles could not be read from etcd", example: {} }),
  AuthOff: row("Disabled", { say: () => "spec.auth.enabled is false", example: {} }),
  AuthDisabling: row("Disabling", { say: () => "auth is being disabled", example: {} }),
  AuthPrepared: row("Enabling", {
    say: () => "users and roles are being prepared; auth is not enabled yet",
    example: {},
  }),
  AuthApplied: row("Applying", { say: () => "users and roles are being changed in etcd", example: {} }),
  AuthOn: row("Enabled", {
    say: ({ users, self, tokens }: { users: number; self: string; tokens: TokensInForce }) =>
      `auth is enabled with ${users} users; the operator works as user ${self}; ${sayTokens(tokens)}`,
    example: { users: 4, self: "quorate", tokens: { lacking: [], key: 0 } },
  }),

  WritesRefused: row("NoSpace", { say: () => "etcd refuses writes, since its quota is full", example: {} }),
  OnlyReads: row("NoSpace", {
    say: () => "etcd answers reads and deletes but refuses other writes, since its quota is full",
    example: {},
  }),
  QuotaFull: row("NoSpace", {
    say: () => "the quota is full; delete keys or raise spec.options.quotaBackendBytes",
    example: {},
  }),
  SpaceUnseen: row("NotObserved", { say: () => "no member answers", example: {} }),
  DataNearQuota: row("DataNearQuota", {
    say: ({ members, limit }: { members: Names; limit: number }) =>
      `the data of ${list(members)} fills more than ${percent(limit)} of the quota; delete keys or raise spec.options.quotaBackendBytes`,
    example: { members: NAMES, limit: 0.8 },
  }),
  FileNearQuota: row("FileNearQuota", {
    say: ({ members }: { members: Names }) =>
      `the database file of ${list(members)} is nearly as large as the quota`,
    example: { members: NAMES },
  }),
  Room: row("Room", {
    say: ({ limit }: { limit: number }) => `less than ${percent(limit)} of the quota is used`,
    example: { limit: 0.8 },
  }),

  AlarmRefusesWrites: row("Corrupt", {
    say: () => "etcd answers reads but refuses writes, since a CORRUPT alarm is armed",
    example: {},
  }),
  DataUnreadable: row("Unreadable", {
    say: ({ members }: { members: Names }) => `the data of ${list(members)} cannot be read`,
    example: { members: NAMES },
  }),
  CorruptReported: row("Corrupt", {
    say: ({ step }: { step: string }) => `members report corrupt data: ${step}`,
    example: { step: "replacing demo-2 by a new member: its data is corrupt" },
  }),
  NotCompared: row("NotObserved", {
    say: () => "without quorum the members cannot be compared",
    example: {},
  }),
  NoDifference: row("NoDifference", {
    say: () => "no alarm is armed, and the newest comparison found no difference",
    example: {},
  }),

  SnapshotInTime: row("SnapshotInTime", {
    say: ({ snapshot, schedule, at }: OfSnapshot) => `${snapshot} was taken at ${at} by schedule ${schedule}`,
    example: SNAPSHOT,
  }),
  SnapshotNotVerified: row("VerificationFailed", {
    say: ({ snapshot, schedule, at, why }: OfSnapshot & { why: string }) =>
      `the verification of ${snapshot} of schedule ${schedule} failed at ${at}: ${why}`,
    example: { ...SNAPSHOT, why: "the hash differs" },
  }),
  SnapshotTooOld: row("SnapshotTooOld", {
    say: ({ snapshot, schedule, at, failed }: OfSnapshot & Failed) =>
      `schedule ${schedule} has missed two times in a row; the newest snapshot is ${snapshot} of ${at}${sayFailed({ failed })}`,
    example: { ...SNAPSHOT, failed: "the bucket does not exist" },
  }),
  NoSnapshot: row("NoSnapshot", {
    say: ({ schedule, failed }: OfSchedule & Failed) =>
      `schedule ${schedule} has no snapshot that succeeded${sayFailed({ failed })}`,
    example: { schedule: "nightly", failed: undefined },
  }),
  FirstSnapshotPending: row("FirstSnapshotPending", {
    say: ({ schedule }: OfSchedule) => `schedule ${schedule} has not been due yet`,
    example: { schedule: "nightly" },
  }),
  ScheduleUnreadable: row("InvalidSchedule", {
    say: ({ schedule }: OfSchedule) => `schedule ${schedule} cannot be read; see its status`,
    example: { schedule: "nightly" },
  }),
  ScheduleSuspended: row("Suspended", {
    say: ({ schedule }: OfSchedule) => `schedule ${schedule} is suspended`,
    example: { schedule: "nightly" },
  }),
} as const;

function sayFailed({ failed }: Failed): string {
  return failed === undefined ? "" : `; the last one failed: ${failed}`;
}

export const conditionVerdict = verdictsOf(CONDITION_VERDICTS);

/** Of what was known before. */
export const NOT_OBSERVED = {
  InvalidSpec: "not observed while the cluster is invalid",
  OperatorFault: "not observed because of an internal error of the operator",
} as const;

export function sayHealth({ healthy, voters, version }: Voters & { version: string }): string {
  return `${healthy} of ${voters} voters healthy, running etcd ${version}`;
}

export function sayWork(step: string, failure: string | undefined): string {
  return failure === undefined ? step : `${step} (the last try failed: ${failure})`;
}

/** While nothing needs help; the reason is that of the work. */
export const WORK_CONTINUES = "no action is needed; work continues";
