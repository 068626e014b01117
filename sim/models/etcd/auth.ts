/**
 * etcd's authentication as each member applies it: users, roles, the switch, and who may call what (R39, R40). Passwords
 * are compared as they are.
 */
import { granted, isCovered, rangeKey, type Range, type RangePermission } from "./auth-ranges.ts";
import type { RefusalKind } from "./refusal.ts";

export type AuthOp =
  | { readonly do: "status" | "enable" | "disable" | "user-list" | "role-list" }
  | { readonly do: "user-add"; readonly user: string; readonly password: string | undefined }
  | { readonly do: "user-password"; readonly user: string; readonly password: string }
  | { readonly do: "user-get" | "user-delete"; readonly user: string }
  | { readonly do: "user-grant" | "user-revoke"; readonly user: string; readonly role: string }
  | { readonly do: "role-add" | "role-get" | "role-delete"; readonly role: string }
  | { readonly do: "role-grant"; readonly role: string; readonly type: number; readonly range: Range }
  | { readonly do: "role-revoke"; readonly role: string; readonly range: Range }
  | { readonly do: "authenticate"; readonly user: string; readonly password: string };

interface User {
  readonly password: string | undefined;
  readonly roles: readonly string[];
}

const ROOT = "root";

export class AuthState {
  enabled = false;
  revision = 1;
  users = new Map<string, User>();
  /** Permissions by role: each a range and the type of what it permits, by their keys. */
  roles = new Map<string, readonly RangePermission[]>();
  /** How often tokens of type Simple ended: all of them, and those of a user. */
  #ends = new Map<string, number>();

  copy(): AuthState {
    const copy = new AuthState();
    copy.enabled = this.enabled;
    copy.revision = this.revision;
    copy.users = new Map(this.users);
    copy.roles = new Map(this.roles);
    copy.#ends = new Map(this.#ends);
    return copy;
  }

  apply(op: AuthOp): RefusalKind | undefined {
    const isIdle = READS.has(op.do) || this.#isThere(op);
    const refused = this.#change(op);
    // Enabling counts nothing, unlike disabling.
    if (refused === undefined && !isIdle && op.do !== "enable") this.revision++;
    return refused;
  }

  /** Which of the logins of this user one is; it is good as long as this is the same. */
  loginOf(user: string): string {
    return `${this.#ends.get("") ?? 0}.${this.#ends.get(user) ?? 0}`;
  }

