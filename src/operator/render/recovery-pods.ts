/**
 * The Pods of a recovery from quorum loss. One reads what a member's volume holds, and nothing else. One works on the
 * volume of the survivor, in a directory beside its data: our image makes a copy, etcd's image runs on the copy once with
 * --force-new-cluster, on loopback, and our image takes the snapshot from it. `restartPolicy: Never`, and a new Pod for a
 * new attempt, which makes a copy of its own: etcd never runs twice on one (R54). No selector of a cluster meets them.
 */
import type { Container, EnvVar, Pod, PodSpec, Volume, VolumeMount } from "kubernetes-types/core/v1.d.ts";
import type { Action } from "../../core/action.ts";
import { MAX_LEARNERS } from "../../core/assess/learner-limit.ts";
import { isFrom } from "../../core/config/config-keys.ts";
import type { MemberRecord, MemberTemplate } from "../../core/record.ts";
import { forcedArguments, placesOn } from "../../recovery/places.ts";
import { tlsFlags } from "../../snapshot/scratch.ts";
import { ANNOTATIONS, inspectPodName, LABELS, PORTS, RECOVERY_CONTAINERS, rescuePodName } from "../names.ts";
import { PATHS } from "./config.ts";
import { ownedByCluster, type Identity } from "./metadata.ts";
import { pinned } from "./placement.ts";
import { imageOf, resourcesOf } from "./pod.ts";
import { etcdSecurity, podSecurity } from "./security.ts";
import { podVolumes, VOLUMES, type DataOwner } from "./volumes.ts";

export type RecoveryTask = "inspect" | "rescue";

export interface RecoveryWishes {
  /** Our own image. */
  readonly image: string;
  /** Where the volume is in use, or the directory is. */
  readonly node?: string | undefined;
  /** With medium HostPath: how the directory begins. */
  readonly directory?: string | undefined;
}

export const RESULT_FILE = "/dev/termination-log";
const POD_UID = "QUORATE_POD_UID";
const TLS = { name: "tls", dir: "/run/quorate" } as const;

export function inspectPod(cluster: Identity, record: DataOwner, reads: string, wishes: RecoveryWishes): Pod {
  const container: Container = {
    ...ours(wishes, {}),
    name: RECOVERY_CONTAINERS.inspect,
    args: ["recover", "inspect", PATHS.dataDir, "--result-file", RESULT_FILE],
    volumeMounts: [{ ...DATA, readOnly: true }],
  };
  return {
    ...objectOf(cluster, record, inspectPodName(record.name, reads), "inspect", {
      [ANNOTATIONS.reads]: reads,
    }),
    // Without a deadline: it would begin again with every new Pod, and the kubelet tries to mount as long as there is one.
    spec: { ...onlyRead(specOf(cluster, record, wishes), wishes), containers: [container] },
  };
}

/** Of one operation: another that approves the same plan has attempts of its own. */
export function approvalOf(plan: string, operation: string): string {
  return `${plan} ${operation}`;
}

type Rescue = Extract<Action, { kind: "RescueData" }>;

export function rescuePod(
  cluster: Identity,
  record: MemberRecord,
  action: Rescue,
  wishes: RecoveryWishes,
): Pod {
  const { plan, attempt, expected, version } = action;
  const tls: VolumeMount = { name: TLS.name, mountPath: TLS.dir };
  const url = `https://127.0.0.1:${PORTS.client}`;
  // No two Pods have the same UID, so that none runs on the copy of another.
  const uid: EnvVar = { name: POD_UID, valueFrom: { fieldRef: { fieldPath: "metadata.uid" } } };
  const places = placesOn(PATHS.dataMount, plan, `$(${POD_UID})`);
  const shared = [
    "--plan",
    plan,
    "--by",
    `$(${POD_UID})`,
    "--index",
    String(expected.index),
    "--tls-dir",
    TLS.dir,
  ];
  const result = ["--result-file", RESULT_FILE];
  const copy: Container = {
    ...ours(wishes),
    name: RECOVERY_CONTAINERS.copy,
    args: [
      "recover",
      "copy",
      PATHS.dataMount,
      ...shared,
      "--cluster-id",
      expected.clusterID,
      "--member-id",
      expected.memberID,
      "--term",
      String(expected.term),
      ...result,
    ],
    env: [uid],
    volumeMounts: [DATA, tls],
  };
  const etcd: Container = {
    name: RECOVERY_CONTAINERS.etcd,
    image: imageOf({ ...record.template, version }),
    imagePullPolicy: record.template.image.pullPolicy,
    command: ["etcd"],
    args: [
      ...forcedArguments({ copy: places.copy, url, peerUrl: `http://127.0.0.1:${PORTS.peer}` }),
      // A log with several learners in it cannot be replayed under a lower limit (H1).
      ...(isFrom(version, "3.6") ? [`--max-learners=${MAX_LEARNERS}`] : []),
      ...tlsFlags(TLS.dir),
    ],
    env: [uid],
    resources: resourcesOf(record.template),
    securityContext: etcdSecurity(),
    terminationMessagePolicy: "FallbackToLogsOnError",
    volumeMounts: [DATA, tls],
  };
  const save: Container = {
    ...ours(wishes),
    name: RECOVERY_CONTAINERS.save,
    args: ["recover", "save", PATHS.dataMount, ...shared, "--endpoint", url, ...result],
    env: [uid],
    volumeMounts: [DATA, tls],
  };
  const spec = specOf(cluster, record, wishes);
  return {
    ...objectOf(
      cluster,
      record,
      rescuePodName(cluster.name, plan, attempt),
      "rescue",
      { [ANNOTATIONS.plan]: approvalOf(plan, action.operation) },
      { [LABELS.attempt]: String(attempt) },
    ),
    spec: {
      // Without a deadline: how long it takes depends on the data, and no member runs that it would be taken from.
      ...spec,
      initContainers: [copy],
      containers: [etcd, save],
      volumes: [...(spec.volumes ?? []), { name: TLS.name, emptyDir: { medium: "Memory" } }],
    },
  };
}

