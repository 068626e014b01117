/**
 * From an approved plan to a data directory that an etcd can start from alone: everything in the member's log becomes a
 * snapshot, while its directory is only read, and the snapshot is restored under a new cluster ID with its revision raised.
 * Done once: the directory gets its name when it is whole, and whoever comes after a crash begins again or finds it.
 */
import path from "node:path";
import type { RestoreRecipe } from "../../api/bootstrap.ts";
import type { InstalledEtcd } from "../../etcd/install/ensure.ts";
import type { ProcessWorld } from "../../etcd/process.ts";
import type { Pki } from "../../seams/pki.ts";
import type { Random } from "../../seams/random.ts";
import { restoreDataDir } from "../../snapshot/restore.ts";
import { rescue } from "../rescue.ts";
import type { NodePlan } from "./plan.ts";

export interface PrepareOptions {
  readonly plan: NodePlan;
  /** For this plan alone. */
  readonly workDir: string;
  readonly peerURL: string;
  readonly etcd: InstalledEtcd;
  /** Flags that the log cannot be replayed without. */
  readonly flags: readonly string[];
  readonly world: ProcessWorld;
  readonly pki: Pki;
  readonly random: Random;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly signal: AbortSignal;
  readonly tell: (text: string) => void;
}

export async function prepareNode(options: PrepareOptions): Promise<string> {
  const { plan, workDir, peerURL, etcd, world, random, env, signal, tell } = options;
  const dataDir = path.join(workDir, "data");
  await world.disk.makeDirectory(workDir);
  if ((await world.disk.stat(path.join(dataDir, "member")))?.kind === "directory") {
    tell(`found ${dataDir}, made for this plan before`);
    return dataDir;
  }
  await restoreDataDir({
    restore: await recipeOf(options),
    volume: workDir,
    dataDir,
    member: { name: plan.name, peerURL, token: `recovered-${plan.hash}` },
    etcd,
    context: { clock: world.clock, random, env, disk: world.disk, cwd: "/" },
    signal,
    tell,
  });
  return dataDir;
}

async function recipeOf(options: PrepareOptions): Promise<RestoreRecipe> {
  const { plan, workDir, tell } = options;
  const { from } = plan;
  if (from.kind === "snapshot") return { source: { file: { path: from.file } }, checksum: from.sha256 };
  tell(`making a snapshot of everything in the log of ${from.dataDir}, which is only read`);
  const { file, sha256 } = await rescue({
    ...options,
    dataDir: from.dataDir,
    expected: from.expected,
    workDir: path.join(workDir, "rescue"),
  });
  return { source: { file: { path: file } }, checksum: sha256 };
}
