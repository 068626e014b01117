/** What etcd answers instead of doing as asked: its gRPC code and its words, which clients compare. */
import type { GrpcCode } from "../../../src/seams/etcd-transport.ts";

const table = {
  unhealthy: ["UNAVAILABLE", "etcdserver: unhealthy cluster"],
  // etcd forgets the code of this one on its way out, in every version.
  notEnoughStarted: ["UNKNOWN", "etcdserver: re-configuration failed due to not enough started members"],
  badURLs: ["INVALID_ARGUMENT", "etcdserver: given member URLs are invalid"],
  memberExists: ["FAILED_PRECONDITION", "etcdserver: member ID already exist"],
  peerURLExists: ["FAILED_PRECONDITION", "etcdserver: Peer URLs already exists"],
  memberNotFound: ["NOT_FOUND", "etcdserver: member not found"],
  notLearner: ["FAILED_PRECONDITION", "etcdserver: can only promote a learner member"],
  learnerNotReady: [
    "FAILED_PRECONDITION",
    "etcdserver: can only promote a learner member which is in sync with leader",
  ],
  tooManyLearners: ["FAILED_PRECONDITION", "etcdserver: too many learner members in cluster"],
  notForLearner: ["FAILED_PRECONDITION", "etcdserver: rpc not supported for learner"],
  badTransferee: ["FAILED_PRECONDITION", "etcdserver: bad leader transferee"],
  notLeader: ["FAILED_PRECONDITION", "etcdserver: not leader"],
  noLeader: ["UNAVAILABLE", "etcdserver: no leader"],
  // The process ended in the midst of the call.
  cutOff: ["UNAVAILABLE", "the call was cut off before the server's status"],
  timedOut: ["UNAVAILABLE", "etcdserver: request timed out"],
  noSpace: ["RESOURCE_EXHAUSTED", "etcdserver: mvcc: database space exceeded"],
  corrupt: ["DATA_LOSS", "etcdserver: corrupt cluster"],
  compacted: ["OUT_OF_RANGE", "etcdserver: mvcc: required revision has been compacted"],
  futureRevision: ["OUT_OF_RANGE", "etcdserver: mvcc: required revision is a future revision"],
  emptyKey: ["INVALID_ARGUMENT", "etcdserver: key is not provided"],
  downgradeRunning: ["FAILED_PRECONDITION", "etcdserver: cluster has a downgrade job in progress"],
  noDowngrade: ["FAILED_PRECONDITION", "etcdserver: no inflight downgrade job"],
  badDowngrade: ["INVALID_ARGUMENT", "etcdserver: invalid downgrade target version"],
  rootUserMissing: ["FAILED_PRECONDITION", "etcdserver: root user does not exist"],
  rootRoleMissing: ["FAILED_PRECONDITION", "etcdserver: root user does not have root role"],
  userExists: ["FAILED_PRECONDITION", "etcdserver: user name already exists"],
  userNotFound: ["FAILED_PRECONDITION", "etcdserver: user name not found"],
  // As 3.5 says it to itself.
  userUnknown: ["UNKNOWN", "etcdserver: user not found"],
  roleExists: ["FAILED_PRECONDITION", "etcdserver: role name already exists"],
  roleNotFound: ["FAILED_PRECONDITION", "etcdserver: role name not found"],
  roleNotGranted: ["FAILED_PRECONDITION", "etcdserver: role is not granted to the user"],
  permissionNotGranted: ["FAILED_PRECONDITION", "etcdserver: permission is not granted to the role"],
  authNotEnabled: ["FAILED_PRECONDITION", "etcdserver: authentication is not enabled"],
  permissionDenied: ["PERMISSION_DENIED", "etcdserver: permission denied"],
  invalidToken: ["UNAUTHENTICATED", "etcdserver: invalid auth token"],
  userEmpty: ["INVALID_ARGUMENT", "etcdserver: user name is empty"],
  authFailed: ["INVALID_ARGUMENT", "etcdserver: authentication failed, invalid user ID or password"],
  noPasswordUser: ["UNKNOWN", "etcdserver: authentication failed, password was given for no password user"],
  oldRevision: ["INVALID_ARGUMENT", "etcdserver: revision of auth store is old"],
  invalidManagement: ["INVALID_ARGUMENT", "etcdserver: invalid auth management"],
} as const satisfies Record<string, readonly [GrpcCode, string]>;

const PREFIX = "etcdserver: ";

export type RefusalKind = keyof typeof table;

export class Refusal extends Error {
  override name = "Refusal";
  readonly kind: RefusalKind;
  readonly code: GrpcCode;
  constructor(kind: RefusalKind, otherCode?: GrpcCode, prefix = PREFIX) {
    const [code, message] = table[kind];
    super(message.replace(PREFIX, prefix));
    this.kind = kind;
    this.code = otherCode ?? code;
  }
}

/** What only voters answer (R17); 3.5 has another code for it. */
export function votersOnly(server: { readonly isLearner: boolean; readonly minor: number }): void {
  if (server.isLearner) throw new Refusal("notForLearner", server.minor < 3006 ? "UNAVAILABLE" : undefined);
}
