/**
 * The versions of Kubernetes that the operator supports: stated here, checked when it starts, and told in
 * docs/install.md.
 */
import type { KubeClient } from "../../kube/client.ts";
import type { Resource } from "../../kube/resources.ts";

/**
 * 1.31 is the oldest whose server takes our resource definitions: their rules use `isIP`, which came with 1.30,
 * and a server takes in new rules only what the minor before it understands. Admission policies are stable
 * since 1.30, scheduling gates too. The newest is the one that the tests run.
 */
export const SUPPORTED_KUBERNETES = { oldest: "1.31", newest: "1.36" } as const;

export type VersionVerdict =
  | { readonly verdict: "supported" }
  | { readonly verdict: "untested" | "unsupported"; readonly message: string };

/** `version` as the server tells it, such as v1.36.4 or v1.31.2-eks-1234. */
export function judgeKubernetes(version: string): VersionVerdict {
  const { oldest, newest } = SUPPORTED_KUBERNETES;
  const range = `Kubernetes ${oldest} to ${newest} is supported`;
  const minor = minorOf(version);
  if (minor === undefined)
    return {
      verdict: "untested",
      message: `the API server reports the unknown version ${JSON.stringify(version)}; ${range}`,
    };
  if (minor < (minorOf(oldest) ?? 0))
    return {
      verdict: "unsupported",
      message: `the API server runs Kubernetes ${version}, but ${range}: upgrade Kubernetes, or use an older Quorate`,
    };
  if (minor > (minorOf(newest) ?? 0))
    return {
      verdict: "untested",
      message: `the API server runs Kubernetes ${version}, which is newer than the tested versions; ${range}`,
    };
  return { verdict: "supported" };
}

/** `1.36` → 1036, so that 1.9 comes before 1.10. */
function minorOf(version: string): number | undefined {
  const [, major, minor] = /^v?(\d+)\.(\d+)(?!\d)/.exec(version) ?? [];
  return major === undefined ? undefined : Number(major) * 1_000 + Number(minor);
}

/** Not a resource, but calls are told by one. */
const VERSION: Resource = { group: "", version: "v1", kind: "Version", plural: "version", namespaced: false };

export async function serverVersion(client: KubeClient): Promise<string> {
  const { body } = await client.call(VERSION, "get", { method: "GET", path: "/version" });
  const version = (body as { gitVersion?: unknown }).gitVersion;
  return typeof version === "string" ? version : "";
}
