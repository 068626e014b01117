/**
 * What a restore in place needs before any member is stopped: a volume for the snapshot, of the size that a member's has,
 * and the Pod that fetches the snapshot onto it and reads it to its end. The first new member is restored from there, so
 * that nothing depends on the store any more once members are stopped. `restartPolicy: Never`, and a new Pod for a new
 * attempt. No selector of a cluster meets it.
 */
import type { Container, PersistentVolumeClaim, Pod, Volume } from "kubernetes-types/core/v1.d.ts";
import type { Action } from "../../core/action.ts";
import type { MemberTemplate } from "../../core/record.ts";
import { STAGED_FILE } from "../../snapshot/stage.ts";
import { ANNOTATIONS, FETCH_CONTAINER, fetchPodName, LABELS, restoreClaimName } from "../names.ts";
import { claimSpec } from "./claim.ts";
import { PATHS } from "./config.ts";
import { literal } from "./literal.ts";
import { ownedByCluster, type Identity } from "./metadata.ts";
import { approvalOf, helperLabels, helperSpec, ours, RESULT_FILE } from "./recovery-pods.ts";
import { REPORTING } from "./report.ts";
import { sourceParts } from "./restore.ts";
import { accessLabels } from "./store-access.ts";
import { VOLUMES } from "./volumes.ts";

export type Fetch = Extract<Action, { kind: "FetchSnapshot" }>;

export interface FetchWishes {
  /** Our own image. */
  readonly image: string;
  /** Of the members that will be. */
  readonly template: MemberTemplate;
  /** With medium HostPath: where the snapshot goes. */
  readonly node?: string | undefined;
}

/** The value of the label `task`, on both. */
export const FETCH_TASK = "fetch";

/** A snapshot of the largest database that etcd is made for, over a slow line. */
const FETCH_SECONDS = 21_600;

/** It has an owner, unlike the claim of a member: what is on it is in the store, too. */
export function restoreClaim(
  cluster: Identity,
  plan: string,
  template: MemberTemplate,
): PersistentVolumeClaim {
  return {
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    metadata: {
      name: restoreClaimName(cluster.name, plan),
      namespace: cluster.namespace,
      labels: helperLabels(cluster, FETCH_TASK),
      annotations: { ...cluster.spec?.metadata?.annotations, [ANNOTATIONS.plan]: plan },
      ownerReferences: [ownedByCluster(cluster)],
    },
    spec: claimSpec(template),
  };
}

export function fetchPod(cluster: Identity, action: Fetch, { image, template, node }: FetchWishes): Pod {
  const { plan, attempt, restore, version, operation } = action;
  const source = sourceParts(restore);
  const { source: from, checksum } = restore;
  const asked = { source: from, ...(checksum !== undefined && { checksum }) };
  const container: Container = {
    ...ours({ image }),
    name: FETCH_CONTAINER,
    args: [
      "snapshot",
      "stage",
      PATHS.dataMount,
      "--etcd-version",
      literal(version),
      ...REPORTING,
      ...source.args,
      "--result-file",
      RESULT_FILE,
    ],
    env: [{ name: "QUORATE_RESTORE", value: literal(JSON.stringify(asked)) }, ...source.env],
    volumeMounts: [{ name: VOLUMES.data, mountPath: PATHS.dataMount }, ...source.mounts],
  };
  const { serviceAccountName } = template.pod;
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name: fetchPodName(cluster.name, plan, attempt),
      namespace: cluster.namespace,
      labels: {
        ...accessLabels(from),
        ...helperLabels(cluster, FETCH_TASK),
        [LABELS.attempt]: String(attempt),
      },
      annotations: {
        ...cluster.spec?.metadata?.annotations,
        [ANNOTATIONS.plan]: approvalOf(plan, operation),
        [ANNOTATIONS.recipe]: JSON.stringify(restore),
      },
      ownerReferences: [ownedByCluster(cluster)],
    },
    spec: {
      ...helperSpec(template, node),
      // By it clouds give an identity to a Pod, as to the members that start from a snapshot.
      ...(serviceAccountName !== undefined && { serviceAccountName }),
      activeDeadlineSeconds: FETCH_SECONDS,
      containers: [container],
      volumes: [volumeFor(cluster, plan, template), ...source.volumes],
    },
  };
}

function volumeFor(cluster: Identity, plan: string, template: MemberTemplate): Volume {
  const name = VOLUMES.data;
  return template.storage.medium === "HostPath"
    ? { name, hostPath: { path: directoryFor(cluster, plan, template), type: "DirectoryOrCreate" } }
    : { name, persistentVolumeClaim: { claimName: restoreClaimName(cluster.name, plan) } };
}

/** Beside the directories of the members, and like theirs of no other cluster. */
function directoryFor({ namespace, name, uid }: Identity, plan: string, { storage }: MemberTemplate): string {
  const below = (storage.hostPath ?? "").replace(/\/+$/, "");
  return `${below}/${namespace}/${name}.${uid}/restore.${plan}`;
}

/** Where the first new member finds what the Pod has fetched. */
export function fetchedPlace(
  cluster: Identity,
  plan: string,
  template: MemberTemplate,
):
  | { readonly file: { readonly path: string } }
  | { readonly pvc: { readonly claimName: string; readonly path: string } } {
  return template.storage.medium === "HostPath"
    ? { file: { path: `${directoryFor(cluster, plan, template)}/${STAGED_FILE}` } }
    : { pvc: { claimName: restoreClaimName(cluster.name, plan), path: STAGED_FILE } };
}
