/** Entries for what clients, peers and drains find a cluster by: its Services, its budget, and who may connect. */
import { missingRole } from "../../core/assess/size.ts";
import type { MemberView, View } from "../../core/view.ts";
import { services, type KubeObject } from "../../kube/resources.ts";
import * as names from "../names.ts";
import { disruptionBudget } from "../render/budget.ts";
import { networkPolicy } from "../render/network-policy.ts";
import { clusterServices, peerService } from "../render/services.ts";
import { budgets, networkPolicies } from "../resources.ts";
import type { Cached } from "./cached.ts";
import { applied, deleted, named, nameOf } from "./entries.ts";
import type { Wanted } from "./wanted-object.ts";

/**
 * The life that selectors ask for: none while a Pod of it lacks the label, as one that an earlier release made, so that no
 * member drops out of its Services meanwhile. Pods get it in place.
 */
function selectedLife({ members, token, observation }: View, cached: Cached): number | undefined {
  const { life } = observation.cluster.marks;
  const isLabelled = ({ name, record }: MemberView) => {
    const pod = record.token === token ? cached.pod(name) : undefined;
    return pod === undefined || pod.metadata?.labels?.[names.LABELS.life] === String(life);
  };
  return life > 1 && members.every(isLabelled) ? life : undefined;
}

/** The Services that a cluster has once, its budget, and its NetworkPolicy. */
export function networkOf(view: View, cached: Cached): Wanted[] {
  const { name: cluster, uid } = view.observation.cluster;
  const life = selectedLife(view, cached);
  const budget = disruptionBudget(view, life);
  const ofCluster = cached.services.filter((service) => memberOf(cluster, service) === "");
  const kinds = [
    { resource: services, wanted: clusterServices(view, life), cached: ofCluster },
    { resource: budgets, wanted: budget ? [budget] : [], cached: cached.budgets },
  ];
  const objects = kinds.flatMap(({ resource, wanted, cached: have }) => [
    ...wanted.map((object) => applied(resource, object, have, uid)),
    // Before clients are let in most of them are not wanted yet; that is no reason to take anything away.
    ...have
      .filter((object) => view.open && !named<KubeObject>(wanted, nameOf(object)))
      .flatMap((object) => deleted(resource, object, uid)),
  ]);
  return [...objects, ...policyOf(view, cached, life)];
}

const UNKNOWN_PODS =
  "not created or changed, because it would cut off the operator, which does not know the labels of its own Pods: give it POD_NAMESPACE and POD_APP_NAME as config/install.yaml does";

/** Wanted from the beginning: nobody has to be let in first. */
function policyOf(
  view: View,
  { networkPolicies: have, operatorPods }: Cached,
  life: number | undefined,
): Wanted[] {
  const { name, uid, spec } = view.observation.cluster;
  if (!spec.networkPolicy?.enabled) return have.flatMap((one) => deleted(networkPolicies, one, uid));
  const policy = operatorPods && networkPolicy(view, operatorPods, life);
  if (policy) return [applied(networkPolicies, policy, have, uid)];
  const refused = { do: "refuse", name: names.networkPolicyName(name), why: UNKNOWN_PODS } as const;
  return [{ part: `NetworkPolicy ${refused.name}`, resource: networkPolicies, policy: refused }];
}

export function peerServicesOf(view: View, cached: Cached): Wanted[] {
  const { cluster } = view.observation;
  const records = view.members
    .map(({ record }) => record)
    .filter((one) => names.hasPeerService(cluster, one));
  const wanted = records.map((record) =>
    applied(services, peerService(cluster, record.name), cached.services, cluster.uid, record),
  );
  // Before the latch founders are still being made; that is no reason to take anything away.
  if (!view.established) return wanted;
  const others = cached.services.filter((service) => {
    const member = memberOf(cluster.name, service);
    return member !== "" && !records.some(({ name }) => name === member);
  });
  return [
    ...wanted,
    ...others.flatMap((service) => {
      const member = memberOf(cluster.name, service);
      // A member that is dialled by its Pod's name does not need it.
      if (view.members.some(({ name }) => name === member)) return deleted(services, service, cluster.uid);
      const isNext = names.ordinalInName(cluster.name, member) >= view.nextOrdinal;
      return isNext && missingRole(view) !== undefined ? [] : deleted(services, service, cluster.uid, member);
    }),
  ];
}

const memberOf = (cluster: string, service: KubeObject) => names.memberOfService(cluster, nameOf(service));
