/** What a change does and what is wrong with a user, in words. No password is ever in them. */
import type { AuthChange, Permission } from "../auth/facts.ts";
import { TO_THE_END } from "../auth/permission.ts";
import type { Names } from "./names.ts";
import { list } from "./words.ts";

/** Why nobody can be given a certificate of the client plane, as it is asked for. */
export type CertificateObstacle = "Plaintext" | "NoClientAuth" | "OwnCertificates";

/** What is wrong with a user or a role, as data. */
export type AuthProblem =
  | { readonly reason: "UnknownRole"; readonly field: string; readonly roles: readonly string[] }
  | {
      readonly reason: "PasswordMissing";
      readonly field: string;
      readonly secret: string;
      readonly why: string;
    }
  | {
      readonly reason: "CertificateUnavailable";
      readonly field: string;
      readonly user: string;
      readonly why: CertificateObstacle;
    }
  | {
      readonly reason: "NameTaken";
      readonly field: string;
      readonly name: string;
      /** The name of another object; absent where Quorate itself uses it. */
      readonly by?: string;
    };

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
      if (problem.by === undefined)
        return `Quorate itself uses the user ${problem.name}; create an EtcdUser with another name instead`;
      return `${problem.by} already describes ${problem.name}; delete one of the two`;
  }
}

/** For people: the key as text where it is one. */
function sayRange({ key, end }: Permission): string {
  const from = textOf(key);
  if (end === "") return from;
  if (end === TO_THE_END) return key === TO_THE_END ? "all keys" : `${from} and all keys after it`;
  return `${from} to ${textOf(end)}`;
}

function textOf(hex: string): string {
  const bytes = Uint8Array.from(hex.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
  const text = new TextDecoder().decode(bytes);
  return /^[\x20-\x7e]+$/.test(text) ? text : `0x${hex}`;
}

export interface TokensInForce {
  /** Members that must restart for what the spec asks for. */
  readonly lacking: Names;
  /** The number of the newest key that signs; 0 without any. */
  readonly key: number;
}

export function sayTokens({ lacking, key }: TokensInForce): string {
  if (lacking.length > 0) return `${list(lacking)} must restart for spec.auth.token`;
  return key > 0 ? `tokens are signed (JWT, key ${key})` : "tokens are not signed (Simple)";
}

/** Of a Secret that was named a moment ago. */
export const PASSWORD_UNREAD = "it has not been read yet";
