/**
 * The Services of a cluster, in the form in which the API server keeps them: peers (headless), clients (voters
 * only; also under the cluster's own name), readers of standing learners, and one for each member, by which its peers
 * dial it.
 */
import type { Service, ServicePort, ServiceSpec } from "kubernetes-types/core/v1.d.ts";
import type { EtcdClusterSpec } from "../../api/etcd-cluster-spec.ts";
import type { View } from "../../core/view.ts";
import { LABELS, ownServiceName, peerServiceName, PORTS, serviceNames } from "../names.ts";
import {
  annotationsOf,
  clusterLabels,
  memberObjectLabels,
  ownedByCluster,
  selectorOf,
  type Identity,
} from "./metadata.ts";

/** `life`: that selectors ask for. */
export function clusterServices(view: View, life?: number): Service[] {
  const { cluster } = view.observation;
  const { service, learners } = cluster.spec;
  const names = serviceNames(cluster.name);
  const peers = render(cluster, names.peers, {
    clusterIP: "None",
    // Members look for each other before they are ready, and learners never are (R36, R46).
    publishNotReadyAddresses: true,
    selector: selectorOf(cluster, "all", life),
    ports: [port("client"), port("peer"), port("metrics")],
  });
  // H2, H3: before, an attempt may be abandoned or start over, and no client's write may be in it.
  if (!view.open) return [peers];
  const client = render(
    cluster,
    names.client,
    {
      type: service.type,
      selector: selectorOf(cluster, "voter", life),
      ports: [port("client")],
      ...outside(service),
    },
    service,
  );
  const ownName = service.clusterName === false ? undefined : ownServiceName(cluster.name);
  // Within Kubernetes only, whatever the type of the other: one load balancer is enough.
  const own =
    ownName === undefined
      ? []
      : [
          render(cluster, ownName, {
            type: "ClusterIP",
            selector: selectorOf(cluster, "voter", life),
            ports: [port("client")],
          }),
        ];
  const readers = render(cluster, names.learners, {
    type: "ClusterIP",
    selector: selectorOf(cluster, "learner", life),
    ports: [port("client")],
  });
  return [peers, client, ...own, ...(learners > 0 ? [readers] : [])];
}

/**
 * Names one member, ready or not, by an address that stays when its Pod changes (H15). Of one family: every Pod has an
 * address of the cluster's first family, one address is enough, and a second one that leads nowhere would delay calls.
 */
export function peerService(cluster: Identity, member: string): Service {
  const { metadata, spec } = render(cluster, peerServiceName(member), {
    type: "ClusterIP",
    publishNotReadyAddresses: true,
    selector: { ...selectorOf(cluster, "all"), [LABELS.member]: member },
    ports: [port("peer")],
  });
  const labels = { ...clusterLabels(cluster), ...memberObjectLabels(cluster, { name: member }) };
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: { ...metadata, labels },
    spec: { ...spec, ipFamilyPolicy: "SingleStack" },
  };
}

function outside({
  externalTrafficPolicy,
  loadBalancerClass,
  loadBalancerSourceRanges,
}: EtcdClusterSpec["service"]): Partial<ServiceSpec> {
  return {
    ...(externalTrafficPolicy !== undefined && { externalTrafficPolicy }),
    ...(loadBalancerClass !== undefined && { loadBalancerClass }),
    ...(loadBalancerSourceRanges.length > 0 && { loadBalancerSourceRanges }),
  };
}

interface Metadata {
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

function render(cluster: Identity, name: string, spec: ServiceSpec, more?: Metadata): Service {
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: {
      name,
      namespace: cluster.namespace,
      labels: clusterLabels(cluster, more?.labels),
      ...annotationsOf(cluster, more?.annotations),
      ownerReferences: [ownedByCluster(cluster)],
    },
    spec: { ...spec, ipFamilyPolicy: "PreferDualStack" },
  };
}

function port(name: keyof typeof PORTS): ServicePort {
  return { name, port: PORTS[name], targetPort: name, protocol: "TCP" };
}
