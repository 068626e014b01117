/**
 * Where the testbed keeps things. Everything lives under the product's cache, so that `down` can leave the
 * machine as it was by deleting one directory.
 */
import { createHash } from "node:crypto";
import { homedir } from "node:os";
import { join } from "node:path";

export function cacheDir(): string {
  return process.env["QUORATE_CACHE"] || join(homedir(), ".cache", "quorate");
}

/** All testbeds of this cache; one directory each, named after the testbed. */
export function bedsDir(): string {
  return join(cacheDir(), "testbed");
}

export function bedDir(name: string): string {
  if (!/^[a-z0-9]([a-z0-9-]{0,40}[a-z0-9])?$/.test(name)) {
    throw new Error(
      `"${name}" cannot name a testbed: use up to 42 of a-z, 0-9 and "-", e.g. --name upgrade-test`,
    );
  }
  return join(bedsDir(), name);
}

export interface BedPaths {
  dir: string;
  state: string;
  kubeconfig: string;
  pki: string;
  etcdData: string;
  logs: string;
  /** What the stand-in kubelet keeps: Pods, volumes, container logs. */
  kubelet: string;
  /** What real nodes keep: one directory each. */
  nodes: string;
  /** Disks that follow their Pods: images of ext4. */
  volumes: string;
}

export function bedPaths(name: string): BedPaths {
  const dir = bedDir(name);
  return {
    dir,
    state: join(dir, "state.json"),
    kubeconfig: join(dir, "kubeconfig"),
    pki: join(dir, "pki"),
    etcdData: join(dir, "etcd"),
    logs: join(dir, "logs"),
    kubelet: join(dir, "kubelet"),
    nodes: join(dir, "nodes"),
    volumes: join(dir, "volumes"),
  };
}

export function shortHash(...parts: (string | Uint8Array)[]): string {
  const hash = createHash("sha256");
  for (const part of parts) hash.update(part).update("\0");
  return hash.digest("hex").slice(0, 12);
}
