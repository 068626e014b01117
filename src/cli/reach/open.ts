/** Makes a cluster reachable: through port-forwards on Kubernetes, directly on this machine. */
import type { CliIo } from "../io.ts";
import { KubeTarget } from "../target/kube.ts";
import { LocalTarget } from "../target/local.ts";
import type { ClusterObject, Target } from "../target/target.ts";
import type { Reached } from "./reached.ts";

export async function reach(target: Target, cluster: ClusterObject, io: CliIo): Promise<Reached> {
  if (target instanceof KubeTarget)
    return await (await import("./kube.ts")).reachOnKubernetes(target, cluster, io);
  if (target instanceof LocalTarget)
    return await (await import("./local.ts")).reachLocally(target, cluster, io);
  throw new Error(`clusters ${target.where} cannot be dialled from here`);
}
