/** EtcdUser and EtcdRole → the facts that core decides on. */
import { etcdRoleSchema, type EtcdRole } from "../../api/etcd-role.ts";
import { etcdUserSchema, type EtcdUser } from "../../api/etcd-user.ts";
import { resourceParser } from "../../api/parse-resource.ts";
import type { ApiError } from "../../api/validate.ts";
import { oldestFirst, roleFacts, userFacts } from "../../core/auth/objects.ts";
import type { RoleFacts, UserFacts } from "../../core/auth/facts.ts";
import { AUTH_FINALIZER } from "../names.ts";

export type ReadObject<Facts> =
  | { readonly ok: true; readonly facts: Facts }
  | { readonly ok: false; readonly errors: readonly ApiError[] };

/** Parsed again although the API server has checked it: its definition may be another release's. */
const parseUser = resourceParser("EtcdUser", etcdUserSchema);
const parseRole = resourceParser("EtcdRole", etcdRoleSchema);

/** Cached objects are frozen and live long: passes over an unchanged one share its facts. */
const users = new WeakMap<EtcdUser, ReadObject<UserFacts>>();
const roles = new WeakMap<EtcdRole, ReadObject<RoleFacts>>();

export function isApplied({ metadata }: EtcdUser | EtcdRole): boolean {
  return metadata.finalizers?.includes(AUTH_FINALIZER) === true;
}

export function readUser(object: EtcdUser): ReadObject<UserFacts> {
  return remembered(users, object, () => {
    const parsed = orDeleted(parseUser(object), parseUser, object);
    if (!parsed.ok) return parsed;
    return { ok: true, facts: userFacts({ ...object, spec: parsed.value.spec }, isApplied(object)) };
  });
}

export function readRole(object: EtcdRole): ReadObject<RoleFacts> {
  return remembered(roles, object, () => {
    const parsed = orDeleted(parseRole(object), parseRole, object);
    if (!parsed.ok) return parsed;
    return { ok: true, facts: roleFacts({ ...object, spec: parsed.value.spec }, isApplied(object)) };
  });
}

/**
 * Of one that is being deleted, only its name in etcd matters: as we told it, or as its spec has it. Whatever else of it
 * is not understood must not keep it, and access with it, for ever.
 */
function orDeleted<P extends { readonly ok: boolean }>(
  parsed: P,
  parse: (object: unknown) => P,
  { metadata, spec, status, ...kind }: EtcdUser | EtcdRole,
): P {
  if (parsed.ok || metadata.deletionTimestamp === undefined) return parsed;
  const name = status?.name ?? spec.name;
  const { cluster } = spec;
  const known = parse({ ...kind, metadata, spec: { cluster, ...(name !== undefined && { name }) } });
  return known.ok ? known : parsed;
}

function remembered<T extends object, R>(known: WeakMap<T, R>, object: T, read: () => R): R {
  const before = known.get(object);
  if (before !== undefined) return before;
  const after = read();
  if (Object.isFrozen(object)) known.set(object, after);
  return after;
}

/** Those of a cluster that can be understood, the oldest first. */
export function usersFor(objects: readonly EtcdUser[]): UserFacts[] {
  return oldestFirst(objects.map(readUser).flatMap((one) => (one.ok ? [one.facts] : [])));
}

export function rolesFor(objects: readonly EtcdRole[]): RoleFacts[] {
  return oldestFirst(objects.map(readRole).flatMap((one) => (one.ok ? [one.facts] : [])));
}
