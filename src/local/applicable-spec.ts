/**
 * The spec as far as it means anything on one machine. Fields that only Kubernetes applies stand at their
 * defaults here: an edited Pod label must not restart processes, nor another storage class swap members.
 * What was asked for is kept in the store and told in `status.notApplicable`.
 */
import { etcdClusterSpecSchema, type EtcdClusterSpec } from "../api/etcd-cluster-spec.ts";

const known = new WeakMap<EtcdClusterSpec, EtcdClusterSpec>();

export function applicableSpec(spec: EtcdClusterSpec): EtcdClusterSpec {
  let applicable = known.get(spec);
  if (!applicable) {
    const defaults = etcdClusterSpecSchema.parse({ version: spec.version });
    const { image, pod, service, disruptionBudget } = defaults;
    const { medium, hostPath, retention } = spec.storage;
    const { metadata: _labels, ...rest } = spec;
    applicable = {
      ...rest,
      image,
      pod,
      service,
      disruptionBudget,
      storage: { medium, hostPath, retention, size: defaults.storage.size },
    };
    known.set(spec, applicable);
  }
  return applicable;
}
