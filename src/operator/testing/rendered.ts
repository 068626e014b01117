/** Everything that is rendered for a cluster, for tests: a settled cluster of a spec, and its objects. */
import type { PersistentVolumeClaim, Pod, Secret, Service } from "kubernetes-types/core/v1.d.ts";
import type { NetworkPolicy } from "kubernetes-types/networking/v1.d.ts";
import type { PodDisruptionBudget } from "kubernetes-types/policy/v1.d.ts";
import type { EtcdClusterSpec, EtcdClusterSpecInput } from "../../api/etcd-cluster-spec.ts";
import type { Observation } from "../../core/observation.ts";
import { clusterToken, type MemberRecord } from "../../core/record.ts";
import { templateFor } from "../../core/template/template.ts";
import { healthy } from "../../core/testing/cluster.ts";
import { viewOf, type View } from "../../core/view.ts";
import { memberAddress } from "../names.ts";
import { disruptionBudget } from "../render/budget.ts";
import { networkPolicy } from "../render/network-policy.ts";
import { memberClaim } from "../render/claim.ts";
import { configFile, FILES } from "../render/config.ts";
import { memberPod, type PodWishes } from "../render/pod.ts";
import { caSecret, clientSecret, memberSecret, operatorSecret } from "../render/secret.ts";
import { clusterServices } from "../render/services.ts";

export type Rendered = Service | PodDisruptionBudget | NetworkPolicy | Secret | PersistentVolumeClaim | Pod;

const settled = healthy({ replicas: 3, learners: 1 });

/** A settled cluster as if it had been made with this spec, from three voters and one learner. */
export function clusterWith(spec: EtcdClusterSpec, change: Partial<Observation["cluster"]> = {}): View {
  const { uid, marks } = { ...settled.cluster, ...change };
  const token = clusterToken(uid, marks);
  const established = { token, clusterID: "1" };
  const cluster = { ...settled.cluster, ...change, spec, marks: { ...marks, established } };
  const template = templateFor(spec, spec.version);
  const members = settled.members.map((facts) => {
    const { ordinal } = facts.record;
    const [name, address] = [`${cluster.name}-${ordinal}`, memberAddress(cluster, ordinal, "Service")];
    return { ...facts, record: { ...facts.record, name, token, address, template } };
  });
  return viewOf({ ...settled, cluster, members });
}

export function defaultSpec(): EtcdClusterSpec {
  return settled.cluster.spec;
}

export function memberOf(view: View, ordinal = 1): MemberRecord {
  const found = view.members.find(({ record }) => record.ordinal === ordinal);
  if (!found) throw new RangeError(`no member ${ordinal}`);
  return found.record;
}

const PEM = { certificate: "certificate", key: "key", ca: "ca" };

export const OPERATOR_PODS = {
  namespace: "quorate-system",
  labels: { "app.kubernetes.io/name": "quorate", "app.kubernetes.io/component": "operator" },
} as const;

/** Every object of a cluster; `pem` where the API server wants to see real certificates. */
export function rendered(view: View, how: Partial<PodWishes> = {}, pem = PEM): Rendered[] {
  const { cluster } = view.observation;
  const budget = disruptionBudget(view);
  const policy = networkPolicy(view, OPERATOR_PODS);
  return [
    ...clusterServices(view),
    ...(budget ? [budget] : []),
    ...(policy ? [policy] : []),
    caSecret(cluster, "client", pem),
    caSecret(cluster, "peer", pem),
    clientSecret(cluster, pem),
    operatorSecret(cluster, pem),
    ...view.members.flatMap(({ record }): Rendered[] => {
      const files = { [FILES.config]: configFile(record, view.established) };
      const role = record.role === "Voter" ? "voter" : "learner";
      const persistent = record.template.storage.medium === "Persistent";
      return [
        memberSecret(cluster, record, files),
        ...(persistent ? [memberClaim(cluster, record)] : []),
        memberPod(cluster, record, { role, gated: false, ...how }),
      ];
    }),
  ];
}

/** A spec as a person would write it. */
export type Wish = Partial<EtcdClusterSpecInput>;
