/** `parseCluster`: a valid EtcdCluster with all defaults, or the list of what is wrong with it. */
import { etcdClusterSchema, type EtcdCluster } from "./etcd-cluster.ts";
import { resourceParser } from "./parse-resource.ts";
import type { ApiError } from "./validate.ts";

export type ParsedCluster = { ok: true; cluster: EtcdCluster } | { ok: false; errors: ApiError[] };

const parse = resourceParser("EtcdCluster", etcdClusterSchema);

export function parseCluster(input: unknown, old?: EtcdCluster): ParsedCluster {
  const result = parse(input, old);
  return result.ok ? { ok: true, cluster: result.value } : result;
}
