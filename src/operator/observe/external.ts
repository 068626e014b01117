/**
 * Where clients outside of Kubernetes reach a cluster: the addresses that a load balancer gave to the client Service.
 * They are in the members' certificates as soon as they are known, so that nobody has to enter them twice.
 */
import type { Service } from "kubernetes-types/core/v1.d.ts";
import { clientScheme } from "../../core/config/flags.ts";
import type { ClusterFacts } from "../../core/observation.ts";
import type { MemberRecord } from "../../core/record.ts";
import { isControlledBy } from "../../kube/resources.ts";
import { PORTS, serviceNames } from "../names.ts";

/** More than this no load balancer has; every one is a name in every certificate. */
const MOST = 16;

/** In an order that does not depend on how the load balancer tells them. */
export function externalAddresses(cluster: ClusterFacts, services: readonly Service[]): string[] {
  const { client } = serviceNames(cluster.name);
  const service = services.find(({ metadata }) => metadata?.name === client);
  if (cluster.spec.service.type !== "LoadBalancer" || !service || !isControlledBy(service, cluster.uid))
    return [];
  const ingress = service.status?.loadBalancer?.ingress ?? [];
  const addresses = ingress.flatMap(({ ip, hostname }) => ip ?? hostname ?? []);
  return [...new Set(addresses)].toSorted().slice(0, MOST);
}

/** By the scheme that members tell clients; before there are any, by that of the spec. */
export function externalEndpoints(
  cluster: ClusterFacts,
  services: readonly Service[],
  records: readonly Pick<MemberRecord, "template">[] = [],
): string[] {
  const [first] = records;
  const scheme = clientScheme(first?.template.tls ?? cluster.spec.tls);
  return externalAddresses(cluster, services).map(
    (address) => `${scheme}://${address.includes(":") ? `[${address}]` : address}:${PORTS.client}`,
  );
}
