/**
 * EtcdUsers and EtcdRoles whose cluster cannot act on them: it does not exist, or is invalid without members. They are
 * told so, and one that is deleted is let go, since what it was made in is gone. Also those that this release does not
 * understand, whatever their cluster.
 */
import type { EtcdRole } from "../../api/etcd-role.ts";
import type { EtcdUser } from "../../api/etcd-user.ts";
import { effectiveName } from "../../api/auth-object.ts";
import { authStatus, textOf, type AuthVerdict } from "../../core/auth/report.ts";
import { authVerdict } from "../../core/messages/auth-verdicts.ts";
import type { KubeClient } from "../../kube/client.ts";
import { keyOf, refOf } from "../../kube/resources.ts";
import type { Clock } from "../../seams/clock.ts";
import { updateAuthObject } from "../apply/execute.ts";
import { findOne } from "../apply/keep.ts";
import type { NamedCluster } from "./named-cluster.ts";
import { textOf as textOfErrors } from "../records/cluster-object.ts";
import { AUTH_FINALIZER } from "../names.ts";
import { isApplied, readRole, readUser } from "../records/auth-object.ts";
import { etcdClusters } from "../resources.ts";

type AuthObject = EtcdUser | EtcdRole;

/** What to report; undefined for one that is its cluster's worker's business. */
export function authVerdictOn(object: AuthObject, cluster: NamedCluster): AuthVerdict | undefined {
  const { cluster: name } = object.spec;
  const read = object.kind === "EtcdRole" ? readRole(object) : readUser(object);
  if (!read.ok) {
    const errors = textOfErrors(read.errors);
    if (object.metadata.deletionTimestamp === undefined)
      return { is: "Stalled", ...authVerdict("NotUnderstood", { errors }) };
    const of = { kind: object.kind === "EtcdRole" ? "role" : "user", name: effectiveName(object) } as const;
    return {
      is: "Stalled",
      ...authVerdict("NotUnderstoodNorDeleted", { ...of, errors, finalizer: AUTH_FINALIZER }),
    };
  }
  if (cluster.is === "present") return undefined;
  if (cluster.is === "invalid")
    return { is: "Stalled", ...authVerdict("ClusterInvalid", { cluster: name, why: cluster.why }) };
  const { namespace = "" } = object.metadata;
  return { is: "Stalled", ...authVerdict("ClusterNotFound", { cluster: name, namespace }) };
}

export async function reportAuthObject(
  client: KubeClient,
  clock: Clock,
  object: AuthObject,
  cluster: NamedCluster,
): Promise<void> {
  if (object.metadata.deletionTimestamp !== undefined) {
    if (!isApplied(object)) return;
    if (cluster.is !== "absent") return await reportVerdict(client, clock, object, cluster);
    // A cache that is behind must not leave a user in etcd.
    const ref = { ...refOf(keyOf(object)), name: object.spec.cluster };
    if (await findOne(client, etcdClusters, ref)) return;
    await updateAuthObject(client, object, { applied: false });
    return;
  }
  await reportVerdict(client, clock, object, cluster);
}

async function reportVerdict(
  client: KubeClient,
  clock: Clock,
  object: AuthObject,
  cluster: NamedCluster,
): Promise<void> {
  const verdict = authVerdictOn(object, cluster);
  const { status = {}, metadata } = object;
  if (!verdict || (status.reason === verdict.reason && status.message === textOf(verdict))) return;
  const facts = { status, generation: metadata.generation ?? 1, name: effectiveName(object) };
  await updateAuthObject(client, object, { status: authStatus(facts, verdict, clock.now()) });
}
