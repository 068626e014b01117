/** EtcdUsers and EtcdRoles as facts, and which Secrets with passwords they and the cluster need: the same on every platform. */
import type { EtcdClusterSpec } from "../../api/etcd-cluster-spec.ts";
import type { EtcdRole } from "../../api/etcd-role.ts";
import type { EtcdUser } from "../../api/etcd-user.ts";
import type { OwnSecrets, RoleFacts, UserFacts } from "./facts.ts";
import { isSecure } from "../config/flags.ts";
import type { MemberRecord } from "../record.ts";

type Described = Pick<EtcdUser | EtcdRole, "metadata" | "status"> & { spec: { name?: string | undefined } };

function objectFacts(object: Described, applied: boolean) {
  const { metadata, spec, status } = object;
  return {
    object: metadata.name,
    uid: metadata.uid ?? "",
    resourceVersion: metadata.resourceVersion ?? "",
    generation: metadata.generation ?? 1,
    createdAt: Date.parse(metadata.creationTimestamp ?? "") || 0,
    deleting: metadata.deletionTimestamp !== undefined,
    applied,
    name: spec.name ?? metadata.name,
    status: status ?? {},
  };
}

export function userFacts(user: EtcdUser, applied: boolean): UserFacts {
  const { passwordSecret, roles, certificate } = user.spec;
  return {
    ...objectFacts(user, applied),
    roles,
    ...(passwordSecret !== undefined && { passwordSecret }),
    ...(certificate && { certificate: true }),
  };
}

export function roleFacts(role: EtcdRole, applied: boolean): RoleFacts {
  return { ...objectFacts(role, applied), permissions: role.spec.permissions };
}

/** In the order of their creation; times have a resolution of seconds on Kubernetes. */
export function oldestFirst<T extends UserFacts | RoleFacts>(objects: readonly T[]): T[] {
  return objects.toSorted((a, b) => a.createdAt - b.createdAt || (a.object < b.object ? -1 : 1));
}

/** Whether every etcd demands a certificate of its clients, and reads their names from it; before there is one, whether it will. */
export function isByCertificate(
  { tls }: Pick<EtcdClusterSpec, "tls">,
  records: readonly Pick<MemberRecord, "template">[] = [],
): boolean {
  const running = records.map(({ template }) => template.tls);
  return (running.length > 0 ? running : [tls]).every(
    (one) => isSecure(one, "client") && one.clientAuth === "Required",
  );
}

/** Where passwords are that we make ourselves. */
export function ownSecretsOf(cluster: string, byCertificate: boolean): OwnSecrets {
  const own = { root: `${cluster}-root`, operator: `${cluster}-operator-auth` };
  return byCertificate ? own : { ...own, client: `${cluster}-client-auth` };
}

/** Those that have to be there, of all that are named. */
export function generatedSecrets(
  spec: Pick<EtcdClusterSpec, "auth">,
  own: OwnSecrets,
): { readonly user: string; readonly secret: string }[] {
  if (spec.auth?.enabled !== true) return [];
  return [
    ...(spec.auth.rootPasswordSecret === undefined ? [{ user: "root", secret: own.root }] : []),
    { user: "operator", secret: own.operator },
    ...(own.client === undefined ? [] : [{ user: "client", secret: own.client }]),
  ];
}

/** Every Secret whose password somebody needs. */
export function neededSecrets(
  spec: Pick<EtcdClusterSpec, "auth">,
  own: OwnSecrets,
  users: readonly UserFacts[],
): string[] {
  if (spec.auth?.enabled !== true) return [own.operator];
  return [
    ...new Set([
      spec.auth.rootPasswordSecret ?? own.root,
      own.operator,
      ...(own.client === undefined ? [] : [own.client]),
      ...users.flatMap(({ deleting, passwordSecret }) => (deleting ? [] : (passwordSecret ?? []))),
    ]),
  ];
}
