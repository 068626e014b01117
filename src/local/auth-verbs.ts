/** What people do with the EtcdUsers and EtcdRoles of a local cluster: apply, list and delete them. The loop applies them to etcd. */
import { etcdRoleSchema, type EtcdRole } from "../api/etcd-role.ts";
import { etcdUserSchema, type EtcdUser } from "../api/etcd-user.ts";
import { resourceParser } from "../api/parse-resource.ts";
import type { ObjectKind } from "../core/auth/diff.ts";
import type { AuthObject, AuthStore } from "./auth-store.ts";
import { fieldError, InvalidInput } from "./change.ts";
import type { Done, Subject } from "./operations.ts";
import { Refused } from "./refused.ts";

const PARSERS = {
  EtcdUser: resourceParser("EtcdUser", etcdUserSchema),
  EtcdRole: resourceParser("EtcdRole", etcdRoleSchema),
} as const;

/** What the API server accepts as a name, and what is safe as a file. */
const NAME = /^[a-z0-9]([-a-z0-9.]{0,61}[a-z0-9])?$/;

export const authVerbs = {
  async applyAuthObject(subject: Subject, manifest: unknown): Promise<Done> {
    const kind = kindOf(manifest);
    const { platform, layout } = subject;
    const name = (manifest as { metadata?: { name?: unknown } }).metadata?.name;
    const store = storeOf(subject, kind);
    const old = typeof name === "string" && NAME.test(name) ? await store.get(name) : undefined;
    const parsed = PARSERS[kind](manifest, old as never);
    if (!parsed.ok) throw new InvalidInput(parsed.errors);
    const { metadata, spec } = parsed.value as EtcdUser | EtcdRole;
    if (!NAME.test(metadata.name))
      throw fieldError(
        "metadata.name",
        "use at most 63 lower-case letters, digits, dots and dashes, starting and ending with a letter or digit",
      );
    const cluster = await platform.store.cluster();
    if (!cluster) throw new Refused(`there is no cluster in ${layout.dir}`);
    if (spec.cluster !== cluster.name)
      throw fieldError(
        "spec.cluster",
        `the directory belongs to the cluster ${JSON.stringify(cluster.name)}, not ${JSON.stringify(spec.cluster)}`,
      );
    if (old?.metadata.deletionTimestamp !== undefined)
      throw new Refused(`${kind} ${metadata.name} is being deleted; apply it again once it is gone`);
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
    if (!NAME.test(name) || !(await store.delete(name))) {
      const names = (await store.list()).objects.map(({ object }) => object.metadata.name);
      throw new Refused(
        `no ${kind} is named ${JSON.stringify(name)}; there are ${names.join(", ") || "none"}`,
      );
    }
    subject.wake();
    return { text: `${kind} ${name} deleted` };
  },
};

function kindOf(manifest: unknown): ObjectKind {
  const { kind } = (manifest ?? {}) as { kind?: unknown };
  if (kind === "EtcdUser" || kind === "EtcdRole") return kind;
  throw fieldError("kind", `must be EtcdUser or EtcdRole, not ${JSON.stringify(kind)}`);
}

function storeOf({ platform }: Subject, kind: ObjectKind): AuthStore {
  return kind === "EtcdUser" ? platform.auth.users : platform.auth.roles;
}
