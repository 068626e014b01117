/** What etcd has after a change, in a world where it succeeded: many steps follow each other without reading all again. */
import type { AuthChange, AuthFacts, EtcdAuth } from "./facts.ts";
import { own } from "./own.ts";
import { rangeOf } from "./permission.ts";

export function authAfter(etcd: EtcdAuth, change: AuthChange, passwords: AuthFacts["passwords"]): EtcdAuth {
  if (change.do === "ReadBack") return { ...etcd, predicted: false };
  return { ...changed(etcd, change, passwords), predicted: true };
}

function changed(etcd: EtcdAuth, change: AuthChange, passwords: AuthFacts["passwords"]): EtcdAuth {
  switch (change.do) {
    case "AddRole":
      return withRole(etcd, change.role, (permissions) => permissions);
    case "DeleteRole": {
      const { [change.role]: _, ...roles } = etcd.roles;
      const users = Object.entries(etcd.users).map(([user, of]) => [user, without(of, change.role)] as const);
      return { ...etcd, roles, users: Object.fromEntries(users) };
    }
    case "GrantPermission":
    case "RevokePermission": {
      const { permission } = change;
      const granted = change.do === "GrantPermission" ? [permission] : [];
      return withRole(etcd, change.role, (permissions) => [
        ...permissions.filter((one) => rangeOf(one) !== rangeOf(permission)),
        ...granted,
      ]);
    }
    case "AddUser":
      return withPassword(
        withRoles(etcd, change.user, (roles) => roles),
        change,
        passwords,
      );
    case "ChangePassword":
      return withPassword(etcd, change, passwords);
    case "DeleteUser": {
      const { [change.user]: _, ...users } = etcd.users;
      const { [change.user]: _password, ...known } = etcd.passwords;
      return { ...etcd, users, passwords: known };
    }
    case "GrantRole":
      return withRoles(etcd, change.user, (roles) => [...without(roles, change.role), change.role]);
    case "RevokeRole":
      return withRoles(etcd, change.user, (roles) => without(roles, change.role));
    case "EnableAuth":
      return { ...etcd, enabled: true };
    case "DisableAuth":
      return { ...etcd, enabled: false };
    case "RegainAccess":
      return withRoles(etcd, change.user, (roles) => [...without(roles, "root"), "root"]);
    case "ReadBack":
      return etcd;
  }
}

type Names = readonly string[];

function without(names: Names, name: string): string[] {
  return names.filter((one) => one !== name);
}

function withRole(
  etcd: EtcdAuth,
  role: string,
  change: (permissions: EtcdAuth["roles"][string]) => EtcdAuth["roles"][string],
): EtcdAuth {
  return { ...etcd, roles: { ...etcd.roles, [role]: change(own(etcd.roles, role) ?? []) } };
}

function withRoles(etcd: EtcdAuth, user: string, change: (roles: Names) => Names): EtcdAuth {
  return { ...etcd, users: { ...etcd.users, [user]: change(own(etcd.users, user) ?? []) } };
}

function withPassword(
  etcd: EtcdAuth,
  { user, secret }: { readonly user: string; readonly secret?: string },
  passwords: AuthFacts["passwords"],
): EtcdAuth {
  const found = secret === undefined ? undefined : own(passwords, secret);
  if (!found || !("version" in found)) return etcd;
  return { ...etcd, passwords: { ...etcd.passwords, [user]: found.version } };
}
