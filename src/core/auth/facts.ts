/**
 * What is known of etcd's authentication: the EtcdUsers and EtcdRoles that name the cluster, which passwords there are
 * (never what they are), and what etcd itself has.
 */
import type { AuthObjectStatus } from "../../api/auth-object.ts";
import type { PermissionSpec } from "../../api/etcd-role.ts";
import type { EtcdUserStatus } from "../../api/etcd-user.ts";

export interface AuthFacts extends AuthObjects {
  /** What etcd has; undefined while nobody had a reason to ask, or could. */
  readonly etcd?: EtcdAuth;
}

/** What the platform tells. */
export interface AuthObjects {
  /** Who we are to etcd: the common name of our certificate, or the user that we log in as. */
  readonly self: string;
  /** Whether clients come with certificates that etcd demands and reads their names from. */
  readonly byCertificate: boolean;
  /** In the order of their creation. */
  readonly users: readonly UserFacts[];
  readonly roles: readonly RoleFacts[];
  /** By the name of the Secret. */
  readonly passwords: Readonly<Record<string, PasswordFacts>>;
  /** The Secrets with the passwords of users that Quorate makes itself. */
  readonly ownSecrets: OwnSecrets;
  /** The certificates of users' own, by the names of their objects; absent for one that is not there yet. */
  readonly certificates?: Readonly<Record<string, UserCertificate>>;
  /** We can issue ourselves a certificate that etcd takes for root's (R55). */
  readonly canActAsRoot: boolean;
}

export interface OwnSecrets {
  readonly root: string;
  readonly operator: string;
  /** Only where clients have no certificates. */
  readonly client?: string;
}

/** A number that is another one whenever the password is; it means nothing outside of this process. */
export type PasswordFacts = { readonly version: number } | { readonly problem: string };

/** Where it is and when it ends, or why there is none, or no newer one. */
export interface UserCertificate {
  readonly secret: string;
  readonly expires?: number;
  readonly problem?: string;
}

export type ObjectKind = "EtcdUser" | "EtcdRole";

interface ObjectFacts {
  /** Of the object, which may be another name than in etcd. */
  readonly object: string;
  readonly uid: string;
  /** Opaque; every write carries it as a precondition (H10). */
  readonly resourceVersion: string;
  readonly generation: number;
  readonly createdAt: number;
  readonly deleting: boolean;
  /** We may have made it in etcd: written before the first effect, and kept until it is undone. */
  readonly applied: boolean;
  /** In etcd. */
  readonly name: string;
  readonly status: AuthObjectStatus & Pick<EtcdUserStatus, "certificate">;
}

export interface UserFacts extends ObjectFacts {
  readonly passwordSecret?: string;
  /** It asks for a certificate of its own. */
  readonly certificate?: true;
  readonly roles: readonly string[];
}

export interface RoleFacts extends ObjectFacts {
  readonly permissions: readonly PermissionSpec[];
}

export type Access = PermissionSpec["access"];

/** A range of keys, as bytes in hexadecimal; `end` is empty for one key. */
export interface Permission {
  readonly access: Access;
  readonly key: string;
  readonly end: string;
}

export interface EtcdAuth {
  readonly enabled: boolean;
  /** Roles by user. */
  readonly users: Readonly<Record<string, readonly string[]>>;
  /** Permissions by role. */
  readonly roles: Readonly<Record<string, readonly Permission[]>>;
  /** The version of the password that a user is known to have; absent where it is another one, or not known. */
  readonly passwords: Readonly<Record<string, number>>;
  /** Some of it is what our own steps must have made of it, and was not read back since. */
  readonly predicted: boolean;
}

/** One change, one call to etcd. */
export type AuthChange =
  | { readonly do: "AddRole"; readonly role: string }
  | { readonly do: "DeleteRole"; readonly role: string }
  | { readonly do: "GrantPermission"; readonly role: string; readonly permission: Permission }
  | { readonly do: "RevokePermission"; readonly role: string; readonly permission: Permission }
  /** `secret`: where its password is; without one it logs in by certificate only. */
  | { readonly do: "AddUser"; readonly user: string; readonly secret?: string }
  | { readonly do: "ChangePassword"; readonly user: string; readonly secret: string }
  | { readonly do: "DeleteUser"; readonly user: string }
  | { readonly do: "GrantRole"; readonly user: string; readonly role: string }
  | { readonly do: "RevokeRole"; readonly user: string; readonly role: string }
  | { readonly do: "ReadBack" }
  /** Verified as ourselves right after; if we are locked out, it is disabled again as root, by the password in `secret`. */
  | { readonly do: "EnableAuth"; readonly secret: string }
  | { readonly do: "DisableAuth" }
  /** As root, by a certificate that we issue: our own user, with the role root. */
  | { readonly do: "RegainAccess"; readonly user: string; readonly secret: string };
