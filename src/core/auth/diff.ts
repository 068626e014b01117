/**
 * What has to change in etcd, in a safe order: roles before the users that need them, what is granted before what is
 * taken away, users before the roles that they had. Each change by itself leaves everybody with what they had or gain, but
 * for a permission that etcd would not replace (grantsOf).
 */
import { ROOT } from "../../api/auth-names.ts";
import type { View } from "../view.ts";
import type {
  Access,
  AuthChange,
  AuthFacts,
  EtcdAuth,
  ObjectKind,
  Permission,
  RoleFacts,
  UserFacts,
} from "./facts.ts";
import { own } from "./own.ts";
import { both, rangeOf } from "./permission.ts";
import { isOwnName, usersOfRole, wantedAuth, type WantedRole, type WantedUser } from "./wanted.ts";

/** A call to etcd, or a note on an object that must be there before or go after it. */
export type AuthStep =
  | { readonly change: AuthChange; readonly of?: UserFacts | RoleFacts }
  | { readonly note: "apply" | "release"; readonly kind: ObjectKind; readonly of: UserFacts | RoleFacts };

/** While auth is asked for. Without what is wrong, which is left as it is. */
export function authSteps(view: View, facts: AuthFacts, etcd: EtcdAuth): AuthStep[] {
  const { users, roles } = wantedAuth(view, facts);
  const goodRoles = roles.filter(({ problem }) => problem === undefined);
  const goodUsers = users.filter(({ problem }) => problem === undefined);
  return [
    ...goodRoles.flatMap((role) => grantsOfRole(role, etcd)),
    ...goodUsers.flatMap((user) => grantsOfUser(user, facts, etcd)),
    ...goodUsers.flatMap((user) => revokedFromUser(user, etcd)),
    ...goodRoles.flatMap((role) => revokedFromRole(role, etcd)),
    ...endings(view, facts, etcd),
  ];
}

/** What was made for objects that are being deleted: undone whether auth is asked for or not. */
export function endings(view: View, facts: AuthFacts, etcd: EtcdAuth): AuthStep[] {
  const users = facts.users.filter(({ deleting, applied }) => deleting && applied);
  const roles = facts.roles.filter(({ deleting, applied }) => deleting && applied);
  return [
    ...users.flatMap((of): AuthStep[] => [
      ...(has(etcd.users, of.name) && !isAnothers(facts.users, of) && !isOwnName(facts, of.name)
        ? [{ change: { do: "DeleteUser", user: of.name }, of } as const]
        : []),
      { note: "release", kind: "EtcdUser", of },
    ]),
    ...roles
      .filter((of) => isAnothers(facts.roles, of) || usersOfRole(view, facts, of.name).length === 0)
      .flatMap((of): AuthStep[] => [
        ...(has(etcd.roles, of.name) && !isAnothers(facts.roles, of)
          ? [{ change: { do: "DeleteRole", role: of.name }, of } as const]
          : []),
        { note: "release", kind: "EtcdRole", of },
      ]),
  ];
}

function has(names: Readonly<Record<string, unknown>>, name: string): boolean {
  return Object.hasOwn(names, name);
}

/** Another object of the same name in etcd stays. */
function isAnothers(all: readonly (UserFacts | RoleFacts)[], of: UserFacts | RoleFacts): boolean {
  return all.some((other) => other !== of && !other.deleting && other.name === of.name);
}

function applied(kind: ObjectKind, of: UserFacts | RoleFacts | undefined): AuthStep[] {
  return of === undefined || of.applied ? [] : [{ note: "apply", kind, of }];
}

function grantsOfRole({ name, permissions, of }: WantedRole, etcd: EtcdAuth): AuthStep[] {
  const have = own(etcd.roles, name) ?? [];
  return [
    ...applied("EtcdRole", of),
    ...(has(etcd.roles, name) ? [] : [{ change: { do: "AddRole", role: name }, of } as const]),
    ...permissions.flatMap((permission) =>
      grantsOf(permission, have).map((change) => ({ change: { ...change, role: name, permission }, of })),
    ),
  ];
}

/**
 * etcd replaces a permission for the same range only if it finds it first among those of its key; else it keeps both, and
 * they permit what either does. What is to permit less is revoked before then.
 */
function grantsOf(
  wanted: Permission,
  have: readonly Permission[],
): { readonly do: "RevokePermission" | "GrantPermission" }[] {
  const same = have.filter((one) => rangeOf(one) === rangeOf(wanted));
  const access = same.map((one) => one.access).reduce<Access | undefined>(bothOf, undefined);
  if (access === wanted.access) return [];
  const isAlone = have.filter(({ key }) => key === wanted.key).length === 1;
  const isWider = access === undefined || bothOf(access, wanted.access) === wanted.access;
  const grant = { do: "GrantPermission" } as const;
  return isWider || isAlone ? [grant] : [{ do: "RevokePermission" }, grant];
}

function bothOf(a: Access | undefined, b: Access): Access {
  return a === undefined ? b : both(a, b);
}

function revokedFromRole({ name, permissions, of }: WantedRole, etcd: EtcdAuth): AuthStep[] {
  const wanted = new Set(permissions.map(rangeOf));
  return (own(etcd.roles, name) ?? [])
    .filter((one) => !wanted.has(rangeOf(one)))
    .map((permission) => ({ change: { do: "RevokePermission", role: name, permission }, of }));
}

function grantsOfUser(
  { name, roles, secret, of, own: isOwn }: WantedUser,
  { passwords, canActAsRoot }: AuthFacts,
  etcd: EtcdAuth,
): AuthStep[] {
  const have = own(etcd.users, name) ?? [];
  const subject = of ? { of } : {};
  const isNew = !has(etcd.users, name);
  const password = secret === undefined ? undefined : own(passwords, secret);
  const isRight = password && "version" in password && own(etcd.passwords, name) === password.version;
  const isUnsure = secret !== undefined && !isNew && !isRight;
  // Before auth is on no login tells whether it is right: whoever dies again and again would set it again and again.
  // Only those that nobody could get back in without have to be right before. etcd says nothing when it does not change
  // the password of a user that was added without one, so they are added again; until auth is on they can do nothing.
  if (isUnsure && isOwn && !etcd.enabled && !canActAsRoot)
    return [{ change: { do: "DeleteUser", user: name }, ...subject }];
  return [
    ...applied("EtcdUser", of),
    ...(isNew
      ? [
          {
            change: { do: "AddUser", user: name, ...(secret !== undefined && { secret }) },
            ...subject,
          } as const,
        ]
      : []),
    ...roles
      .filter((role) => !have.includes(role))
      .map((role) => ({ change: { do: "GrantRole", user: name, role }, ...subject }) as const),
    ...(isUnsure && etcd.enabled
      ? [{ change: { do: "ChangePassword", user: name, secret }, ...subject } as const]
      : []),
  ];
}

function revokedFromUser({ name, roles, of }: WantedUser, etcd: EtcdAuth): AuthStep[] {
  // What root has beside its own role means nothing.
  const extra = name === ROOT ? [] : (own(etcd.users, name) ?? []).filter((role) => !roles.includes(role));
  return extra.map((role) => ({ change: { do: "RevokeRole", user: name, role }, ...(of && { of }) }));
}
