/**
 * A rescue in steps that containers of one Pod take on the survivor's volume: a copy is made, etcd's own image runs on it
 * once, and beside it the snapshot is taken. A Pod that comes after another one begins with a copy of its own.
 */
import path from "node:path";
import { deadline, sleep, type Clock } from "../seams/clock.ts";
import type { Disk } from "../seams/disk.ts";
import type { Pki } from "../seams/pki.ts";
import type { Random } from "../seams/random.ts";
import type { Manifest } from "../snapshot/manifest.ts";
import { issueCertificates, readCertificates } from "../snapshot/scratch.ts";
import { placesOn, RESCUED_SNAPSHOT } from "./places.ts";
import { copyForRescue, RescueError, saveForced, takeOut, type RescueOptions } from "./rescue.ts";

/** The copy, and the snapshot of it. */
const COPIES = 2;
const START_TIMEOUT_MS = 600_000;
const POLL_MS = 500;

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
  const { dataDir, workDir, attempt } = placesOn(volume, plan, by);
  for (const name of await disk.list(workDir)) {
    if (!name.startsWith(RESCUED_SNAPSHOT)) await disk.remove(path.join(workDir, name));
  }
  await copyForRescue({ dataDir, expected, disk, attempt, copies: COPIES });
  await issueCertificates({ directory: tlsDir, clientURL: "https://127.0.0.1" }, { pki, disk });
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
  const ready = async (serves: (limit: AbortSignal) => Promise<boolean>) => {
    using limit = deadline(clock, START_TIMEOUT_MS, signal);
    while (!limit.signal.aborted) {
      if (await serves(limit.signal).catch(() => false)) return;
      await sleep(clock, POLL_MS, limit.signal).catch(() => undefined);
    }
    signal.throwIfAborted();
    throw new RescueError(
      `etcd did not serve from the copy within ${START_TIMEOUT_MS / 60_000} minutes: see the log of its container`,
    );
  };
  const manifest = await saveForced({ attempt, url, tls, last: { index }, ready, clock, random, signal });
  await takeOut(disk, attempt, workDir);
  // etcd still has it open, and is not needed any more.
  await disk.remove(attempt);
  return manifest;
}