  /** Without a user: everybody's. */
  #endLogins(user = ""): void {
    this.#ends.set(user, (this.#ends.get(user) ?? 0) + 1);
  }

  /** What it asks for is so: etcd does nothing, and counts nothing. */
  #isThere(op: AuthOp): boolean {
    if (op.do === "enable" || op.do === "disable") return this.enabled === (op.do === "enable");
    return op.do === "user-grant" && this.users.get(op.user)?.roles.includes(op.role) === true;
  }

  #change(op: AuthOp): RefusalKind | undefined {
    switch (op.do) {
      case "enable":
        if (this.enabled) return undefined;
        if (!this.users.has(ROOT)) return "rootUserMissing";
        if (!this.users.get(ROOT)?.roles.includes(ROOT)) return "rootRoleMissing";
        this.enabled = true;
        return undefined;
      case "disable":
        if (this.enabled) this.#endLogins();
        this.enabled = false;
        return undefined;
      case "user-add":
        if (this.users.has(op.user)) return "userExists";
        this.users.set(op.user, { password: op.password, roles: [] });
        return undefined;
      case "user-password":
        this.#endLogins(op.user);
        // One that was added without a password never gets one, and etcd says nothing.
        return this.#user(op.user, (user) =>
          user.password === undefined ? user : { ...user, password: op.password },
        );
      case "user-get":
        return this.users.has(op.user) ? undefined : "userNotFound";
      case "user-delete":
        if (this.enabled && op.user === ROOT) return "invalidManagement";
        this.#endLogins(op.user);
        return this.users.delete(op.user) ? undefined : "userNotFound";
      case "user-grant":
        // Who is not there is told first.
        if (op.role !== ROOT && !this.roles.has(op.role) && this.users.has(op.user)) return "roleNotFound";
        return this.#user(op.user, (user) => ({
          ...user,
          roles: [...without(user.roles, op.role), op.role],
        }));
      case "user-revoke":
        if (this.enabled && op.user === ROOT && op.role === ROOT) return "invalidManagement";
        if (this.users.get(op.user)?.roles.includes(op.role) === false) return "roleNotGranted";
        return this.#user(op.user, (user) => ({ ...user, roles: without(user.roles, op.role) }));
      case "role-add":
        if (this.roles.has(op.role)) return "roleExists";
        this.roles.set(op.role, []);
        return undefined;
      case "role-get":
        return this.roles.has(op.role) ? undefined : "roleNotFound";
      case "role-delete":
        if (!this.roles.delete(op.role)) return "roleNotFound";
        for (const [name, user] of this.users)
          this.users.set(name, { ...user, roles: without(user.roles, op.role) });
        return undefined;
      case "role-grant": {
        const have = this.roles.get(op.role);
        if (!have) return "roleNotFound";
        this.roles.set(op.role, granted(have, op.range, op.type));
        return undefined;
      }
      case "role-revoke": {
        const have = this.roles.get(op.role);
        if (!have) return "roleNotFound";
        const left = have.filter(([range]) => range !== rangeKey(op.range));
        if (left.length === have.length) return "permissionNotGranted";
        this.roles.set(op.role, left);
        return undefined;
      }
      case "authenticate":
        if (!this.enabled) return "authNotEnabled";
        return this.#wrongIn(op.user, op.password);
      default:
        return undefined;
    }
  }

  #wrongIn(user: string, password: string): RefusalKind | undefined {
    const known = this.users.get(user);
    if (known === undefined) return "authFailed";
    if (known.password === undefined) return "noPasswordUser";
    return known.password === password ? undefined : "authFailed";
  }

  #user(name: string, change: (user: User) => User): RefusalKind | undefined {
    const user = this.users.get(name);
    if (!user) return "userNotFound";
    this.users.set(name, change(user));
    return undefined;
  }

  /** Why this caller may not: `admin` calls take the role root, `keys` roles that permit each, others any user. */
  refuses(caller: LoggedIn | undefined, needs: Needs): RefusalKind | undefined {
    if (!this.enabled || needs.kind === "nothing" || needs.kind === "anyone") return undefined;
    if (caller === undefined) return "userEmpty";
    // A certificate without a name is a user's that is not there, but for calls of administrators.
    if (caller.user === "" && !OF_ANY_NAME.has(needs.kind)) return "userEmpty";
    const { user, revision = this.revision } = caller;
    if (needs.kind === "keys" && revision < this.revision) return "oldRevision";
    const roles = this.users.get(user)?.roles;
    // A signed token outlives its user.
    if (roles?.includes(ROOT) || needs.kind === "user") return undefined;
    if (roles === undefined) return needs.kind === "keys" ? "permissionDenied" : "userNotFound";
    return this.#permits(user, roles, needs) ? undefined : "permissionDenied";
  }

  #permits(user: string, roles: readonly string[], needs: Needs): boolean {
    switch (needs.kind) {
      case "user-itself":
        return needs.user === user;
      case "role-of-its-own":
        return roles.includes(needs.role);
      case "keys": {
        const permissions = roles.flatMap((role) => [...(this.roles.get(role) ?? [])]);
        return needs.asked.every(({ range, write }) => isCovered(range, write, permissions));
      }
      default:
        return false;
    }
  }
}

const OF_ANY_NAME: ReadonlySet<Needs["kind"]> = new Set<Needs["kind"]>(["keys", "user"]);

/** By a token or a certificate. */
export interface LoggedIn {
  readonly user: string;
  /** Of users and roles when a signed token was given: such a one is no longer good for keys when they have changed. */
  readonly revision?: number;
}

/** What a call takes. Keys in hexadecimal, as ranges are. */
export type Needs =
  /** Who shows a token of `anyone` has to show a good one. */
  | { readonly kind: "nothing" | "anyone" | "user" | "admin" }
  | { readonly kind: "user-itself"; readonly user: string }
  | { readonly kind: "role-of-its-own"; readonly role: string }
  | { readonly kind: "keys"; readonly asked: readonly Asked[] };

export interface Asked {
  readonly range: Range;
  readonly write: boolean;
}

const READS: ReadonlySet<AuthOp["do"]> = new Set([
  "status",
  "user-list",
  "role-list",
  "user-get",
  "role-get",
  "authenticate",
]);

function without(names: readonly string[], name: string): string[] {
  return names.filter((one) => one !== name);
}
