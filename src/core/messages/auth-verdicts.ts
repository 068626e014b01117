/** What is reported of EtcdUsers and EtcdRoles, each with its reason. */
import type { AuthReason } from "./auth-reasons.ts";
import { sayProblem, type AuthProblem } from "./auth-words.ts";
import type { Names } from "./names.ts";
import { rowsFor, verdictsOf } from "./verdict.ts";
import { list } from "./words.ts";

interface OfObject {
  readonly kind: "user" | "role";
  readonly name: string;
}

const OBJECT: OfObject = { kind: "user", name: "orders" };
const row = rowsFor<AuthReason>();

const problemRow = <Reason extends AuthProblem["reason"]>(
  reason: Reason,
  example: Extract<AuthProblem, { reason: Reason }>,
) =>
  row(reason, {
    say: ({ problem }: { problem: AuthProblem }) => `${problem.field}: ${sayProblem(problem)}`,
    example: { problem: example },
  });

export const AUTH_VERDICTS = {
  ClusterIsDeleted: row("ClusterDeleted", {
    say: ({ cluster }: { cluster: string }) => `the cluster ${cluster} is being deleted`,
    example: { cluster: "demo" },
  }),
  NotUnderstood: row("Invalid", {
    say: ({ errors }: { errors: string }) =>
      `this release does not understand it (${errors}); upgrade the operator, or correct it`,
    example: { errors: "spec.roles: too many" },
  }),
  NotUnderstoodNorDeleted: row("Invalid", {
    say: ({ errors, kind, name, finalizer }: OfObject & { errors: string; finalizer: string }) =>
      `this release does not understand it (${errors}); it may still be in etcd: delete the ${kind} ${JSON.stringify(name)} there, then remove the finalizer ${finalizer}`,
    example: { ...OBJECT, errors: "spec.roles: too many", finalizer: "etcd.quorate.dev/auth" },
  }),
  ClusterInvalid: row("ClusterInvalid", {
    say: ({ cluster, why }: { cluster: string; why: string }) => `EtcdCluster ${cluster} is invalid (${why})`,
    example: { cluster: "demo", why: "spec.version: 3.4.0 is not supported" },
  }),
  ClusterNotFound: row("ClusterNotFound", {
    say: ({ cluster, namespace }: { cluster: string; namespace: string }) =>
      `EtcdCluster ${cluster} does not exist in namespace ${namespace}; it is applied once the cluster exists and has spec.auth.enabled`,
    example: { cluster: "demo", namespace: "default" },
  }),
  AuthIsOff: row("AuthDisabled", {
    say: ({ cluster }: { cluster: string }) =>
      `EtcdCluster ${cluster} does not have spec.auth.enabled: set it to apply users and roles`,
    example: { cluster: "demo" },
  }),
  AwaitsQuorum: row("Applying", {
    say: () => "waiting for a quorum, to read users and roles from etcd",
    example: {},
  }),
  UnknownRole: problemRow("UnknownRole", {
    reason: "UnknownRole",
    field: "spec.roles",
    roles: ["orders-writer"],
  }),
  PasswordMissing: problemRow("PasswordMissing", {
    reason: "PasswordMissing",
    field: "spec.passwordSecret",
    secret: "orders-password",
    why: "it has no key password",
  }),
  CertificateUnavailable: problemRow("CertificateUnavailable", {
    reason: "CertificateUnavailable",
    field: "spec.certificate",
    user: "orders",
    why: "Plaintext",
  }),
  NameTaken: problemRow("NameTaken", { reason: "NameTaken", field: "spec.name", name: "root" }),
  CertificateFails: row("CertificatePending", {
    say: ({ why }: { why: string }) => `spec.certificate: ${why}`,
    example: { why: "the Secret orders-tls belongs to another object" },
  }),
  CertificateAwaited: row("CertificatePending", {
    say: () => "issuing the certificate of the user",
    example: {},
  }),
  RoleInUse: row("InUse", {
    say: ({ users }: { users: Names }) =>
      `the role is deleted once nothing names it any more: ${list(users)}`,
    example: { users: ["EtcdUser orders"] },
  }),
  BeingApplied: row("Applying", {
    say: ({ kind, name }: OfObject) => `applying ${kind} ${name} to etcd`,
    example: OBJECT,
  }),
  IsApplied: row("Applied", {
    say: ({ kind, name }: OfObject) => `etcd has ${kind} ${name} as described`,
    example: OBJECT,
  }),
  AwaitsAuth: row("Applying", {
    say: ({ kind, name }: OfObject) => `etcd has ${kind} ${name}; auth is about to be enabled`,
    example: OBJECT,
  }),
} as const;

export const authVerdict = verdictsOf(AUTH_VERDICTS);
