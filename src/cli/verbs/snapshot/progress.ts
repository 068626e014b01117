/** Progress on standard error: rewritten in place on a terminal, a line now and then elsewhere. */
import type { CliIo } from "../../io.ts";
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
    const now = this.#io.clock.monotonic();
    if (now < this.#next) return;
    this.#next = now + (this.#io.isTTY ? TERMINAL_MS : LOG_MS);
    const share = of === undefined || of === 0 ? "" : ` of ${bytes(of)} (${Math.floor((100 * done) / of)} %)`;
    const rate = bytes((done * 1000) / Math.max(1, now - this.#began));
    const line = `${this.#what}: ${bytes(done)}${share}, ${rate}/s`;
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
