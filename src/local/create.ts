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

const MOST_TRIES = 8;

/** Files that may lie in a directory which holds no cluster yet. */
const HARMLESS = new Set(["lock", "lock.claim", "control.sock", "volumes", "snapshots", "schedules"]);

/** Refuses a directory that holds something else than a cluster of ours. */
export async function checkDirectory(at: Layout, disk: Disk): Promise<void> {
  const entry = await disk.stat(at.dir);
  if (entry && entry.kind !== "directory") {
    throw new DirectoryRefused(`${at.dir} is not a directory: use another --dir`);
  }
  if ((await disk.stat(at.cluster)) !== undefined) return;
  const strange = (await disk.list(at.dir)).filter((name) => !HARMLESS.has(name));
  if (strange.length > 0) {
    throw new DirectoryRefused(
      `${at.dir} is not empty and contains no cluster (${strange.slice(0, 3).join(", ")}${strange.length > 3 ? ", …" : ""}): use another --dir, or an empty one`,
    );
  }
}

/**
 * Two clusters that are made at the same moment may choose the same ports: each looks again after it has
 * written its choice, and whoever sees the other chooses anew, not both the same.
 */
export async function createCluster(
  at: Layout,
  checked: CheckedCluster,
  seams: CreateSeams,
): Promise<StoredCluster> {
  const store = new Store(at, seams);
  let cluster: StoredCluster | undefined;
  for (let tries = 0; tries < MOST_TRIES; tries++) {
    const skip = tries === 0 ? 0 : (seams.random.bytes(1)[0] ?? 0) % MOST_TRIES;
    const basePort = await chooseBasePort(seams.ports, await neighbours(at, seams.disk), skip);
    if (basePort === undefined) {
      throw new DirectoryRefused(
        "no block of 100 free ports between 23790 and 32790 on this machine: stop the processes that use them",
      );
    }
    cluster = await store.createCluster(checked.name, checked.spec, basePort);
    if (!(await neighbours(at, seams.disk)).includes(basePort)) break;
  }
  if (!cluster) throw new TypeError("no cluster was created");
  return cluster;
}

/** The blocks of other clusters beside this one, running or not. */
async function neighbours(at: Layout, disk: Disk): Promise<number[]> {
  const parent = path.dirname(at.dir);
  const others = (await disk.list(parent)).filter((name) => path.join(parent, name) !== at.dir);
  const blocks = await Promise.all(others.map((name) => blockOf(layout(path.join(parent, name)), disk)));
  return blocks.filter((block) => block !== undefined);
}

async function blockOf(other: Layout, disk: Disk): Promise<number | undefined> {
  try {
    const { basePort } = JSON.parse((await disk.read(other.cluster)) ?? "{}") as { basePort?: unknown };
    return typeof basePort === "number" ? basePort : undefined;
  } catch {
    return undefined; // Not a directory, not readable for us, or not a file of ours.
  }
}
