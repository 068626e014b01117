/** What a change does and what is wrong with a user, in words. No password is ever in them. */
import type { AuthChange } from "./facts.ts";
import type { CertificateObstacle } from "./obstacle.ts";
import { sayRange } from "./permission.ts";
import { QUORATE, type AuthProblem } from "./wanted.ts";

/** What one change does, for steps and plans. */
export function sayChange(change: AuthChange): string {
  switch (change.do) {
    case "AddRole":
      return `adding role ${change.role}`;
    case "DeleteRole":
      return `deleting role ${change.role}`;
    case "GrantPermission":
      return `permitting role ${change.role} to ${VERBS[change.permission.access]} ${sayRange(change.permission)}`;
    case "RevokePermission":
      return `revoking the permission of role ${change.role} on ${sayRange(change.permission)}`;
    case "AddUser":
      return `adding user ${change.user}`;
    case "ChangePassword":
      return `setting the password of user ${change.user} from Secret ${change.secret}`;
    case "DeleteUser":
      return `deleting user ${change.user}`;
    case "GrantRole":
      return `granting role ${change.role} to user ${change.user}`;
    case "RevokeRole":
      return `revoking role ${change.role} from user ${change.user}`;
    case "ReadBack":
      return "reading users and roles back";
    case "EnableAuth":
      return "enabling auth";
    case "DisableAuth":
      return "disabling auth";
    case "RegainAccess":
      return `adding user ${change.user} as root`;
  }
}

const VERBS = { Read: "read", Write: "write", ReadWrite: "read and write" } as const;

const OBSTACLES: Readonly<Record<CertificateObstacle, (user: string) => string>> = {
  Plaintext: () =>
    "clients of this cluster use plaintext (spec.tls of the EtcdCluster), so etcd accepts no certificate as a login; delete the EtcdUser and create it with passwordSecret instead",
  NoClientAuth: () =>
    "etcd asks clients for no certificate (spec.tls.clientAuth of the EtcdCluster is None), so a certificate is no login; set it to Required, or delete the EtcdUser and create it with passwordSecret instead",
  OwnCertificates: (user) =>
    `the client certificates of this cluster are your own (spec.tls mode Secrets of the EtcdCluster), so Quorate cannot issue one; issue one with the common name ${user} from your CA, delete the EtcdUser and create it without certificate`,
};

export function sayProblem(problem: AuthProblem): string {
  switch (problem.reason) {
    case "UnknownRole":
      return `no role is named ${problem.roles.join(", ")}; create an EtcdRole for it, or correct the name`;
    case "PasswordMissing":
      return `the password cannot be read from Secret ${problem.secret}: ${problem.why}`;
    case "CertificateUnavailable":
      return OBSTACLES[problem.why](problem.user);
    case "NameTaken":
      if (problem.by === QUORATE)
        return `Quorate itself uses the user ${problem.name}; create an EtcdUser with another name instead`;
      return `${problem.by} already describes ${problem.name}; delete one of the two`;
  }
}
