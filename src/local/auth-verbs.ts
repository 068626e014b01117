/** What people do with the EtcdUsers and EtcdRoles of a local cluster: apply, list and delete them. The loop applies them to etcd. */
import { etcdRoleSchema, type EtcdRole } from "../api/etcd-role.ts";
import { etcdUserSchema, type EtcdUser } from "../api/etcd-user.ts";
import { resourceParser } from "../api/parse-resource.ts";
import type { ObjectKind } from "../core/auth/facts.ts";
import type { AuthObject, AuthStore } from "./auth-store.ts";
import { InvalidInput } from "./change.ts";
import type { Done, Subject } from "./verb.ts";
import { isResourceName, kindAmong, noneNamed, requireNotDeleted, requireOurs } from "./resource-verbs.ts";

const PARSERS = {
  EtcdUser: resourceParser("EtcdUser", etcdUserSchema),
  EtcdRole: resourceParser("EtcdRole", etcdRoleSchema),
} as const;

export const authVerbs = {
  async applyAuthObject(subject: Subject, manifest: unknown): Promise<Done> {
    const kind = kindAmong(manifest, ["EtcdUser", "EtcdRole"]);
    const { name } = (manifest as { metadata?: { name?: unknown } }).metadata ?? {};
    const store = storeOf(subject, kind);
    const old = isResourceName(name) ? await store.get(name) : undefined;
    const parsed = PARSERS[kind](manifest, old as never);
    if (!parsed.ok) throw new InvalidInput(parsed.errors);
    const { metadata, spec } = parsed.value as EtcdUser | EtcdRole;
    await requireOurs(subject, { metadata, spec });
    requireNotDeleted(old);
    const done = await store.apply(metadata.name, spec);
    subject.wake();
    return { text: `${kind} ${metadata.name} ${done}` };
  },

  async listAuthObjects(subject: Subject, kind: ObjectKind): Promise<readonly AuthObject[]> {
    return (await storeOf(subject, kind).list()).objects.map(({ object }) => object);
  },

  async deleteAuthObject(
    subject: Subject,
    { kind, name }: { readonly kind: ObjectKind; readonly name: string },
  ): Promise<Done> {
    const store = storeOf(subject, kind);
    if (!isResourceName(name) || !(await store.delete(name))) {
      const { objects } = await store.list();
      throw noneNamed(
        kind,
        name,
        objects.map(({ object }) => object.metadata.name),
      );
    }
    subject.wake();
    return { text: `${kind} ${name} deleted` };
  },
};

function storeOf({ platform }: Subject, kind: ObjectKind): AuthStore {
  return kind === "EtcdUser" ? platform.auth.users : platform.auth.roles;
}
