/** Progress on standard error: rewritten in place on a terminal, a line now and then elsewhere. */
import type { CliIo } from "../../io.ts";
import type { SaveProgress } from "../../../snapshot/save.ts";
import { bytes } from "../../screen/words.ts";

const TERMINAL_MS = 200;
const LOG_MS = 10_000;

export class Progress {
  readonly #io: CliIo;
  readonly #what: string;
  readonly #began: number;
  #next: number;
  #shown = false;

  constructor(io: CliIo, what: string) {
    this.#io = io;
    this.#what = what;
    this.#began = io.clock.monotonic();
    this.#next = this.#began + (io.isTTY ? TERMINAL_MS : LOG_MS);
  }

  update(done: number, of?: number): void {
    const now = this.#due();
    if (now === undefined) return;
    const share = of === undefined || of === 0 ? "" : ` of ${bytes(of)} (${Math.floor((100 * done) / of)} %)`;
    const rate = bytes((done * 1000) / Math.max(1, now - this.#began));
    this.#show(`${this.#what}: ${bytes(done)}${share}, ${rate}/s`);
  }

  /** Of something that is not measured in bytes. */
  count(number: number, what: string): void {
    if (this.#due() !== undefined) this.#show(`${what} ${number}`);
  }

  #due(): number | undefined {
    const now = this.#io.clock.monotonic();
    if (now < this.#next) return undefined;
    this.#next = now + (this.#io.isTTY ? TERMINAL_MS : LOG_MS);
    return now;
  }

  #show(line: string): void {
    this.#io.stderr.write(this.#io.isTTY ? `\r\x1b[K${line}` : `${line}\n`);
    this.#shown = this.#io.isTTY;
  }

  /** Leaves the terminal's line empty for what follows. */
  end(): void {
    if (this.#shown) this.#io.stderr.write("\r\x1b[K");
    this.#shown = false;
  }
}

export async function withProgress<T>(
  io: CliIo,
  what: string,
  work: (progress: Progress) => Promise<T>,
): Promise<T> {
  const progress = new Progress(io, what);
  try {
    return await work(progress);
  } finally {
    progress.end();
  }
}

/** What the taking of a snapshot tells. */
export function reportSave(event: SaveProgress, progress: Progress, io: CliIo): void {
  if (event.kind === "bytes") progress.update(event.done, event.of);
  else if (event.kind === "member")
    io.stderr.write(
      `Taking the snapshot from ${event.endpoint}${event.leader ? ", the leader" : ""}${event.quorum ? "" : "; the cluster has no leader, so writes that only other members have are missing"}\n`,
    );
  else if (event.kind === "no-hash")
    io.stderr.write(`The manifest will lack the hash of the keys: ${event.error.message}\n`);
  else if (event.kind === "leftover")
    io.stderr.write(
      `Deleted ${event.leftover.name} (${bytes(event.leftover.size)}), which an attempt that was killed had left\n`,
    );
  else if (event.kind === "leftovers-stay")
    io.stderr.write(`What an attempt that was killed had left stays there: ${event.error.message}\n`);
  else io.stderr.write(`${event.error.message}; continuing with ${event.endpoint}\n`);
}
