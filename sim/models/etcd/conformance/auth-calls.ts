/**
 * Calls about users and roles, with auth off: what members keep of them is compared, and what they refuse. Auth is only
 * ever enabled where etcd must refuse it: from then on each look at a side would have to log in first.
 */
import { Buffer } from "node:buffer";
import type { SeededRandom } from "../../../engine/random.ts";
import type { Caller } from "../../../../src/etcd/caller.ts";
import { Permission_Type } from "../../../../src/etcd/proto/auth_pb.ts";
import { Auth } from "../../../../src/etcd/proto/rpc_pb.ts";
import type { Endpoint } from "../../../../src/seams/etcd-transport.ts";
import type { AuthOp, AuthState } from "../auth.ts";

const USERS = ["alice", "bob", "root"];
const ROLES = ["app", "ops", "root"];
const PASSWORDS = ["one", "two"];
const TYPES = [Permission_Type.READ, Permission_Type.WRITE, Permission_Type.READWRITE];
const RANGES = [
  { key: "a", end: "" },
  { key: "a", end: "c" },
  { key: "b", end: "\0" },
] as const;

export function authCall(random: SeededRandom, auth: AuthState | undefined): AuthOp {
  const [user, role] = [random.pick(USERS), random.pick(ROLES)];
  const password = random.pick(PASSWORDS);
  const range = random.pick(RANGES);
  const lacks = auth !== undefined && auth.users.get("root")?.roles.includes("root") !== true;
  return random.pick<AuthOp>([
    { do: "status" },
    { do: "user-list" },
    { do: "role-list" },
    { do: "disable" },
    lacks ? { do: "enable" } : { do: "status" },
    { do: "authenticate", user, password },
    { do: "user-add", user, password: random.chance(0.3) ? undefined : password },
    { do: "user-password", user, password },
    { do: "user-get", user },
    { do: "user-delete", user },
    { do: "user-grant", user, role },
    { do: "user-grant", user, role },
    { do: "user-revoke", user, role },
    // etcd has the role root by itself, once auth is enabled.
    { do: "role-add", role: random.pick(["app", "ops"]) },
    { do: "role-get", role: random.pick(["app", "ops"]) },
    { do: "role-delete", role: random.pick(["app", "ops"]) },
    { do: "role-grant", role: random.pick(["app", "ops"]), type: random.between(0, 2), range },
    { do: "role-revoke", role: random.pick(["app", "ops"]), range },
  ]);
}

type Value = Record<string, unknown>;

export async function askAuth(
  caller: Caller,
  endpoint: Endpoint,
  op: AuthOp,
  options: { readonly timeoutMs: number },
): Promise<Value> {
  const { method } = Auth;
  const bytes = (text: string) => Buffer.from(text);
  switch (op.do) {
    case "status": {
      const { enabled, authRevision } = await caller.at(endpoint, method.authStatus, {}, options);
      return { enabled, revision: String(authRevision) };
    }
    case "enable":
      await caller.at(endpoint, method.authEnable, {}, options);
      return {};
    case "disable":
      await caller.at(endpoint, method.authDisable, {}, options);
      return {};
    case "user-list":
      return { users: (await caller.at(endpoint, method.userList, {}, options)).users.toSorted() };
    case "role-list":
      return { roles: (await caller.at(endpoint, method.roleList, {}, options)).roles.toSorted() };
    case "authenticate":
      await caller.at(endpoint, method.authenticate, { name: op.user, password: op.password }, options);
      return {};
    case "user-add": {
      const { user: name, password } = op;
      const request = { name, password: password ?? "", options: { noPassword: password === undefined } };
      await caller.at(endpoint, method.userAdd, request, options);
      return {};
    }
    case "user-password":
      await caller.at(endpoint, method.userChangePassword, { name: op.user, password: op.password }, options);
      return {};
    case "user-get":
      return {
        roles: (await caller.at(endpoint, method.userGet, { name: op.user }, options)).roles.toSorted(),
      };
    case "user-delete":
      await caller.at(endpoint, method.userDelete, { name: op.user }, options);
      return {};
    case "user-grant":
      await caller.at(endpoint, method.userGrantRole, { user: op.user, role: op.role }, options);
      return {};
    case "user-revoke":
      await caller.at(endpoint, method.userRevokeRole, { name: op.user, role: op.role }, options);
      return {};
    case "role-add":
      await caller.at(endpoint, method.roleAdd, { name: op.role }, options);
      return {};
    case "role-get": {
      const { perm } = await caller.at(endpoint, method.roleGet, { role: op.role }, options);
      const said = perm.map(({ permType, key, rangeEnd }) => {
        return `${permType} ${Buffer.from(key).toString("hex")} ${Buffer.from(rangeEnd).toString("hex")}`;
      });
      return { permissions: said.toSorted() };
    }
    case "role-delete":
      await caller.at(endpoint, method.roleDelete, { role: op.role }, options);
      return {};
    case "role-grant": {
      const perm = {
        permType: TYPES[op.type] ?? Permission_Type.READ,
        key: bytes(op.range.key),
        rangeEnd: bytes(op.range.end),
      };
      await caller.at(endpoint, method.roleGrantPermission, { name: op.role, perm }, options);
      return {};
    }
    case "role-revoke": {
      const request = { role: op.role, key: bytes(op.range.key), rangeEnd: bytes(op.range.end) };
      await caller.at(endpoint, method.roleRevokePermission, request, options);
      return {};
    }
  }
}
