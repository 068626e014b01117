/**
 * A rescue in steps that containers of one Pod take on the survivor's volume: a copy is made, etcd's own image runs on it
 * once, and beside it the snapshot is taken. A Pod that comes after another one begins with a copy of its own.
 */
import path from "node:path";
import type { Clock } from "../seams/clock.ts";
import type { Disk } from "../seams/disk.ts";
import type { Pki } from "../seams/pki.ts";
import type { Random } from "../seams/random.ts";
import { manifestName, type Manifest } from "../snapshot/manifest.ts";
import { issueCertificates, readCertificates } from "../snapshot/scratch.ts";
import { untilServing } from "./patience.ts";
import { ATTEMPT, COPY, placesOn, recoveriesOn, RESCUE_LOG, RESCUED_SNAPSHOT } from "./places.ts";
import { bytesIn, copyForRescue, saveForced, takeOut, type RescueOptions } from "./rescue.ts";

/** The copy, and the snapshot of it. */
const COPIES = 2;
/** What a rescue leaves in the directory of its plan. */
const MADE: ReadonlySet<string> = new Set([RESCUED_SNAPSHOT, manifestName(RESCUED_SNAPSHOT), RESCUE_LOG]);

export interface CopyStep {
  readonly volume: string;
  readonly plan: string;
  /** The UID of the Pod. */
  readonly by: string;
  readonly expected: RescueOptions["expected"];
  /** Where etcd and the next step find their certificates; in memory, and for this Pod alone. */
  readonly tlsDir: string;
  readonly disk: Disk;
  readonly pki: Pki;
}

export async function copyStep(options: CopyStep): Promise<void> {
  const { volume, plan, by, expected, tlsDir, disk, pki } = options;
  const { dataDir, attempt } = placesOn(volume, plan, by);
  await removeCopies(disk, volume);
  try {
    await copyForRescue({ dataDir, expected, disk, attempt, copies: COPIES });
  } catch (error) {
    await disk.remove(attempt);
    throw error;
  }
  await issueCertificates({ directory: tlsDir, clientURL: "https://127.0.0.1" }, { pki, disk });
}

/** Of earlier attempts, for whichever plan: they are as large as the data, and nothing reads them any more. */
async function removeCopies(disk: Disk, volume: string): Promise<void> {
  for (const { workDir } of await plansOn(disk, volume))
    for (const name of await disk.list(workDir))
      if (name.startsWith(ATTEMPT)) await disk.remove(path.join(workDir, name));
}

/**
 * Snapshots of plans that came to nothing: what they were made from is in the new one, or still beside it. Only what a
 * rescue makes, by its whole name: beside it an etcd may serve from data that somebody restored there.
 */
export async function removeOthers(disk: Disk, volume: string, plan: string): Promise<void> {
  for (const other of await plansOn(disk, volume)) {
    if (other.plan === plan) continue;
    const names = await disk.list(other.workDir);
    if (names.includes(COPY)) continue;
    const made = names.filter((name) => MADE.has(name) || name.startsWith(ATTEMPT));
    for (const name of made) await disk.remove(path.join(other.workDir, name));
    if (made.length === names.length) await disk.remove(other.workDir);
  }
}

async function plansOn(disk: Disk, volume: string): Promise<{ plan: string; workDir: string }[]> {
  const names = await disk.list(recoveriesOn(volume));
  // `node-<hash>` is none of them: an etcd serves from it (`quorate recover node`).
  const plans = names.filter((name) => /^[0-9a-f]{16}$/.test(name));
  return plans.map((plan) => ({ plan, workDir: path.join(recoveriesOn(volume), plan) }));
}

export interface SaveStep extends Pick<CopyStep, "volume" | "plan" | "by" | "tlsDir" | "disk"> {
  readonly index: number;
  readonly url: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly signal: AbortSignal;
}

export async function saveStep(options: SaveStep): Promise<Manifest> {
  const { volume, plan, by, tlsDir, disk, index, url, clock, random, signal } = options;
  const { workDir, attempt } = placesOn(volume, plan, by);
  const tls = await readCertificates(tlsDir, disk);
  const bytes = await bytesIn(attempt);
  const ready = async (serves: (limit: AbortSignal) => Promise<boolean>) =>
    await untilServing({ bytes, serves, clock, signal });
  try {
    const manifest = await saveForced({ attempt, url, tls, last: { index }, ready, clock, random, signal });
    await takeOut(disk, attempt, workDir);
    await removeOthers(disk, volume, plan);
    return manifest;
  } finally {
    // etcd still has it open, and is not needed any more; the members are started again beside it if this failed.
    await disk.remove(attempt);
  }
}
