/**
 * The Job that takes a snapshot, verifies it, or deletes it from its store: our own image, the restricted profile, no token of
 * Kubernetes. Its labels are met by no selector of a cluster, and its Pods are retried by Kubernetes within its deadline.
 */
import type { Job } from "kubernetes-types/batch/v1.d.ts";
import type { PodSpec, ServiceAccount } from "kubernetes-types/core/v1.d.ts";
import { API_VERSION } from "../../api/metadata.ts";
import { lifeFlags, type ClusterLife } from "../../core/snapshots/life.ts";
import { jobName, objectID } from "../../core/snapshots/names.ts";
import type { SnapshotFacts, SnapshotTask } from "../../core/snapshots/facts.ts";
import { LABELS, SNAPSHOT_SERVICE_ACCOUNT, VERIFY_CONTAINERS } from "../names.ts";
import { storeParts } from "./destination.ts";
import { literal } from "./literal.ts";
import { REPORTING } from "./report.ts";
import { etcdSecurity, podSecurity } from "./security.ts";
import { accessLabels, keyParts, type MountedParts } from "./store-access.ts";
import { buildPod, verifyPod, type EtcdImage } from "./verify-pod.ts";

export interface JobWishes {
  readonly namespace: string;
  readonly image: string;
  readonly task: SnapshotTask;
  readonly attempt: number;
  readonly endpoints: readonly string[];
  /** That the endpoints are of. */
  readonly life?: ClusterLife | undefined;
  /** The hash of the keys is recorded, for a verification. */
  readonly hashKv?: boolean | undefined;
  /** The Secret with the client certificate; undefined where there is no TLS. */
  readonly secret?: string | undefined;
  /** Which a verification restores with, and a point in time is built with. */
  readonly etcd?: EtcdImage | undefined;
  /** For a point in time. */
  readonly etcdVersion?: string | undefined;
  /** The same: bytes that a snapshot may have. */
  readonly size?: number | undefined;
}

const DEADLINE_SECONDS = 21_600;
/** Pods that may fail before the Job has; Kubernetes waits 10, 20 and 40 s between them. */
const RETRIES = 3;
/** For whoever wants to read its log. */
const KEEP_SECONDS = 86_400;
/** The last container of its Pod, whose end is the Pod's. */
export const SNAPSHOT_CONTAINER = "snapshot";
/** Exit codes of the command that another attempt would end with too: what was asked is wrong, not allowed, or damaged. */
const DEFINITE = [2, 4];
const DAMAGED = 8;
/** Of mounted Secrets: for the group of the Pod alone. */
export const FILE_MODE = 0o440;
const TLS_DIR = "/etc/quorate/etcd";
export const RESULT_FILE = "/dev/termination-log";

export function snapshotJob(snapshot: SnapshotFacts, wishes: JobWishes): Job {
  const { task, attempt, namespace } = wishes;
  const labels = jobLabels(snapshot, task, attempt);
  const { name, uid, spec } = snapshot;
  return {
    apiVersion: "batch/v1",
    kind: "Job",
    metadata: {
      name: jobName(snapshot, task, attempt),
      namespace,
      labels,
      // Without blocking its deletion, which would take a right on the finalizers of the owner.
      ownerReferences: [{ apiVersion: API_VERSION, kind: "EtcdSnapshot", name, uid, controller: true }],
    },
    spec: {
      backoffLimit: RETRIES,
      activeDeadlineSeconds: spec.activeDeadlineSeconds ?? DEADLINE_SECONDS,
      ttlSecondsAfterFinished: KEEP_SECONDS,
      podFailurePolicy: {
        rules: [
          // A Pod that is evicted or preempted has not failed by itself.
          { action: "Ignore", onPodConditions: [{ type: "DisruptionTarget", status: "True" }] },
          ...[SNAPSHOT_CONTAINER, ...(usesScratch(snapshot, task) ? [VERIFY_CONTAINERS.fetch] : [])].map(
            (containerName) => ({
              action: "FailJob",
              onExitCodes: {
                containerName,
                operator: "In",
                values: usesScratch(snapshot, task) ? [...DEFINITE, DAMAGED] : DEFINITE,
              },
            }),
          ),
        ],
      },
      template: {
        metadata: { labels: { ...accessLabels(spec.destination), ...labels } },
        spec: usesScratch(snapshot, task) ? inScratch(snapshot, wishes) : podSpec(snapshot, wishes),
      },
    },
  };
}

