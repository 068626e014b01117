/**
 * What etcd's failures mean. Codes decide; where one code covers several failures (etcd uses
 * FailedPrecondition, Unavailable and InvalidArgument for many) the message tells them apart. The
 * messages are part of etcd's client contract (its own clients compare them); the codes of some moved
 * between 3.5 and 3.7, so a row gives every code it was seen with.
 */
import type { GrpcCode } from "../seams/etcd-transport.ts";

interface Meaning {
  /** Trying the same again later (perhaps elsewhere) can succeed without anything being changed. */
  readonly retryable: boolean;
  /** What to do, in words for a person. */
  readonly next: string;
}

const wait = "wait a moment and try again";

/** Every kind of failure, with what follows from it. */
export const meanings = {
  unavailable: {
    retryable: true,
    next: "check that the member runs and its address is right, or ask another member",
  },
  "untrusted-server": {
    retryable: false,
    next: "check the CA and the names in the member's server certificate",
  },
  "client-certificate-refused": {
    retryable: false,
    next: "check that the client certificate is signed by the CA that the member trusts and has not expired",
  },
  deadline: { retryable: true, next: "the outcome is unknown: read the state before repeating a change" },
  cancelled: { retryable: false, next: "nothing: the caller ended the call" },
  "request-timed-out": {
    retryable: true,
    next: "the outcome is unknown: read the state before repeating a change",
  },
  "no-leader": {
    retryable: true,
    next: "wait for an election; if there is no quorum, start the missing members",
  },
  "leader-changed": { retryable: true, next: wait },
  "not-leader": { retryable: true, next: "send the call to the leader" },
  "server-stopped": { retryable: true, next: "ask another member; this one is shutting down" },
  "unhealthy-cluster": {
    retryable: true,
    next: "all voters must have been connected for 5 s: wait, or remove the dead member first",
  },
  "not-enough-started": {
    retryable: true,
    next: "start the members that never started, or remove them first",
  },
  "learner-not-ready": { retryable: true, next: "wait until the learner has caught up with the leader" },
  "not-a-learner": { retryable: false, next: "nothing: the member is a voter already" },
  "too-many-learners": { retryable: false, next: "promote or remove the present learner first" },
  "member-not-found": { retryable: false, next: "read the member list: the member is gone" },
  "member-exists": { retryable: false, next: "read the member list and find the member by its peer URL" },
  "peer-url-exists": { retryable: false, next: "read the member list and find the member by its peer URL" },
  "bad-member-urls": { retryable: false, next: "correct the peer URLs" },
  "cluster-id-mismatch": {
    retryable: false,
    next: "the endpoint belongs to another cluster: correct the address",
  },
  "rpc-not-supported-for-learner": { retryable: true, next: "ask a voter" },
  "bad-leader-transferee": { retryable: false, next: "choose a started voter as the new leader" },
  corrupt: {
    retryable: false,
    next: "find the member whose hash differs, replace it, then disarm the CORRUPT alarm",
  },
  "no-space": {
    retryable: false,
    next: "compact, defragment every member, then disarm the NOSPACE alarm; or raise the quota",
  },
  "too-many-requests": { retryable: true, next: wait },
  "request-too-large": { retryable: false, next: "split the request, or raise max-request-bytes" },
  compacted: { retryable: false, next: "read the current state and continue from its revision" },
  "future-revision": {
    retryable: true,
    next: "wait until the member has caught up, or request a lower revision",
  },
  "empty-key": { retryable: false, next: "set a key" },
  "key-not-found": { retryable: false, next: "create the key first" },
  "duplicate-key": { retryable: false, next: "change each key at most once in a transaction" },
  "too-many-operations": { retryable: false, next: "split the transaction, or raise max-txn-ops" },
  "lease-not-found": { retryable: false, next: "grant a new lease: this one expired or was revoked" },
  "lease-exists": { retryable: false, next: "choose another lease ID, or 0 to let etcd choose" },
  "lease-ttl-too-large": { retryable: false, next: "ask for a shorter time to live" },
  "permission-denied": { retryable: false, next: "grant the user a role with this permission" },
  "auth-invalid-token": { retryable: true, next: "authenticate again" },
  "auth-old-revision": { retryable: true, next: "authenticate again" },
  "auth-user-required": { retryable: false, next: "authenticate: the cluster has authentication enabled" },
  "auth-failed": { retryable: false, next: "check user name and password" },
  "auth-no-password-user": { retryable: false, next: "log in by certificate: the user has no password" },
  "auth-not-enabled": { retryable: false, next: "enable authentication first, or call without credentials" },
  "auth-root-user-missing": { retryable: false, next: "create user root before enabling authentication" },
  "auth-root-role-missing": {
    retryable: false,
    next: "grant role root to user root before enabling authentication",
  },
  "auth-user-exists": { retryable: false, next: "nothing, or choose another user name" },
  "auth-user-not-found": { retryable: false, next: "create the user first" },
  "auth-role-exists": { retryable: false, next: "nothing, or choose another role name" },
  "auth-role-not-found": { retryable: false, next: "create the role first" },
  "auth-role-not-granted": { retryable: false, next: "nothing: the user does not hold the role" },
  "auth-permission-not-granted": { retryable: false, next: "nothing: the role does not hold the permission" },
  "auth-invalid-management": {
    retryable: false,
    next: "root user and role cannot be dropped while authentication is enabled",
  },
  "not-capable": { retryable: true, next: "wait until every member runs a version that supports this call" },
  "downgrade-in-progress": { retryable: false, next: "finish or cancel the running downgrade first" },
  "no-downgrade": { retryable: false, next: "nothing: no downgrade is in progress" },
  "downgrade-version-invalid": { retryable: false, next: "set a target exactly one minor version lower" },
  "cluster-version-unavailable": {
    retryable: true,
    next: "wait until the cluster has agreed on its version",
  },
  unimplemented: { retryable: false, next: "this etcd version does not support the call: upgrade first" },
  "invalid-argument": { retryable: false, next: "correct the request" },
  "snapshot-damaged": { retryable: true, next: "take the snapshot again; discard what was received" },
  unknown: { retryable: false, next: "check the member's log" },
} as const satisfies Record<string, Meaning>;

