/**
 * What is allowed but seldom meant, and shows only on Kubernetes. Beside src/api/warnings.ts, which holds for
 * every platform; nothing here stops a cluster.
 */
import type { EtcdClusterSpec } from "../../api/etcd-cluster-spec.ts";
import { bytesOf, quotaOf } from "../../api/quantity.ts";
import type { ApiError } from "../../api/validate.ts";
import { clusterWarnings } from "../../api/warnings.ts";
import { allowsHostnames, isGiven, isSecure, modeOf } from "../../core/config/flags.ts";
import { canHaveGateway, namesGateway } from "../../core/config/gateway.ts";
import { tolerance } from "../../core/quorum.ts";
import { releaseOf } from "../../core/version/releases.ts";
import { ownServiceName, serviceNames } from "../names.ts";
import { compareVersions, minorOf, version } from "../../core/version/version.ts";

/** All that is to be said of a spec here, as users read it. */
export function warningsOf(spec: EtcdClusterSpec, name: string): string[] {
  return [...clusterWarnings(spec), ...kubernetesWarnings(spec, name)].map(
    ({ path, message }) => `${path}: ${message}`,
  );
}

export function kubernetesWarnings(spec: EtcdClusterSpec, name: string): ApiError[] {
  return [
    ...hostPath(spec),
    ...memory(spec),
    ...smallVolume(spec),
    ...outside(spec),
    ...foreignCA(spec),
    ...ownName(spec, name),
    ...drains(spec),
    ...openFaults(spec),
  ].map(([path, message]) => ({ path, message }));
}

type Found = readonly [path: string, message: string][];

function hostPath({ storage, pod }: EtcdClusterSpec): Found {
  if (storage.medium !== "HostPath") return [];
  const found: [string, string][] = [
    [
      "spec.storage.medium",
      "HostPath needs a namespace with the Pod Security level privileged; a member is bound to its node, and storage.size is not enforced",
    ],
  ];
  const user = pod.securityContext?.runAsUser;
  if (pod.securityContext && user !== 0) {
    const who = user === undefined ? "the image's user" : `user ${user}`;
    found.push([
      "spec.pod.securityContext",
      `the kubelet creates the members' directories for root, so ${who} may not be able to write there`,
    ]);
  }
  return found;
}

/** What is written to tmpfs counts as memory of the container that wrote it. */
function memory(spec: EtcdClusterSpec): Found {
  const { storage, pod } = spec;
  const limit = pod.resources.limits?.["memory"];
  if (storage.medium !== "Memory" || limit === undefined) return [];
  if (bytesOf(limit) >= bytesOf(storage.size) + bytesOf(quotaOf(spec))) return [];
  const message = `the data also counts as memory: with a limit below storage.size plus quotaBackendBytes a member is OOM-killed before its database is full, and loses its data`;
  return [["spec.pod.resources.limits.memory", message]];
}

/** etcd takes 64Mi for its log before it starts, another 64Mi beside it, and keeps five of them. */
const SMALLEST_VOLUME = 512 * 2 ** 20;

function smallVolume({ storage }: EtcdClusterSpec): Found {
  if (storage.medium === "HostPath" || bytesOf(storage.size) >= SMALLEST_VOLUME) return [];
  const message = `etcd's write-ahead log alone takes up to 384Mi, so a member may fail to start or to restart on a volume smaller than 512Mi`;
  return [["spec.storage.size", message]];
}

function outside({ service, tls }: EtcdClusterSpec): Found {
  const secure = isSecure(tls, "client");
  // The addresses of a load balancer come into the certificates by themselves.
  if (service.type !== "NodePort" || !secure || tls.extraSANs.length > 0) return [];
  const message = `external clients connect to a node whose name or address is not in the certificates: add it to tls.extraSANs`;
  return [["spec.service.type", message]];
}

/** R49: whoever else that CA signs for is let in, too. */
function foreignCA({ tls, version }: EtcdClusterSpec): Found {
  const found: [string, string][] = [];
  if (isGiven(tls, "client") && tls.clientAuth === "Required")
    found.push([
      "spec.tls.client",
      "every certificate that the CA of clients signs may read and write all data: use a CA that signs for this cluster only",
    ]);
  if (modeOf(tls, "client") === "Secrets" && canHaveGateway(tls, version) && !namesGateway(tls))
    found.push([
      "spec.tls.client.secrets.gateway",
      "not set, so etcd's HTTP gateway connects to its member with the server's certificate: with the usage clientAuth that one is a client's too, and without it the gateway does not work. Give the gateway a certificate of its own",
    ]);
  if (isGiven(tls, "peer") && !allowsHostnames(version))
    found.push([
      "spec.tls.peer",
      `etcd ${version} accepts every certificate of the peers' CA as a member: use a CA that signs for this cluster only, or etcd 3.5.15 or later, which also checks a name`,
    ]);
  return found;
}

function ownName({ service }: EtcdClusterSpec, name: string): Found {
  if (service.clusterName === false || ownServiceName(name) !== undefined) return [];
  const message = `there is no Service ${name}: a cluster of another name may need it for its own members or clients. Use ${serviceNames(name).client}, and set service.clusterName to false to silence this warning`;
  return [["spec.service.clusterName", message]];
}

/** H14. */
function drains({ replicas, disruptionBudget }: EtcdClusterSpec): Found {
  if (!disruptionBudget.enabled || replicas === 0 || tolerance(replicas) > 0) return [];
  const message = `with ${replicas} voting member${replicas === 1 ? "" : "s"} none may be disrupted, so the PodDisruptionBudget blocks every drain of their nodes`;
  return [["spec.disruptionBudget.enabled", message]];
}

/** R43. */
function openFaults({ version: asked }: EtcdClusterSpec): Found {
  const floor = releaseOf(minorOf(asked))?.securityFloor;
  if (floor === undefined || compareVersions(version(asked), version(floor)) >= 0) return [];
  return [["spec.version", `etcd ${asked} has known vulnerabilities: use ${floor} or later`]];
}
