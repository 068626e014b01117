/** The Auth service as one member of the model answers it, and what each call of the others takes (R40). */
import { Buffer } from "node:buffer";
import type { Needs } from "./auth.ts";
import type { Calls } from "./calls.ts";
import { Refusal } from "./refusal.ts";
import type { Server } from "./server.ts";

type Answer = Record<string, unknown>;

const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString("hex");

interface Permission {
  readonly permType: number;
  readonly key: Uint8Array;
  readonly rangeEnd: Uint8Array;
}

/** Members with the same key, or without one, accept each other's tokens. */
function tokenOf({ tokenKey = "" }: Server, user: string): string {
  return `${tokenKey} ${user}`;
}

/** Whose token it is. */
export function userOf({ tokenKey = "" }: Server, token: string): string {
  const [key, ...user] = token.split(" ");
  if (key !== tokenKey) throw new Refusal("invalidToken");
  return user.join(" ");
}

/** The handlers by the names of their calls. Every one is an entry of the log, the questions too. */
export function authAnswers(calls: Calls, header: (server: Server) => Answer) {
  const answer = (server: Server, more: Answer = {}): Answer => ({ header: header(server), ...more });
  return {
    "Auth.AuthStatus": (server: Server): Answer => {
      const { enabled, revision } = calls.auth(server, { do: "status" });
      return answer(server, { enabled, authRevision: BigInt(revision) });
    },
    "Auth.AuthEnable": (server: Server): Answer => {
      calls.auth(server, { do: "enable" });
      return answer(server);
    },
    "Auth.AuthDisable": (server: Server): Answer => {
      calls.auth(server, { do: "disable" });
      return answer(server);
    },
    "Auth.Authenticate": (server: Server, { name, password }: { name: string; password: string }): Answer => {
      calls.auth(server, { do: "authenticate", user: name, password });
      return answer(server, { token: tokenOf(server, name) });
    },
    "Auth.UserAdd": (
      server: Server,
      request: { name: string; password: string; options?: { noPassword: boolean } },
    ): Answer => {
      const password = request.options?.noPassword ? undefined : request.password;
      calls.auth(server, { do: "user-add", user: request.name, password });
      return answer(server);
    },
    "Auth.UserGet": (server: Server, { name }: { name: string }): Answer => {
      const { users } = calls.auth(server, { do: "user-get", user: name });
      return answer(server, { roles: [...(users.get(name)?.roles ?? [])] });
    },
    "Auth.UserList": (server: Server): Answer => {
      const { users } = calls.auth(server, { do: "user-list" });
      return answer(server, { users: [...users.keys()] });
    },
    "Auth.UserDelete": (server: Server, { name }: { name: string }): Answer => {
      calls.auth(server, { do: "user-delete", user: name });
      return answer(server);
    },
    "Auth.UserChangePassword": (
      server: Server,
      { name, password }: { name: string; password: string },
    ): Answer => {
      calls.auth(server, { do: "user-password", user: name, password });
      return answer(server);
    },
    "Auth.UserGrantRole": (server: Server, { user, role }: { user: string; role: string }): Answer => {
      calls.auth(server, { do: "user-grant", user, role });
      return answer(server);
    },
    "Auth.UserRevokeRole": (server: Server, { name, role }: { name: string; role: string }): Answer => {
      calls.auth(server, { do: "user-revoke", user: name, role });
      return answer(server);
    },
    "Auth.RoleAdd": (server: Server, { name }: { name: string }): Answer => {
      calls.auth(server, { do: "role-add", role: name });
      return answer(server);
    },
    "Auth.RoleGet": (server: Server, { role }: { role: string }): Answer => {
      const { roles } = calls.auth(server, { do: "role-get", role });
      const perm = [...(roles.get(role) ?? [])].map(([range, permType]) => {
        const [key = "", end = ""] = range.split(" ");
        return { permType, key: Buffer.from(key, "hex"), rangeEnd: Buffer.from(end, "hex") };
      });
      return answer(server, { perm });
    },
    "Auth.RoleList": (server: Server): Answer => {
      const { roles } = calls.auth(server, { do: "role-list" });
      return answer(server, { roles: [...roles.keys()] });
    },
    "Auth.RoleDelete": (server: Server, { role }: { role: string }): Answer => {
      calls.auth(server, { do: "role-delete", role });
      return answer(server);
    },
    "Auth.RoleGrantPermission": (
      server: Server,
      { name, perm }: { name: string; perm: Permission },
    ): Answer => {
      const range = { key: hex(perm.key), end: hex(perm.rangeEnd) };
      calls.auth(server, { do: "role-grant", role: name, type: perm.permType, range });
      return answer(server);
    },
    "Auth.RoleRevokePermission": (
      server: Server,
      { role, key, rangeEnd }: { role: string; key: Uint8Array; rangeEnd: Uint8Array },
    ): Answer => {
      calls.auth(server, { do: "role-revoke", role, range: { key: hex(key), end: hex(rangeEnd) } });
      return answer(server);
    },
  };
}

/** Calls that any user may make; those of KV go by the key; all others take the role root. */
const ANYBODY = new Set(["Maintenance.Status", "Cluster.MemberList", "KV.Compact", "KV.Txn"]);

export function needsOf(call: string, request: unknown): Needs {
  if (call === "Auth.Authenticate") return { kind: "nothing" };
  if (ANYBODY.has(call)) return { kind: "user" };
  if (call.startsWith("KV.")) {
    const { key = new Uint8Array() } = request as { key?: Uint8Array };
    return { kind: "key", key: hex(key), write: call !== "KV.Range" };
  }
  return { kind: "admin" };
}
