/** Chooses the target by the flags: `--local`, `--dir` and `--name` mean this machine, anything else Kubernetes. */
import { UsageError, type CliIo } from "../io.ts";
import type { Target } from "./target.ts";
import type { TargetValues } from "./values.ts";

export async function openTarget(values: TargetValues, io: CliIo): Promise<Target> {
  const local = (["local", "dir", "name"] as const).filter((name) => values[name]);
  const kube = (["namespace", "context", "kubeconfig", "all-namespaces"] as const).filter(
    (name) => values[name],
  );
  if (local.length > 0 && kube.length > 0)
    throw new UsageError(
      `--${kube[0]} is about Kubernetes and --${local[0]} about this machine: use one of the two`,
    );
  if (values["all-namespaces"] && values.namespace !== undefined)
    throw new UsageError("--namespace and --all-namespaces contradict each other: use one of the two");
  if (local.length > 0) {
    const { openLocal } = await import("./local.ts");
    return openLocal(values, io);
  }
  const { openKube } = await import("./kube.ts");
  return await openKube(values, io);
}
