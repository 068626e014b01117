/** Permissions of an EtcdRole as etcd has them: ranges of bytes, one permission for each range. */
import type { PermissionSpec } from "../../api/etcd-role.ts";
import type { Access, Permission } from "./facts.ts";

/** From this key to the last there is, in etcd's notation. */
export const TO_THE_END = "00";

/** Two entries for one range permit what both do: so one is granted. */
export function wantedPermissions(specs: readonly PermissionSpec[]): Permission[] {
  const byRange = new Map<string, Permission>();
  for (const spec of specs) {
    const permission = permissionOf(spec);
    const other = byRange.get(rangeOf(permission));
    const access = other ? both(other.access, permission.access) : permission.access;
    byRange.set(rangeOf(permission), { ...permission, access });
  }
  return [...byRange.values()];
}

function permissionOf({ access, key, prefix, rangeEnd }: PermissionSpec): Permission {
  if (prefix && key === "") return { access, key: TO_THE_END, end: TO_THE_END };
  const start = bytesOf(key);
  const end = prefix ? afterPrefix(start) : bytesOf(rangeEnd ?? "");
  return { access, key: hexOf(start), end: hexOf(end) };
}

/** What tells two permissions of a role apart. */
export function rangeOf({ key, end }: Permission): string {
  return `${key} ${end}`;
}

/** What two permissions for one range permit. */
export function both(a: Access, b: Access): Access {
  return a === b ? a : "ReadWrite";
}

/** The first key that does not begin with it. */
function afterPrefix(prefix: readonly number[]): number[] {
  const last = prefix.findLastIndex((byte) => byte < 0xff);
  return last < 0 ? [0] : [...prefix.slice(0, last), (prefix[last] ?? 0) + 1];
}

function bytesOf(text: string): number[] {
  return [...new TextEncoder().encode(text)];
}

function hexOf(bytes: readonly number[]): string {
  return bytes.map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
