/**
 * What etcd should have: the users that Quorate makes itself, and those of EtcdUsers and EtcdRoles, each with what is
 * wrong with it. One that is wrong is left as it is in etcd: nobody loses a right by a mistyped name.
 */
import { ROOT } from "../../api/auth-names.ts";
import { PASSWORD_UNREAD, type AuthProblem } from "../messages/auth-words.ts";
import type { View } from "../view.ts";
import type { AuthFacts, Permission, RoleFacts, UserFacts } from "./facts.ts";
import { certificateObstacle } from "./obstacle.ts";
import { own } from "./own.ts";
import { wantedPermissions } from "./permission.ts";

export interface WantedUser {
  readonly name: string;
  readonly roles: readonly string[];
  readonly secret?: string;
  /** Absent for one of Quorate's own. */
  readonly of?: UserFacts;
  /** Auth is not enabled without it. */
  readonly own: boolean;
  readonly problem?: AuthProblem;
}

export interface WantedRole {
  readonly name: string;
  readonly permissions: readonly Permission[];
  readonly of: RoleFacts;
  readonly problem?: AuthProblem;
}

export interface WantedAuth {
  readonly users: readonly WantedUser[];
  readonly roles: readonly WantedRole[];
}

/** The user of the published client credentials, and that of the process that takes snapshots. */
export const CLIENT_USER = "quorate-user";
export const SNAPSHOT_USER = "quorate-snapshot";

export function wantedAuth({ spec }: View, facts: AuthFacts): WantedAuth {
  const living = facts.roles.filter(({ deleting }) => !deleting);
  const roles = living.map((role): WantedRole => {
    const problem = taken(role, living);
    return {
      name: role.name,
      permissions: wantedPermissions(role.permissions),
      of: role,
      ...(problem && { problem }),
    };
  });
  const known = new Set([
    ROOT,
    ...roles.map(({ name }) => name),
    ...Object.keys(facts.etcd?.roles ?? {}).filter((name) => !isBeingDeleted(facts, name)),
  ]);
  const users = facts.users.filter(({ deleting }) => !deleting);
  return {
    roles,
    users: [
      ...ownUsers(spec.auth, facts).map((user) =>
        withProblem(user, facts, known, own(OWN_FIELDS, user.name)),
      ),
      ...users.map((of) => {
        const { name, roles: granted, passwordSecret } = of;
        const problem = takenByQuorate(of, facts) ?? taken(of, users) ?? notCertified(of, spec);
        const secret = passwordSecret === undefined ? {} : { secret: passwordSecret };
        const user: WantedUser = { name, roles: granted, ...secret, of, own: false };
        return problem ? { ...user, problem } : withProblem(user, facts, known);
      }),
    ],
  };
}

const OWN_FIELDS: Readonly<Record<string, Fields>> = {
  [ROOT]: { roles: "", secret: "spec.auth.rootPasswordSecret" },
  [CLIENT_USER]: { roles: "spec.auth.clientRoles", secret: "" },
};

interface Fields {
  readonly roles: string;
  readonly secret: string;
}

/** Root first, since etcd enables nothing without it (R39); then ourselves, before anybody who depends on us. */
function ownUsers(auth: View["spec"]["auth"], facts: AuthFacts): WantedUser[] {
  const { ownSecrets, self } = facts;
  const client = ownSecrets.client === undefined ? {} : { secret: ownSecrets.client };
  return [
    { name: ROOT, roles: [ROOT], secret: auth?.rootPasswordSecret ?? ownSecrets.root, own: true },
    ...(self === ROOT ? [] : [{ name: self, roles: [ROOT], secret: ownSecrets.operator, own: true }]),
    { name: CLIENT_USER, roles: auth?.clientRoles ?? [], ...client, own: true },
    // It streams whole databases, which takes the role root (R40), and comes by certificate only.
    ...(facts.byCertificate ? [{ name: SNAPSHOT_USER, roles: [ROOT], own: true }] : []),
  ];
}

function withProblem(
  user: WantedUser,
  { passwords }: AuthFacts,
  known: ReadonlySet<string>,
  fields: Fields = { roles: "spec.roles", secret: "spec.passwordSecret" },
): WantedUser {
  const unknown = user.roles.filter((role) => !known.has(role));
  if (unknown.length > 0)
    return { ...user, problem: { reason: "UnknownRole", field: fields.roles, roles: unknown } };
  const { secret } = user;
  const password = secret === undefined ? undefined : own(passwords, secret);
  if (secret === undefined || (password && "version" in password)) return user;
  const why = password?.problem ?? PASSWORD_UNREAD;
  return { ...user, problem: { reason: "PasswordMissing", field: fields.secret, secret, why } };
}

/** Whether Quorate itself uses this user; `self` may be any name, as of a certificate that was given to us. */
export function isOwnName({ self }: AuthFacts, name: string): boolean {
  return [ROOT, self, CLIENT_USER, SNAPSHOT_USER].includes(name);
}

function takenByQuorate({ name }: UserFacts, facts: AuthFacts): AuthProblem | undefined {
  return isOwnName(facts, name) ? { reason: "NameTaken", field: "spec.name", name } : undefined;
}

function notCertified({ certificate, name }: UserFacts, spec: View["spec"]): AuthProblem | undefined {
  const why = certificate ? certificateObstacle(spec) : undefined;
  return why && { reason: "CertificateUnavailable", field: "spec.certificate", user: name, why };
}

/** The first of a name has it. */
function taken<T extends UserFacts | RoleFacts>(of: T, all: readonly T[]): AuthProblem | undefined {
  const first = all.find(({ name }) => name === of.name);
  if (first === undefined || first === of) return undefined;
  return { reason: "NameTaken", field: "spec.name", name: of.name, by: first.object };
}

function isBeingDeleted({ roles }: AuthFacts, name: string): boolean {
  return roles.some((role) => role.deleting && role.name === name);
}

/** Who names a role that is to be deleted. */
export function usersOfRole({ spec }: View, { users }: AuthFacts, role: string): string[] {
  const named = users.filter(({ deleting, roles }) => !deleting && roles.includes(role));
  const client = spec.auth?.enabled && spec.auth.clientRoles?.includes(role) ? ["spec.auth.clientRoles"] : [];
  return [...named.map(({ object }) => `EtcdUser ${object}`), ...client];
}
