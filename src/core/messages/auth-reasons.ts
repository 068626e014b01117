/**
 * Why an EtcdUser or EtcdRole is as it is: the reason of its conditions. Like other reasons an API: one that is renamed or
 * removed gets a line in CHANGELOG.md.
 */
interface AuthReasonText {
  /** What is the case. */
  readonly meaning: string;
  /** What a person can do. */
  readonly remedy: string;
}

export const AUTH_REASONS = {
  Applied: { meaning: "etcd has it as described.", remedy: "Nothing." },
  Applying: { meaning: "It is being applied to etcd, or waits for a quorum.", remedy: "Nothing." },
  AuthDisabled: {
    meaning: "The cluster does not have `spec.auth.enabled`, so users and roles are not applied.",
    remedy: "Set `spec.auth.enabled` of the EtcdCluster.",
  },
  ClusterNotFound: {
    meaning: "No EtcdCluster of that name exists in the namespace.",
    remedy: "Create the EtcdCluster, or correct `spec.cluster` in a new object.",
  },
  ClusterInvalid: {
    meaning: "The spec of the EtcdCluster is invalid and it has no members.",
    remedy: "Correct the EtcdCluster.",
  },
  ClusterDeleted: { meaning: "The EtcdCluster is being deleted.", remedy: "Nothing." },
  UnknownRole: {
    meaning: "A role that it names does not exist. The user stays in etcd as it was.",
    remedy: "Create an EtcdRole of that name, or correct `spec.roles`.",
  },
  PasswordMissing: {
    meaning: "Its Secret does not exist, or has no usable key `password`. The user stays in etcd as it was.",
    remedy: "Create the Secret with the key `password`, or correct `spec.passwordSecret`.",
  },
  CertificateUnavailable: {
    meaning:
      "It asks for a certificate, and Quorate cannot issue certificates to clients of this cluster. The user stays in etcd as it was.",
    remedy: "As the message says: use `passwordSecret`, or a certificate of your own CA.",
  },
  CertificatePending: {
    meaning: "Its certificate is not issued yet, or cannot be renewed. One that it has stays in use.",
    remedy:
      "Nothing, unless the message names something: a Secret of the same name that belongs to another owner, a CA that is damaged or expired, or a Certificate that cert-manager has not issued.",
  },
  NameTaken: {
    meaning:
      "An older object describes the same user or role of the cluster, or Quorate itself uses the user.",
    remedy: "Delete one of the two; instead of a user of Quorate, create an EtcdUser with another name.",
  },
  InUse: {
    meaning: "The EtcdRole is being deleted, and users or `spec.auth.clientRoles` still name it.",
    remedy: "Remove the role from those that the message names.",
  },
  Invalid: {
    meaning: "This release does not understand the object.",
    remedy: "Upgrade the operator, or correct the field that the message names.",
  },
} as const satisfies Readonly<Record<string, AuthReasonText>>;

export type AuthReason = keyof typeof AUTH_REASONS;