export type EtcdErrorKind = keyof typeof meanings;

interface Row {
  readonly codes: readonly GrpcCode[];
  readonly message: string;
  readonly kind: EtcdErrorKind;
}

const row = (kind: EtcdErrorKind, message: string, ...codes: GrpcCode[]): Row => ({ kind, message, codes });

/** etcd's own messages. Compared whole, after the "etcdserver: " prefix. */
export const rows: readonly Row[] = [
  row("no-leader", "no leader", "UNAVAILABLE"),
  row("leader-changed", "leader changed", "UNAVAILABLE"),
  row("not-leader", "not leader", "FAILED_PRECONDITION", "UNAVAILABLE"),
  row("server-stopped", "server stopped", "UNAVAILABLE"),
  row("request-timed-out", "request timed out", "UNAVAILABLE"),
  row("request-timed-out", "request timed out, possibly due to previous leader failure", "UNAVAILABLE"),
  row("request-timed-out", "request timed out, possibly due to connection lost", "UNAVAILABLE"),
  row("request-timed-out", "request timed out, waiting for the applied index took too long", "UNAVAILABLE"),
  row("unhealthy-cluster", "unhealthy cluster", "UNAVAILABLE"),
  row("rpc-not-supported-for-learner", "rpc not supported for learner", "UNAVAILABLE", "FAILED_PRECONDITION"),
  row("not-capable", "not capable", "UNAVAILABLE", "FAILED_PRECONDITION"),
  row(
    "cluster-version-unavailable",
    "cluster version not found during downgrade",
    "UNAVAILABLE",
    "FAILED_PRECONDITION",
  ),

  row(
    "not-enough-started",
    "re-configuration failed due to not enough started members",
    "FAILED_PRECONDITION",
  ),
  row(
    "learner-not-ready",
    "can only promote a learner member which is in sync with leader",
    "FAILED_PRECONDITION",
  ),
  row("not-a-learner", "can only promote a learner member", "FAILED_PRECONDITION"),
  row("too-many-learners", "too many learner members in cluster", "FAILED_PRECONDITION"),
  row("member-exists", "member ID already exist", "FAILED_PRECONDITION"),
  row("peer-url-exists", "Peer URLs already exists", "FAILED_PRECONDITION"),
  row("cluster-id-mismatch", "cluster ID mismatch", "FAILED_PRECONDITION"),
  row("bad-leader-transferee", "bad leader transferee", "FAILED_PRECONDITION"),
  row("lease-exists", "lease already exists", "FAILED_PRECONDITION"),
  row("downgrade-in-progress", "cluster has a downgrade job in progress", "FAILED_PRECONDITION"),
  row("no-downgrade", "no inflight downgrade job", "FAILED_PRECONDITION"),
  row("auth-root-user-missing", "root user does not exist", "FAILED_PRECONDITION"),
  row("auth-root-role-missing", "root user does not have root role", "FAILED_PRECONDITION"),
  row("auth-user-exists", "user name already exists", "FAILED_PRECONDITION"),
  row("auth-user-not-found", "user name not found", "FAILED_PRECONDITION"),
  row("auth-role-exists", "role name already exists", "FAILED_PRECONDITION"),
  row("auth-role-not-found", "role name not found", "FAILED_PRECONDITION"),
  row("auth-role-not-granted", "role is not granted to the user", "FAILED_PRECONDITION"),
  row("auth-permission-not-granted", "permission is not granted to the role", "FAILED_PRECONDITION"),
  row("auth-not-enabled", "authentication is not enabled", "FAILED_PRECONDITION"),

  row("member-not-found", "member not found", "NOT_FOUND"),
  row("lease-not-found", "requested lease not found", "NOT_FOUND"),

  row("compacted", "mvcc: required revision has been compacted", "OUT_OF_RANGE"),
  row("future-revision", "mvcc: required revision is a future revision", "OUT_OF_RANGE"),
  row("lease-ttl-too-large", "too large lease TTL", "OUT_OF_RANGE"),

  row("no-space", "mvcc: database space exceeded", "RESOURCE_EXHAUSTED"),
  row("too-many-requests", "too many requests", "RESOURCE_EXHAUSTED"),

  row("empty-key", "key is not provided", "INVALID_ARGUMENT"),
  row("key-not-found", "key not found", "INVALID_ARGUMENT"),
  row("duplicate-key", "duplicate key given in txn request", "INVALID_ARGUMENT"),
  row("too-many-operations", "too many operations in txn request", "INVALID_ARGUMENT"),
  row("request-too-large", "request is too large", "INVALID_ARGUMENT"),
  row("bad-member-urls", "given member URLs are invalid", "INVALID_ARGUMENT"),
  row("downgrade-version-invalid", "wrong downgrade target version format", "INVALID_ARGUMENT"),
  row("downgrade-version-invalid", "invalid downgrade target version", "INVALID_ARGUMENT"),
  row("auth-invalid-token", "invalid auth token", "UNAUTHENTICATED"),
  row("permission-denied", "permission denied", "PERMISSION_DENIED"),
  row("auth-user-required", "user name is empty", "INVALID_ARGUMENT"),
  row("auth-failed", "authentication failed, invalid user ID or password", "INVALID_ARGUMENT"),
  row(
    "auth-no-password-user",
    "authentication failed, password was given for no password user",
    "INVALID_ARGUMENT",
    "UNKNOWN",
  ),
  row("auth-invalid-management", "invalid auth management", "INVALID_ARGUMENT"),
  row("auth-old-revision", "revision of auth store is old", "INVALID_ARGUMENT"),
];

/** What a code means when no row matches. */
export const byCode: Readonly<Record<GrpcCode, EtcdErrorKind>> = {
  OK: "unknown",
  CANCELLED: "cancelled",
  UNKNOWN: "unknown",
  INVALID_ARGUMENT: "invalid-argument",
  DEADLINE_EXCEEDED: "deadline",
  NOT_FOUND: "unknown",
  ALREADY_EXISTS: "unknown",
  PERMISSION_DENIED: "permission-denied",
  RESOURCE_EXHAUSTED: "too-many-requests",
  FAILED_PRECONDITION: "unknown",
  ABORTED: "unknown",
  OUT_OF_RANGE: "invalid-argument",
  UNIMPLEMENTED: "unimplemented",
  INTERNAL: "unknown",
  UNAVAILABLE: "unavailable",
  DATA_LOSS: "corrupt",
  UNAUTHENTICATED: "auth-invalid-token",
};
