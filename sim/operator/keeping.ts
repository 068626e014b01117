/** What the oracle of needless removals asks of a cluster on the model API server. */
import type { EtcdCluster } from "../../src/api/etcd-cluster.ts";
import type { EtcdMember } from "../../src/api/etcd-member.ts";
import { millisecondsOf } from "../../src/api/duration.ts";
import { ANNOTATIONS } from "../../src/operator/names.ts";
import { pods } from "../models/kube/kinds/pod.ts";
import type { Keeping } from "../oracles/needless.ts";
import { etcdMembers, NAMESPACE, type Environment } from "./environment.ts";

export function keepingOf(env: Environment): Keeping {
  const spec = () => (env.cluster() as unknown as EtcdCluster | undefined)?.spec;
  const record = (name: string) =>
    env.server.get(etcdMembers, `${NAMESPACE}/${name}`) as unknown as EtcdMember | undefined;
  const approved = () =>
    (env.cluster() as unknown as EtcdCluster | undefined)?.metadata.annotations?.[ANNOTATIONS.approve];
  return {
    ...env.subject,
    votersWanted: () => spec()?.replicas ?? 0,
    lostAfterMs: () => millisecondsOf(spec()?.repair.memberLostAfter ?? "0s"),
    isGivenUp: (member) =>
      record(member)?.metadata.deletionTimestamp !== undefined ||
      record(member)?.spec.retiring?.requested === true ||
      approved() === `replace-${member}`,
    isLeaving: (member) => record(member)?.spec.leaving !== undefined,
    hasWorkload: (member) => env.server.get(pods, `${NAMESPACE}/${member}`) !== undefined,
  };
}
