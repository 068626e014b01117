/**
 * The Pod of a member, from its record alone: an edited spec changes no Pod, only a changed record does. Fields
 * of `template.pod` that have Kubernetes' own name and shape are handed on without being named here.
 */
import type { Container, Pod, PodSpec } from "kubernetes-types/core/v1.d.ts";
import type { MemberRecord, MemberTemplate } from "../../core/record.ts";
import { ETCD_CONTAINER, PERMIT_GATE, PORTS, serviceNames } from "../names.ts";
import { PATHS } from "./config.ts";
import { memberAnnotations, memberLabels, ownedByMember, type Identity, type PodRole } from "./metadata.ts";
import { placement } from "./placement.ts";
import { probesOf } from "./probes.ts";
import { canonicalQuantity } from "./quantity.ts";
import { restoreParts, type RestoreParts } from "./restore.ts";
import { etcdSecurity, podSecurity, sidecarSecurity } from "./security.ts";
import { podVolumes, VOLUMES } from "./volumes.ts";

export interface PodWishes {
  /** A member that joins is a learner until it was promoted, whatever it is meant to become. */
  readonly role: PodRole;
  /** It may not be placed yet: the Pod is the volume, and the record does not permit it so far (H2, H4). */
  readonly gated: boolean;
  /** With medium HostPath: where its directory is, and how it begins. */
  readonly node?: string;
  readonly directory?: string;
  /** Our own image, which a member that starts from a snapshot needs once. */
  readonly image?: string;
}

export function memberPod(cluster: Identity, record: MemberRecord, how: PodWishes): Pod {
  const restore = restoreOf(record, how);
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name: record.name,
      namespace: cluster.namespace,
      labels: { ...restore?.labels, ...memberLabels(cluster, record, how.role) },
      annotations: memberAnnotations(cluster, record),
      ownerReferences: [ownedByMember(record)],
    },
    spec: podSpec(cluster, record, how, restore),
  };
}

function podSpec(
  cluster: Identity,
  record: MemberRecord,
  how: PodWishes,
  restore: RestoreParts | undefined,
): PodSpec {
  const { image, storage, pod } = record.template;
  const {
    // Not of the Pod's spec, or with a default of ours.
    resources: _resources,
    env: _env,
    labels: _labels,
    annotations: _annotations,
    sidecars,
    affinity,
    topologySpreadConstraints,
    securityContext,
    ...asTheyAre
  } = pod;
  return {
    ...(withoutEmpty(asTheyAre) as Partial<PodSpec>),
    hostname: record.name,
    subdomain: serviceNames(cluster.name).peers,
    restartPolicy: "Always",
    // A Service called etcd would otherwise become variables that etcd takes for its own.
    enableServiceLinks: false,
    automountServiceAccountToken: pod.serviceAccountName !== undefined,
    ...placement(cluster, { affinity, topologySpreadConstraints }, how.node),
    securityContext: podSecurity(storage.medium, securityContext),
    ...(image.pullSecrets.length > 0 && { imagePullSecrets: image.pullSecrets.map((name) => ({ name })) }),
    ...(how.gated && { schedulingGates: [{ name: PERMIT_GATE }] }),
    ...(restore && { initContainers: restore.initContainers }),
    containers: [etcdContainer(record), ...sidecars.map(sidecar)],
    volumes: [...podVolumes(cluster, record, how.directory), ...(restore?.volumes ?? [])],
  };
}

/** A Pod that is made once its member has joined has its data and needs none of it. */
function restoreOf(record: MemberRecord, { image: own }: PodWishes): RestoreParts | undefined {
  const { restore, joined, template } = record;
  if (!restore || joined || own === undefined) return undefined;
  const etcd = {
    image: imageOf(template),
    imagePullPolicy: template.image.pullPolicy,
    resources: resourcesOf(template),
  };
  return restoreParts(record, restore, { own, etcd });
}

/** Empty lists and maps ask for nothing, and the API server keeps none. */
function withoutEmpty(fields: object): object {
  const isEmpty = (value: unknown) =>
    typeof value === "object" && value !== null && Object.keys(value).length === 0;
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => !isEmpty(value)));
}

function etcdContainer(record: MemberRecord): Container {
  const { template } = record;
  const { env } = template.pod;
  return {
    name: ETCD_CONTAINER,
    image: imageOf(template),
    imagePullPolicy: template.image.pullPolicy,
    // With a file etcd takes nothing from flags or from variables (H3).
    command: ["etcd"],
    args: [`--config-file=${PATHS.configFile}`],
    ...(env.length > 0 && { env: env as Container["env"] }),
    ports: Object.entries(PORTS).map(([name, containerPort]) => ({ name, containerPort, protocol: "TCP" })),
    resources: resourcesOf(template),
    ...probesOf(record),
    // How it ended is read from there: the last lines of its log (R33, H3).
    terminationMessagePolicy: "FallbackToLogsOnError",
    securityContext: etcdSecurity(),
    volumeMounts: [
      { name: VOLUMES.data, mountPath: PATHS.dataMount },
      { name: VOLUMES.config, mountPath: PATHS.configDir, readOnly: true },
    ],
  };
}

export function imageOf({ image, version }: MemberTemplate): string {
  return image.digest === undefined
    ? `${image.repository}:v${version}`
    : `${image.repository}@${image.digest}`;
}

export function resourcesOf({ pod: { resources } }: MemberTemplate): Container["resources"] {
  const kinds = Object.entries(resources).map(([kind, amounts]) => [
    kind,
    Object.fromEntries(
      Object.entries(amounts ?? {}).map(([name, amount]) => [name, canonicalQuantity(amount)]),
    ),
  ]);
  return Object.fromEntries(kinds) as Container["resources"];
}

/** A Container in Kubernetes' own shape; it may mount the volumes of VOLUMES. */
function sidecar(given: MemberTemplate["pod"]["sidecars"][number]): Container {
  return { securityContext: sidecarSecurity(), ...given };
}
