/**
 * The Pod that records the changes of a cluster for a schedule: our own image, the restricted profile, no token of
 * Kubernetes, the client certificate of the snapshot process. Its kubelet starts it again when it ends; it continues where
 * the log in the store ends. Its labels are met by no selector of a cluster.
 */
import type { Pod } from "kubernetes-types/core/v1.d.ts";
import { CHANGES_INTERVAL } from "../../api/intervals.ts";
import { API_VERSION } from "../../api/metadata.ts";
import type { ScheduleFacts } from "../../core/snapshots/facts.ts";
import { followerName } from "../../core/snapshots/names.ts";
import {
  ANNOTATIONS,
  FOLLOW_CONTAINER,
  FOLLOW_TASK,
  LABELS,
  PORTS,
  SNAPSHOT_SERVICE_ACCOUNT,
} from "../names.ts";
import { storeParts } from "./destination.ts";
import { literal } from "./literal.ts";
import { REPORTING } from "./report.ts";
import { etcdSecurity, podSecurity } from "./security.ts";
import { etcdParts, FILE_MODE, RESULT_FILE } from "./snapshot-job.ts";
import { accessLabels, keyParts } from "./store-access.ts";

export interface FollowWishes {
  readonly namespace: string;
  /** Our own. */
  readonly image: string;
  readonly attempt: number;
  readonly recipe: string;
  readonly endpoints: readonly string[];
  /** The Secret with the client certificate; undefined where there is no TLS. */
  readonly secret?: string | undefined;
}

/** It writes what it has before it ends. */
const GRACE_SECONDS = 30;

export function followPod(schedule: ScheduleFacts, wishes: FollowWishes): Pod {
  const { name, uid, spec } = schedule;
  const { namespace, image, attempt, recipe, endpoints, secret } = wishes;
  const store = storeParts(spec.destination, FILE_MODE);
  const key = keyParts(spec.encryption?.keySecret, FILE_MODE);
  const etcd = etcdParts(endpoints, secret);
  const args = [
    "snapshot",
    "follow",
    "--await-base",
    "--interval",
    spec.incremental?.interval ?? CHANGES_INTERVAL,
    ...REPORTING,
    "--result-file",
    RESULT_FILE,
    ...(spec.compression === "Zstd" ? ["--compress"] : []),
    ...(spec.encryption ? ["--encrypt"] : []),
    ...etcd.args,
    ...key.args,
    ...store.args,
    store.folder,
  ];
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name: followerName(schedule, attempt),
      namespace,
      labels: {
        ...accessLabels(spec.destination),
        "app.kubernetes.io/name": "quorate",
        "app.kubernetes.io/instance": spec.cluster,
        // By it the NetworkPolicy of the cluster lets it in; every selector of a cluster asks for that of a member.
        "app.kubernetes.io/component": "snapshot",
        "app.kubernetes.io/managed-by": "quorate",
        [LABELS.cluster]: spec.cluster,
        [LABELS.scheduleUID]: uid,
        [LABELS.task]: FOLLOW_TASK,
        [LABELS.attempt]: String(attempt),
      },
      annotations: { [ANNOTATIONS.recipe]: recipe },
      // Without blocking its deletion, which would take a right on the finalizers of the owner.
      ownerReferences: [
        { apiVersion: API_VERSION, kind: "EtcdSnapshotSchedule", name, uid, controller: true },
      ],
    },
    spec: {
      restartPolicy: "Always",
      serviceAccountName: spec.serviceAccountName ?? SNAPSHOT_SERVICE_ACCOUNT,
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      securityContext: podSecurity("Persistent", undefined),
      terminationGracePeriodSeconds: GRACE_SECONDS,
      containers: [
        {
          name: FOLLOW_CONTAINER,
          image,
          imagePullPolicy: "IfNotPresent",
          args: args.map(literal),
          ...(store.env.length > 0 && { env: [...store.env] }),
          ports: [{ name: "report", containerPort: PORTS.metrics }],
          resources: { requests: { cpu: "20m", memory: "128Mi" } },
          securityContext: etcdSecurity(),
          volumeMounts: [...etcd.mounts, ...key.mounts, ...store.mounts],
        },
      ],
      volumes: [...etcd.volumes, ...key.volumes, ...store.volumes],
    },
  };
}