const DATA: VolumeMount = { name: VOLUMES.data, mountPath: PATHS.dataMount };

/** A container of our own image. */
export function ours(
  { image }: Pick<RecoveryWishes, "image">,
  resources: Container["resources"] = { requests: { cpu: "50m", memory: "128Mi" } },
): Omit<Container, "name"> {
  return {
    image,
    imagePullPolicy: "IfNotPresent",
    resources,
    securityContext: etcdSecurity(),
    terminationMessagePolicy: "FallbackToLogsOnError",
  };
}

function objectOf(
  cluster: Identity,
  { name: member }: Pick<DataOwner, "name">,
  name: string,
  task: RecoveryTask,
  annotations: Readonly<Record<string, string>>,
  labels: Readonly<Record<string, string>> = {},
): Pick<Pod, "apiVersion" | "kind" | "metadata"> {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name,
      namespace: cluster.namespace,
      labels: { ...helperLabels(cluster, task), [LABELS.member]: member, ...labels },
      annotations: { ...cluster.spec?.metadata?.annotations, ...annotations },
      ownerReferences: [ownedByCluster(cluster)],
    },
  };
}

/** Its volume decides where. */
function specOf(
  cluster: Identity,
  record: DataOwner,
  { node, directory }: RecoveryWishes,
): Omit<PodSpec, "containers"> {
  const { tolerations = [], ...spec } = helperSpec(record.template, node);
  const data = podVolumes(cluster, record, directory).filter(({ name }: Volume) => name === VOLUMES.data);
  return { ...spec, tolerations: [...tolerations, CORDONED], volumes: data };
}

/** Of a Pod that runs once: as a member's own, as far as it concerns where it may run and as whom. */
export function helperSpec(template: MemberTemplate, node?: string): Omit<PodSpec, "containers"> {
  const { storage, image, pod } = template;
  const { nodeSelector, tolerations, priorityClassName, securityContext } = pod;
  return {
    restartPolicy: "Never",
    automountServiceAccountToken: false,
    enableServiceLinks: false,
    securityContext: podSecurity(storage.medium, securityContext),
    ...(Object.keys(nodeSelector).length > 0 && { nodeSelector }),
    ...(tolerations.length > 0 && { tolerations: tolerations as NonNullable<PodSpec["tolerations"]> }),
    ...(priorityClassName !== undefined && { priorityClassName }),
    ...(image.pullSecrets.length > 0 && { imagePullSecrets: image.pullSecrets.map((name) => ({ name })) }),
    ...(node !== undefined && { affinity: pinned({}, node) }),
  };
}

/** Not those of a member: what is to stay apart from members must not stay apart from this. */
export function helperLabels(cluster: Identity, task: string): Record<string, string> {
  return {
    ...cluster.spec?.metadata?.labels,
    "app.kubernetes.io/name": "quorate",
    "app.kubernetes.io/component": "recovery",
    "app.kubernetes.io/managed-by": "quorate",
    [LABELS.cluster]: cluster.name,
    [LABELS.clusterUID]: cluster.uid,
    [LABELS.task]: task,
  };
}

/** A volume may be on a node that takes no new Pods, and its data is there all the same. */
const CORDONED = { key: "node.kubernetes.io/unschedulable", operator: "Exists", effect: "NoSchedule" };

/**
 * Neither owners nor labels of files are changed by the mount, and a directory that is not there is not made. Beside a
 * member that runs it is put on that node, past the scheduler: whatever is full, cordoned or to be kept apart there.
 */
function onlyRead(
  { affinity, nodeSelector, ...spec }: Omit<PodSpec, "containers">,
  { node }: RecoveryWishes,
): Omit<PodSpec, "containers"> {
  const volumes = spec.volumes?.map(({ persistentVolumeClaim: claim, hostPath, ...volume }) => ({
    ...volume,
    ...(claim && { persistentVolumeClaim: { ...claim, readOnly: true } }),
    ...(hostPath && { hostPath: { ...hostPath, type: "Directory" } }),
  }));
  return {
    ...spec,
    // The kubelet compares labels too, which may have changed since its member was placed there.
    ...(node === undefined
      ? { ...(affinity && { affinity }), ...(nodeSelector && { nodeSelector }) }
      : { nodeName: node }),
    ...(volumes && { volumes }),
  };
}
