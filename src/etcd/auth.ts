/** Users, roles and the switch of etcd's authentication. Changes are never repeated by themselves. */
import type { Caller } from "./caller.ts";
import { bytes } from "./convert.ts";
import { prefixEnd } from "./kv.ts";
import { Permission_Type } from "./proto/auth_pb.ts";
import { Auth } from "./proto/rpc_pb.ts";
import type { Bytes, CallOptions } from "./types.ts";

const { method } = Auth;
const once = { repeatable: false } as const;
const read = { repeatable: true } as const;

export type PermissionType = "READ" | "WRITE" | "READWRITE";

export interface Permission {
  readonly type: PermissionType;
  readonly key: Uint8Array;
  /** Empty for one key. */
  readonly rangeEnd: Uint8Array;
}

/** A key, or a range by its end or as a prefix. */
export interface KeyRange {
  readonly key: Bytes;
  readonly rangeEnd?: Bytes;
  readonly prefix?: boolean;
}

function wireRange(range: KeyRange): { key: Uint8Array<ArrayBuffer>; rangeEnd: Uint8Array<ArrayBuffer> } {
  if (range.prefix && range.key.length === 0) return { key: new Uint8Array(1), rangeEnd: new Uint8Array(1) };
  const rangeEnd = range.prefix ? prefixEnd(range.key) : bytes(range.rangeEnd ?? "");
  return { key: bytes(range.key), rangeEnd };
}

export class AuthCalls {
  readonly #caller: Caller;
  constructor(caller: Caller) {
    this.#caller = caller;
  }

  /** Since 3.5; 3.4 fails with `unimplemented`. */
  async status(options: CallOptions = {}): Promise<{ enabled: boolean; revision: bigint }> {
    const answer = await this.#caller.voter(method.authStatus, {}, { ...options, ...read });
    return { enabled: answer.enabled, revision: answer.authRevision };
  }
  /** Needs user root with role root (R39). */
  async enable(options: CallOptions = {}): Promise<void> {
    await this.#caller.voter(method.authEnable, {}, { ...options, ...once });
  }
  async disable(options: CallOptions = {}): Promise<void> {
    await this.#caller.voter(method.authDisable, {}, { ...options, ...once });
  }
  /** The token etcd gives for a name and password. */
  async authenticate(name: string, password: string, options: CallOptions = {}): Promise<string> {
    return (await this.#caller.voter(method.authenticate, { name, password }, { ...options, ...read })).token;
  }

  /** Without a password the user can only come by certificate (R40). */
  async userAdd(name: string, password?: string, options: CallOptions = {}): Promise<void> {
    const request = { name, password: password ?? "", options: { noPassword: password === undefined } };
    await this.#caller.voter(method.userAdd, request, { ...options, ...once });
  }
  /** The roles of a user. */
  async userGet(name: string, options: CallOptions = {}): Promise<readonly string[]> {
    return (await this.#caller.voter(method.userGet, { name }, { ...options, ...read })).roles;
  }
  async userList(options: CallOptions = {}): Promise<readonly string[]> {
    return (await this.#caller.voter(method.userList, {}, { ...options, ...read })).users;
  }
  async userDelete(name: string, options: CallOptions = {}): Promise<void> {
    await this.#caller.voter(method.userDelete, { name }, { ...options, ...once });
  }
  async userChangePassword(name: string, password: string, options: CallOptions = {}): Promise<void> {
    await this.#caller.voter(method.userChangePassword, { name, password }, { ...options, ...once });
  }
  async userGrantRole(user: string, role: string, options: CallOptions = {}): Promise<void> {
    await this.#caller.voter(method.userGrantRole, { user, role }, { ...options, ...once });
  }
  async userRevokeRole(name: string, role: string, options: CallOptions = {}): Promise<void> {
    await this.#caller.voter(method.userRevokeRole, { name, role }, { ...options, ...once });
  }

  async roleAdd(name: string, options: CallOptions = {}): Promise<void> {
    await this.#caller.voter(method.roleAdd, { name }, { ...options, ...once });
  }
  async roleGet(role: string, options: CallOptions = {}): Promise<readonly Permission[]> {
    const answer = await this.#caller.voter(method.roleGet, { role }, { ...options, ...read });
    return answer.perm.map(({ permType, key, rangeEnd }) => ({
      type: permissionName(permType),
      key,
      rangeEnd,
    }));
  }
  async roleList(options: CallOptions = {}): Promise<readonly string[]> {
    return (await this.#caller.voter(method.roleList, {}, { ...options, ...read })).roles;
  }
  async roleDelete(role: string, options: CallOptions = {}): Promise<void> {
    await this.#caller.voter(method.roleDelete, { role }, { ...options, ...once });
  }
  async roleGrantPermission(
    name: string,
    type: PermissionType,
    range: KeyRange,
    options: CallOptions = {},
  ): Promise<void> {
    const request = { name, perm: { permType: Permission_Type[type], ...wireRange(range) } };
    await this.#caller.voter(method.roleGrantPermission, request, { ...options, ...once });
  }
  async roleRevokePermission(role: string, range: KeyRange, options: CallOptions = {}): Promise<void> {
    const request = { role, ...wireRange(range) };
    await this.#caller.voter(method.roleRevokePermission, request, { ...options, ...once });
  }
}

function permissionName(type: Permission_Type): PermissionType {
  return type === Permission_Type.READ ? "READ" : type === Permission_Type.WRITE ? "WRITE" : "READWRITE";
}
