/**
 * etcd's authentication as each member applies it: users, roles, the switch, and who may call what (R39, R40). Passwords
 * are compared as they are; a token is the name of its user.
 */
import type { RefusalKind } from "./refusal.ts";

export interface Range {
  readonly key: string;
  readonly end: string;
}

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
  /** The type of permission by range, by role. */
  roles = new Map<string, ReadonlyMap<string, number>>();

  copy(): AuthState {
    const copy = new AuthState();
    copy.enabled = this.enabled;
    copy.revision = this.revision;
    copy.users = new Map(this.users);
    copy.roles = new Map(this.roles);
    return copy;
  }

  apply(op: AuthOp): RefusalKind | undefined {
    const isIdle = READS.has(op.do) || this.#isThere(op);
    const refused = this.#change(op);
    if (refused === undefined && !isIdle) this.revision++;
    return refused;
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
        this.enabled = false;
        return undefined;
      case "user-add":
        if (this.users.has(op.user)) return "userExists";
        this.users.set(op.user, { password: op.password, roles: [] });
        return undefined;
      case "user-password":
        // One that was added without a password never gets one, and etcd says nothing.
        return this.#user(op.user, (user) =>
          user.password === undefined ? user : { ...user, password: op.password },
        );
      case "user-get":
        return this.users.has(op.user) ? undefined : "userNotFound";
      case "user-delete":
        if (this.enabled && op.user === ROOT) return "invalidManagement";
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
        this.roles.set(op.role, new Map());
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
        this.roles.set(op.role, new Map([...have, [rangeKey(op.range), op.type]]));
        return undefined;
      }
      case "role-revoke": {
        const have = new Map(this.roles.get(op.role));
        if (!this.roles.has(op.role)) return "roleNotFound";
        if (!have.delete(rangeKey(op.range))) return "permissionNotGranted";
        this.roles.set(op.role, have);
        return undefined;
      }
      case "authenticate":
        if (!this.enabled) return "authNotEnabled";
        return this.#isRight(op.user, op.password) ? undefined : "authFailed";
      default:
        return undefined;
    }
  }

  #isRight(user: string, password: string): boolean {
    const known = this.users.get(user);
    return known?.password !== undefined && known.password === password;
  }

  #user(name: string, change: (user: User) => User): RefusalKind | undefined {
    const user = this.users.get(name);
    if (!user) return "userNotFound";
    this.users.set(name, change(user));
    return undefined;
  }

  /** Why this caller may not: `admin` calls take the role root, `key` a role that permits it, others any user. */
  refuses(user: string | undefined, needs: Needs): RefusalKind | undefined {
    if (!this.enabled || needs.kind === "nothing") return undefined;
    // A certificate without a name is nobody's, as none at all.
    if (user === undefined || user === "") return "userEmpty";
    const roles = this.users.get(user)?.roles;
    if (roles?.includes(ROOT)) return undefined;
    if (roles === undefined || needs.kind === "admin") return "permissionDenied";
    if (needs.kind !== "key") return undefined;
    const { key: asked, write } = needs;
    const permitted = roles.some((role) =>
      [...(this.roles.get(role) ?? [])].some(([range, type]) => {
        const [key = "", end = ""] = range.split(" ");
        const isIn = end === "" ? asked === key : asked >= key && (end === "00" || asked < end);
        return isIn && (type === READWRITE || type === (write ? WRITE : READ));
      }),
    );
    return permitted ? undefined : "permissionDenied";
  }
}

/** What a call takes. `key` in hexadecimal, as ranges are. */
export type Needs =
  | { readonly kind: "nothing" | "user" | "admin" }
  | { readonly kind: "key"; readonly key: string; readonly write: boolean };

const [READ, WRITE, READWRITE] = [0, 1, 2];
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

function rangeKey({ key, end }: Range): string {
  return `${key} ${end}`;
}
