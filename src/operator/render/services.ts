/**
 * The Services of a cluster, in the form in which the API server keeps them: peers (headless), clients (voters
 * only), and readers of standing learners.
 */
import type { Service, ServicePort, ServiceSpec } from "kubernetes-types/core/v1.d.ts";
import type { EtcdClusterSpec } from "../../api/etcd-cluster-spec.ts";
import type { View } from "../../core/view.ts";
import { PORTS, serviceNames } from "../names.ts";
import { clusterLabels, ownedByCluster, selectorOf, type Identity } from "./metadata.ts";

export function clusterServices(view: View): Service[] {
  const { cluster } = view.observation;
  const { service, learners } = cluster.spec;
  const names = serviceNames(cluster.name);
  const peers = render(cluster, names.peers, {
    clusterIP: "None",
    // Members look for each other before they are ready, and learners never are (R36, R46).
    publishNotReadyAddresses: true,
    selector: selectorOf(cluster, "all"),
    ports: [port("client"), port("peer"), port("metrics")],
  });
  // H2: before the latch an attempt may be abandoned, and no client's write may be in it.
  if (!view.established) return [peers];
  const client = render(
    cluster,
    names.client,
    {
      type: service.type,
      selector: selectorOf(cluster, "voter"),
      ports: [port("client")],
      ...outside(service),
    },
    service,
  );
  const readers = render(cluster, names.learners, {
    type: "ClusterIP",
    selector: selectorOf(cluster, "learner"),
    ports: [port("client")],
  });
  return [peers, client, ...(learners > 0 ? [readers] : [])];
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
  const annotated = Object.keys(more?.annotations ?? {}).length > 0;
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: {
      name,
      namespace: cluster.namespace,
      labels: { ...more?.labels, ...clusterLabels(cluster) },
      // An empty map is not kept, and would look like a difference for ever.
      ...(annotated && { annotations: { ...more?.annotations } }),
      ownerReferences: [ownedByCluster(cluster)],
    },
    spec: { ...spec, ipFamilyPolicy: "PreferDualStack" },
  };
}

function port(name: keyof typeof PORTS): ServicePort {
  return { name, port: PORTS[name], targetPort: name, protocol: "TCP" };
}
