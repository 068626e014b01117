/** Permissions of an EtcdRole as etcd has them: ranges of bytes, one permission for each range. */
import type { PermissionSpec } from "../../api/etcd-role.ts";
import type { Access, Permission } from "./facts.ts";

/** From this key to the last there is, in etcd's notation. */
const TO_THE_END = "00";

/** Two entries for one range permit what both do: etcd keeps one permission for each range. */
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

function both(a: Access, b: Access): Access {
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

/** For people: the key as text where it is one. */
export function sayRange({ key, end }: Permission): string {
  const from = textOf(key);
  if (end === "") return from;
  if (end === TO_THE_END) return key === TO_THE_END ? "all keys" : `${from} and all keys after it`;
  return `${from} to ${textOf(end)}`;
}

function textOf(hex: string): string {
  const bytes = Uint8Array.from(hex.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
  const text = new TextDecoder().decode(bytes);
  return /^[\x20-\x7e]+$/.test(text) ? text : `0x${hex}`;
}
