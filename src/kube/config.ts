/**
 * Where the API server is and who we are there: from a kubeconfig or from inside a Pod. What cannot be done as it
 * says is refused with a typed error: the alternative is to talk to the wrong cluster or as the wrong person.
 */
import { delimiter, join } from "node:path";
import type { Disk } from "../seams/disk.ts";
import { clusterPart } from "./kubeconfig/cluster.ts";
import { readMerged, textIn } from "./kubeconfig/files.ts";
import { KubeConfigError, type Env, type KubeConfig } from "./kubeconfig/types.ts";
import { userPart } from "./kubeconfig/user.ts";

export { KubeConfigError, type KubeConfig } from "./kubeconfig/types.ts";

const ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount";

export interface ConfigWishes {
  /** A kubeconfig to use, whatever the environment says. */
  readonly file?: string;
  readonly context?: string;
}

/** The order kubectl has: the file asked for, `KUBECONFIG`, the Pod we are in, `~/.kube/config`. */
export async function loadConfig(disk: Disk, env: Env, wishes: ConfigWishes = {}): Promise<KubeConfig> {
  const { file, context } = wishes;
  if (file !== undefined) return await fromKubeconfig(disk, env, [file], context);
  const listed = (env["KUBECONFIG"] ?? "").split(delimiter).filter((one) => one !== "");
  if (listed.length > 0) return await fromKubeconfig(disk, env, listed, context);
  if (context === undefined && env["KUBERNETES_SERVICE_HOST"]) return await inCluster(disk, env);
  const home = env["HOME"];
  if (home === undefined)
    throw new KubeConfigError("missing", "no kubeconfig: set KUBECONFIG, or name a file with --kubeconfig");
  return await fromKubeconfig(disk, env, [join(home, ".kube", "config")], context);
}

/**
 * The service account of the Pod this runs in. Its token is short-lived and replaced on disk. No proxy: HTTPS_PROXY of
 * a Pod is for what is outside of its cluster.
 */
export async function inCluster(disk: Disk, env: Env, account = ACCOUNT): Promise<KubeConfig> {
  const host = env["KUBERNETES_SERVICE_HOST"];
  const port = env["KUBERNETES_SERVICE_PORT"] ?? "443";
  if (!host) throw new KubeConfigError("missing", "KUBERNETES_SERVICE_HOST is not set: not running in a Pod");
  for (const file of ["token", "ca.crt"]) {
    if ((await disk.read(join(account, file))) === undefined)
      throw new KubeConfigError(
        "incomplete",
        `${join(account, file)} does not exist: give the Pod a service account and mount its token`,
      );
  }
  const namespace = (await disk.read(join(account, "namespace")))?.trim();
  return {
    server: `https://${host.includes(":") ? `[${host}]` : host}:${port}`,
    ca: { file: join(account, "ca.crt") },
    token: { file: join(account, "token") },
    ...(namespace && { namespace }),
  };
}

async function fromKubeconfig(
  disk: Disk,
  env: Env,
  files: readonly string[],
  wanted: string | undefined,
): Promise<KubeConfig> {
  const merged = await readMerged(disk, files);
  const name = wanted ?? merged.currentContext;
  const context = name === undefined ? undefined : merged.contexts.get(name);
  if (context === undefined) {
    const known = [...merged.contexts.keys()].join(", ");
    throw new KubeConfigError(
      "no-context",
      `${merged.where}: ${name === undefined ? "no current context" : `no context "${name}"`}; known contexts: ${known || "none"}`,
    );
  }
  const clusterName = textIn(context.fields, "cluster") ?? "";
  const cluster = merged.clusters.get(clusterName);
  if (cluster === undefined)
    throw new KubeConfigError(
      "incomplete",
      `${context.file}: the context "${name}" names the cluster "${clusterName}", which no kubeconfig has`,
    );
  const userName = textIn(context.fields, "user");
  const user = userName === undefined ? undefined : merged.users.get(userName);
  if (userName !== undefined && user === undefined)
    throw new KubeConfigError(
      "incomplete",
      `${context.file}: the context "${name}" names the user "${userName}", which no kubeconfig has`,
    );
  const namespace = textIn(context.fields, "namespace");
  return {
    ...clusterPart(cluster, env),
    ...(user && userPart(user, cluster, env)),
    ...(namespace !== undefined && { namespace }),
  };
}
