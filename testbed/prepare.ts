/**
 * What the stages "real API server" and "real nodes" of the test runner need, and how to come by it.
 */
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { systemClock } from "../src/seams/clock.ts";
import { ensureEtcd } from "../src/etcd/install/ensure.ts";
import { ensureKubernetes, kubernetesTarget, missingGo } from "./kubernetes-build.ts";
import type { Progress } from "./kubernetes-build.ts";
import { ensureNodeTools, missingForNodes } from "./nodes/cluster.ts";
import { ensureUpstream, isBuilt } from "./nodes/programs.ts";
import { BACKING_ETCD } from "./testbed.ts";

export interface Prepared {
  kubernetes: string;
  etcd: string;
  elapsedMs: number;
}

/** Builds and installs what is not there yet. Minutes when cold, milliseconds when warm. */
export async function prepare(options: { progress?: Progress } = {}): Promise<Prepared> {
  const progress = options.progress ?? (() => {});
  const started = Date.now();
  const etcd = await ensureEtcd(BACKING_ETCD, {
    env: process.env,
    clock: systemClock,
    progress: (step) => progress(`etcd ${step.version}: ${step.text}`),
  });
  const kubernetes = await ensureKubernetes(progress);
  await ensureUpstream("helm", progress);
  await ensureUpstream("certmanager", progress);
  return { kubernetes: kubernetes.version, etcd: etcd.version, elapsedMs: Date.now() - started };
}

/** The same for real nodes: Debian's packages and the testbed's own programs too. */
export async function prepareNodes(options: { progress?: Progress } = {}): Promise<Prepared> {
  const started = Date.now();
  const prepared = await prepare(options);
  await ensureNodeTools(options.progress ?? (() => {}));
  return { ...prepared, elapsedMs: Date.now() - started };
}

/** What stands in the way of real nodes; empty when nothing does. */
export function missingNodes(): string[] {
  return [...new Set([...missing(), ...missingForNodes()])];
}

/** What stands in the way and cannot be built or fetched, each with what to do about it; empty when nothing. */
export function missing(): string[] {
  const lacking: string[] = [];
  if (process.platform !== "linux") {
    return ["the testbed runs on Linux only (elsewhere: --use <kubeconfig> with a cluster of your own)"];
  }
  if (!kubernetesTarget().built || !isBuilt("helm") || !isBuilt("certmanager")) {
    const go = missingGo();
    if (go) lacking.push(go);
  }
  const namespaces = missingNamespaces();
  if (namespaces) lacking.push(namespaces);
  return lacking;
}

/** The stand-in kubelet gives each container a root directory of its own, for which it needs a mount namespace. */
function missingNamespaces(): string | undefined {
  const tools = ["unshare", "mount", "chroot", "nsenter"].filter(
    (tool) => !["/usr/bin", "/bin", "/usr/sbin", "/sbin"].some((dir) => existsSync(`${dir}/${tool}`)),
  );
  if (tools.length > 0) return `${tools.join(", ")} not found: install util-linux and coreutils`;
  const root = process.getuid?.() === 0;
  const tried = spawnSync("unshare", [...(root ? [] : ["--map-root-user"]), "--mount", "true"], {
    encoding: "utf8",
  });
  if (tried.status === 0) return undefined;
  return `mount namespaces are not allowed here (${tried.stderr.trim()}): run as root, or allow unprivileged user namespaces (sysctl user.max_user_namespaces, kernel.apparmor_restrict_unprivileged_userns)`;
}
