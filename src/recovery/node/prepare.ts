/**
 * From an approved plan to a data directory that an etcd can start from alone: everything in the member's log becomes a
 * snapshot, while its directory is only read, and the snapshot is restored under a new cluster ID with its revision raised.
 * Done once: the directory gets its name when it is whole, and whoever comes after a crash begins again or finds it.
 */
import path from "node:path";
import type { RestoreRecipe } from "../../api/bootstrap.ts";
import { settleBump } from "../../api/restore-values.ts";
import type { InstalledEtcd } from "../../etcd/install/ensure.ts";
import type { ProcessWorld } from "../../etcd/process.ts";
import type { Disk } from "../../seams/disk.ts";
import type { Pki } from "../../seams/pki.ts";
import type { Random } from "../../seams/random.ts";
import { restoreDataDir } from "../../snapshot/restore.ts";
import { rescue } from "../rescue.ts";
import type { NodePlan } from "./plan.ts";

/** Holds the hash of the plan that the directory is for. */
const MARK = "plan";

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
  await claimFor(plan, workDir, world.disk);
  if ((await world.disk.stat(path.join(dataDir, "member")))?.kind === "directory") {
    tell(`found ${dataDir}, made for this plan before`);
    return dataDir;
  }
  await restoreDataDir({
    restore: settleBump(await recipeOf(options), world.clock.now()),
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

/** The directory was not made for this plan; it is as it was. */
export class NotOfThisPlan extends Error {
  override name = "NotOfThisPlan";
}

/**
 * Written before anything else is, so that what is found in a directory is known to be of the approved plan. In one that
 * holds anything else nothing is started, and nothing is removed.
 */
export async function claimFor({ hash }: Pick<NodePlan, "hash">, workDir: string, disk: Disk): Promise<void> {
  await disk.makeDirectory(workDir);
  const mark = path.join(workDir, MARK);
  const before = await disk.read(mark);
  if (before?.trim() === hash) return;
  if (before !== undefined)
    throw new NotOfThisPlan(`${workDir} was made for the plan ${before.trim()}, not for ${hash}`);
  // What a process that was killed left of the mark itself is no data.
  const names = (await disk.list(workDir)).filter((name) => name !== `.${MARK}.new`);
  if (names.length > 0)
    throw new NotOfThisPlan(`${workDir} holds ${names.join(", ")}, which was not made for the plan ${hash}`);
  await disk.write(mark, `${hash}\n`);
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