function jobLabels(
  { spec, uid }: SnapshotFacts,
  task: SnapshotTask,
  attempt: number,
): Record<string, string> {
  return {
    "app.kubernetes.io/name": "quorate",
    "app.kubernetes.io/instance": spec.cluster,
    "app.kubernetes.io/component": "snapshot",
    "app.kubernetes.io/managed-by": "quorate",
    // By it the operator finds them; every selector of a cluster asks for the component of a member too.
    [LABELS.cluster]: spec.cluster,
    [LABELS.snapshotUID]: uid,
    [LABELS.task]: task,
    [LABELS.attempt]: String(attempt),
  };
}

/** A verification, and a point in time, need an etcd of their own. */
function usesScratch({ spec }: SnapshotFacts, task: SnapshotTask): boolean {
  return task === "verify" || (task === "save" && spec.pointInTime !== undefined);
}

function inScratch(
  snapshot: SnapshotFacts,
  { task, image, etcd, etcdVersion = "", size = 0 }: JobWishes,
): PodSpec {
  if (etcd === undefined) throw new TypeError("a scratch etcd was decided on without its image");
  const wishes = { image, etcd, container: SNAPSHOT_CONTAINER, resultFile: RESULT_FILE };
  return task === "verify"
    ? verifyPod(snapshot, wishes)
    : buildPod(snapshot, { ...wishes, etcdVersion, size });
}

function podSpec(
  snapshot: SnapshotFacts,
  { image, task, endpoints, life, hashKv, secret }: JobWishes,
): PodSpec {
  const { spec } = snapshot;
  const store = storeParts(spec.destination, FILE_MODE);
  const key = keyParts(task === "save" ? spec.encryption?.keySecret : undefined, FILE_MODE);
  const etcd = task === "save" ? etcdParts(endpoints, secret) : NOTHING;
  const verb =
    task === "save"
      ? [
          "save",
          ...REPORTING,
          ...(hashKv ? ["--hash-kv"] : []),
          ...lifeFlags(life),
          ...(spec.compression === "Zstd" ? ["--compress"] : []),
          ...(spec.encryption ? ["--encrypt"] : []),
        ]
      : ["delete"];
  const own = ["--id", objectID(snapshot), "--result-file", RESULT_FILE];
  return {
    restartPolicy: "Never",
    serviceAccountName: spec.serviceAccountName ?? SNAPSHOT_SERVICE_ACCOUNT,
    automountServiceAccountToken: false,
    enableServiceLinks: false,
    securityContext: podSecurity("Persistent", undefined),
    containers: [
      {
        name: SNAPSHOT_CONTAINER,
        image,
        imagePullPolicy: "IfNotPresent",
        args: ["snapshot", ...verb, ...own, ...etcd.args, ...key.args, ...store.args, store.folder].map(
          literal,
        ),
        ...(store.env.length > 0 && { env: [...store.env] }),
        resources: { requests: { cpu: "50m", memory: "160Mi" } },
        securityContext: etcdSecurity(),
        volumeMounts: [...etcd.mounts, ...key.mounts, ...store.mounts],
      },
    ],
    volumes: [...etcd.volumes, ...key.volumes, ...store.volumes],
  };
}

const NOTHING: MountedParts = { args: [], volumes: [], mounts: [] };

export function etcdParts(endpoints: readonly string[], secretName: string | undefined): MountedParts {
  const args = ["--endpoints", endpoints.join(",")];
  if (secretName === undefined) return { ...NOTHING, args };
  return {
    args: [
      ...args,
      "--cacert",
      `${TLS_DIR}/ca.crt`,
      "--cert",
      `${TLS_DIR}/tls.crt`,
      "--key",
      `${TLS_DIR}/tls.key`,
    ],
    volumes: [{ name: "etcd-tls", secret: { secretName, defaultMode: FILE_MODE } }],
    mounts: [{ name: "etcd-tls", mountPath: TLS_DIR, readOnly: true }],
  };
}

/** Made if absent, and left alone: people put the annotations of their cloud and pull secrets on it. */
export function snapshotServiceAccount(namespace: string): ServiceAccount {
  return {
    apiVersion: "v1",
    kind: "ServiceAccount",
    metadata: {
      name: SNAPSHOT_SERVICE_ACCOUNT,
      namespace,
      labels: { "app.kubernetes.io/name": "quorate", "app.kubernetes.io/managed-by": "quorate" },
    },
    automountServiceAccountToken: false,
  };
}
