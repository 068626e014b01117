/** The Auth service as one member of the model answers it, and what each call of the others takes (R40). */
import { Buffer } from "node:buffer";
import {
  AlarmRequest_AlarmAction,
  type AlarmRequest,
  type RequestOp,
  type TxnRequest,
} from "../../../src/etcd/proto/rpc_pb.ts";
import type { Asked, LoggedIn, Needs } from "./auth.ts";
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

/**
 * Members with the same key accept each other's tokens; of type Simple, all keep those that one has given, by the entry of
 * the log that was its login, until they end.
 */
function tokenOf({ tokenKey, dir: { state, log } }: Server, user: string): string {
  return tokenKey === undefined
    ? `simple ${state.auth.loginOf(user)}.${log.length} ${user}`
    : `${tokenKey} ${state.auth.revision} ${user}`;
}

/**
 * Throws what etcd refuses this call with. `by` is the token that came with it, or whom a certificate names; a token counts
 * first.
 */
export function admit(
  server: Server,
  call: string,
  request: unknown,
  by: string | LoggedIn | undefined,
): void {
  const { auth } = server.dir.state;
  const needs = needsOf(call, request, server.minor);
  if (!auth.enabled || needs.kind === "nothing") return;
  try {
    const refused = auth.refuses(typeof by === "string" ? holderOf(server, by) : by, needs);
    if (refused) throw new Refusal(refused);
  } catch (error) {
    // There 3.5 lets out what it says to itself.
    if (error instanceof Refusal && server.minor < 3006 && UNTRANSLATED.has(call))
      throw new Refusal(error.kind === "userNotFound" ? "userUnknown" : error.kind, "UNKNOWN", "auth: ");
    throw error;
  }
}

/** Whose token it is. */
function holderOf({ tokenKey = "simple", dir: { state }, bootIndex }: Server, token: string): LoggedIn {
  const [key, login = "", ...rest] = token.split(" ");
  const user = rest.join(" ");
  if (key !== tokenKey) throw new Refusal("invalidToken");
  if (key !== "simple") return { user, revision: Number(login) };
  const [, which = "", entry = ""] = /^(.*)\.(\d+)$/.exec(login) ?? [];
  const isKnown = which === state.auth.loginOf(user) && Number(entry) > bootIndex;
  if (!isKnown) throw new Refusal("invalidToken");
  return { user };
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

const UNTRANSLATED = new Set(["Maintenance.Defragment", "Maintenance.HashKV"]);

/** Calls that any user may make; those of KV go by the keys; all others take the role root. */
const ANYBODY = new Set(["Maintenance.Status", "Cluster.MemberList"]);

function needsOf(call: string, request: unknown, minor: number): Needs {
  if (call === "Auth.Authenticate") return { kind: "nothing" };
  if (call === "Auth.AuthStatus" && minor >= 3007) return { kind: "anyone" };
  if (ANYBODY.has(call)) return { kind: "user" };
  switch (call) {
    case "KV.Range":
      return { kind: "keys", asked: [asked(request as KeyRequest, false)] };
    case "KV.Put":
    case "KV.DeleteRange":
      return { kind: "keys", asked: changed(request as KeyRequest) };
    case "KV.Txn": {
      const { compare, success, failure } = request as TxnRequest;
      const compared = compare.map((one) => asked(one, false));
      return { kind: "keys", asked: [...compared, ...[...success, ...failure].flatMap(askedBy)] };
    }
    // Of themselves they may know.
    case "Auth.UserGet":
      return { kind: "user-itself", user: (request as { name: string }).name };
    case "Auth.RoleGet":
      return { kind: "role-of-its-own", role: (request as { role: string }).role };
    case "Maintenance.Alarm":
      return { kind: (request as AlarmRequest).action === AlarmRequest_AlarmAction.GET ? "user" : "admin" };
    default:
      return { kind: "admin" };
  }
}

interface KeyRequest {
  readonly key: Uint8Array;
  readonly rangeEnd?: Uint8Array;
  readonly prevKv?: boolean;
}

function asked({ key, rangeEnd = new Uint8Array() }: KeyRequest, write: boolean): Asked {
  return { range: { key: hex(key), end: hex(rangeEnd) }, write };
}

/** Who wants to see what was there before has to be allowed to read it. */
function changed(request: KeyRequest): Asked[] {
  return [asked(request, true), ...(request.prevKv ? [asked(request, false)] : [])];
}

function askedBy({ request }: RequestOp): Asked[] {
  switch (request.case) {
    case "requestRange":
      return [asked(request.value, false)];
    case "requestPut":
    case "requestDeleteRange":
      return changed(request.value);
    case "requestTxn":
      return [...request.value.success, ...request.value.failure].flatMap(askedBy);
    default:
      return [];
  }
}
