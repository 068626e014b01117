/**
 * Volumes as directories: where each one is, and what of it a container sees where.
 *
 * An emptyDir goes with its Pod (one of medium Memory also with its node), a claim's directory stays as long as
 * the PersistentVolume, a hostPath belongs to the node. None has a size limit here.
 */
import { existsSync, mkdirSync, realpathSync } from "node:fs";
import { join, normalize } from "node:path";
import type { Container, Pod, Volume } from "kubernetes-types/core/v1.d.ts";
import { expand } from "./environment.ts";
import { NotThere, projectedFiles, writeFiles } from "./projected.ts";
import type { Mount } from "./sandbox.ts";
import { identity, podDir } from "./world.ts";
import type { World } from "./world.ts";

/** Makes every volume of the Pod and resolves with its directory by name; rejects with NotThere to wait. */
export async function prepareVolumes(world: World, pod: Pod, podIP: string): Promise<Map<string, string>> {
  const dirs = new Map<string, string>();
  for (const volume of pod.spec?.volumes ?? [])
    dirs.set(volume.name, await prepare(world, pod, volume, podIP));
  return dirs;
}

async function prepare(world: World, pod: Pod, volume: Volume, podIP: string): Promise<string> {
  const { namespace, name, uid } = identity(pod);
  const own = podDir(world, uid);
  const make = (dir: string) => {
    mkdirSync(dir, { recursive: true, mode: 0o777 });
    return dir;
  };
  if (volume.emptyDir) return make(join(memoryOrDisk(own, volume), volume.name));
  const claim =
    volume.persistentVolumeClaim?.claimName ?? (volume.ephemeral ? `${name}-${volume.name}` : undefined);
  if (claim) {
    const found = world.claimDir(namespace, claim);
    if ("waiting" in found) throw new NotThere(found.waiting);
    return make(found.dir);
  }
  if (volume.hostPath) {
    const { path, type } = volume.hostPath;
    const dir = join(nodeDir(world, pod.spec?.nodeName ?? ""), normalize(path));
    if (type === "Directory" && !existsSync(dir)) throw new NotThere(`hostPath ${path} is not a directory`);
    return make(dir);
  }
  const files = await projectedFiles(world, pod, volume, podIP);
  if (!files)
    throw new NotThere(`volume "${volume.name}" is of a kind that the stand-in kubelet does not know`);
  const dir = join(own, "volumes", volume.name);
  writeFiles(dir, files);
  return dir;
}

function memoryOrDisk(own: string, volume: Volume): string {
  return join(own, volume.emptyDir?.medium === "Memory" ? "memory" : "volumes");
}

/** What is on the disk of one node: hostPath volumes. */
export function nodeDir(world: Pick<World, "dir">, node: string): string {
  return join(world.dir, "nodes", node);
}

export function containerMounts(
  container: Container,
  dirs: Map<string, string>,
  env: Record<string, string>,
): Mount[] {
  return (container.volumeMounts ?? []).map(({ name, mountPath, subPath, subPathExpr, readOnly }) => {
    const dir = dirs.get(name);
    if (!dir) throw new NotThere(`volume "${name}" of container ${container.name} is not in the Pod`);
    const below = subPath ?? (subPathExpr && expand(subPathExpr, env));
    let source = dir;
    if (below) {
      source = join(dir, normalize(`/${below}`));
      if (!existsSync(source)) mkdirSync(source, { recursive: true });
      // Through the link to today's files: like a kubelet's, such a mount does not follow later changes.
      source = realpathSync(source);
    }
    return { source, target: normalize(mountPath), readOnly: readOnly ?? false };
  });
}
