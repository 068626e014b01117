/**
 * One controller per directory. The lock is a file that names its holder by pid and start time, so that a
 * lock left by a killed controller is known for what it is and taken over.
 */
import type { Clock } from "../seams/clock.ts";
import type { Disk } from "../seams/disk.ts";
import type { ProcessIdentity, Processes } from "../seams/processes.ts";
import type { Layout } from "./layout.ts";

export interface LockHolder extends ProcessIdentity {
  /** Where it takes commands. */
  readonly socket: string;
  readonly since: number;
}

export class DirectoryBusy extends Error {
  override name = "DirectoryBusy";
  readonly holder: LockHolder;
  constructor(dir: string, holder: LockHolder) {
    super(
      `another controller (process ${holder.pid}) is running the cluster in ${dir}. Stop it first, or use another --dir and --name`,
    );
    this.holder = holder;
  }
}

export interface LockSeams {
  readonly disk: Disk;
  readonly clock: Clock;
  readonly processes: Processes;
}

export class Lock {
  readonly #layout: Layout;
  readonly #disk: Disk;
  readonly #text: string;

  private constructor(layout: Layout, disk: Disk, text: string) {
    this.#layout = layout;
    this.#disk = disk;
    this.#text = text;
  }

  /** Takes the lock, or throws `DirectoryBusy`. A lock of a dead holder is taken over. */
  static async take(layout: Layout, seams: LockSeams, socket: string): Promise<Lock> {
    const { disk, clock, processes } = seams;
    const self = await processes.self();
    const holder: LockHolder = { ...self, socket, since: clock.now() };
    const text = `${JSON.stringify(holder)}\n`;
    // Two that find the same dead holder: only one of them makes the claim, and then looks again.
    const claim = `${layout.lock}.claim`;
    for (let tries = 0; tries < 3; tries++) {
      if (await disk.create(layout.lock, text)) return new Lock(layout, disk, text);
      const present = await readHolder(disk, layout.lock);
      if (present && (await processes.isAlive(present))) throw new DirectoryBusy(layout.dir, present);
      if (!(await disk.create(claim, text))) {
        const claimant = await readHolder(disk, claim);
        if (claimant && (await processes.isAlive(claimant))) throw new DirectoryBusy(layout.dir, claimant);
        await disk.remove(claim);
        continue;
      }
      const again = await readHolder(disk, layout.lock);
      if (!again || !(await processes.isAlive(again))) await disk.remove(layout.lock);
      await disk.remove(claim);
    }
    throw new Error(`could not lock ${layout.lock}; delete the file if no controller is running`);
  }

  /** Somebody removed or replaced the file: we must not act any more. */
  async isLost(): Promise<boolean> {
    return (await this.#disk.read(this.#layout.lock)) !== this.#text;
  }

  async release(): Promise<void> {
    if (!(await this.isLost())) await this.#disk.remove(this.#layout.lock);
  }
}

/** Who controls the directory now, if anybody. */
export async function currentHolder(
  layout: Layout,
  { disk, processes }: Pick<LockSeams, "disk" | "processes">,
): Promise<LockHolder | undefined> {
  const holder = await readHolder(disk, layout.lock);
  return holder && (await processes.isAlive(holder)) ? holder : undefined;
}

async function readHolder(disk: Disk, file: string): Promise<LockHolder | undefined> {
  const text = await disk.read(file);
  if (text === undefined) return undefined;
  try {
    const holder = JSON.parse(text) as Partial<LockHolder>;
    const { pid, startTime, socket, since } = holder;
    if (typeof pid !== "number" || typeof startTime !== "string") return undefined;
    return { pid, startTime, socket: socket ?? "", since: since ?? 0 };
  } catch {
    return undefined; // Cut off while it was written: its writer is dead.
  }
}
