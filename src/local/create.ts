/**
 * Making a cluster's directory: only an empty one is taken, and its block of ports is chosen once, away
 * from other clusters' that lie beside it.
 */
import path from "node:path";
import type { Disk } from "../seams/disk.ts";
import type { Ports } from "../seams/ports.ts";
import { chooseBasePort } from "./addresses.ts";
import type { CheckedCluster } from "./change.ts";
import { layout, type Layout } from "./layout.ts";
import { Store, type StoredCluster, type StoreSeams } from "./store.ts";

/** The directory cannot become, or is not, what was asked for. */
export class DirectoryRefused extends Error {
  override name = "DirectoryRefused";
}

export interface CreateSeams extends StoreSeams {
  readonly ports: Ports;
}

/** Files that may lie in a directory which holds no cluster yet. */
const HARMLESS = new Set(["lock", "lock.claim", "control.sock", "volumes"]);

/** Refuses a directory that holds something else than a cluster of ours. */
export async function checkDirectory(at: Layout, disk: Disk): Promise<void> {
  const entry = await disk.stat(at.dir);
  if (entry && entry.kind !== "directory") {
    throw new DirectoryRefused(`${at.dir} is not a directory: give another --dir`);
  }
  if ((await disk.stat(at.cluster)) !== undefined) return;
  const strange = (await disk.list(at.dir)).filter((name) => !HARMLESS.has(name));
  if (strange.length > 0) {
    throw new DirectoryRefused(
      `${at.dir} is not empty and holds no cluster (${strange.slice(0, 3).join(", ")}${strange.length > 3 ? ", …" : ""}): give another --dir, or an empty one`,
    );
  }
}

export async function createCluster(
  at: Layout,
  checked: CheckedCluster,
  seams: CreateSeams,
): Promise<StoredCluster> {
  const basePort = await chooseBasePort(seams.ports, await neighbours(at, seams.disk));
  if (basePort === undefined) {
    throw new DirectoryRefused(
      "no block of free ports was found on this machine between 23790 and 32790: stop what holds them",
    );
  }
  return await new Store(at, seams).createCluster(checked.name, checked.spec, basePort);
}

/** The blocks of clusters beside this one, running or not. */
async function neighbours(at: Layout, disk: Disk): Promise<number[]> {
  const parent = path.dirname(at.dir);
  const blocks: number[] = [];
  for (const name of await disk.list(parent)) {
    const text = await disk.read(layout(path.join(parent, name)).cluster).catch(() => undefined);
    try {
      const { basePort } = JSON.parse(text ?? "{}") as { basePort?: unknown };
      if (typeof basePort === "number") blocks.push(basePort);
    } catch {
      // Not a file of ours.
    }
  }
  return blocks;
}
