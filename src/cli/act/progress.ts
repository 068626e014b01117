/** What happens, line by line and with the time, while a command waits for it. */
import { EXIT, CommandError } from "../exit.ts";
import type { SharedValues } from "../flag.ts";
import type { CliIo } from "../io.ts";
import { sleep } from "../../seams/clock.ts";

/** A status is written within a second of a change. */
const LOOK_EVERY_MS = 500;

export type WaitValues = Pick<SharedValues, "no-wait" | "timeout">;

export class Progress {
  readonly #io: CliIo;
  #last = "";

  constructor(io: CliIo) {
    this.#io = io;
  }

  /** The same sentence is said once, however often it is seen. */
  say(text: string, at = this.#io.clock.now()): void {
    if (text === this.#last) return;
    this.#last = text;
    this.#io.stderr.write(`${timeOf(at)}  ${text}\n`);
  }
}

function timeOf(ms: number): string {
  return new Date(ms).toISOString().slice(11, 19);
}

export interface Look<T> {
  /** What it came to; undefined while it goes on. */
  readonly done?: T;
  /** What goes on now. */
  readonly doing?: string;
}

/** Looks again until it is done. `goesOn` says what continues when the time limit passes or the user leaves. */
export async function until<T>(
  io: CliIo,
  flags: WaitValues,
  progress: Progress,
  look: () => Promise<Look<T>>,
  goesOn: string,
): Promise<T> {
  const end = io.clock.monotonic() + flags.timeout;
  for (;;) {
    const { done, doing } = await look();
    if (done !== undefined) return done;
    if (doing !== undefined) progress.say(doing);
    if (io.clock.monotonic() >= end) {
      const last = doing === undefined ? "" : ` Last: ${doing}`;
      throw new CommandError(
        EXIT.timedOut,
        `not complete within ${Math.round(flags.timeout / 1000)} s.${last} ${goesOn}`,
      );
    }
    try {
      await sleep(io.clock, LOOK_EVERY_MS, io.signal);
    } catch {
      throw new CommandError(EXIT.interrupted, `interrupted. ${goesOn}`);
    }
  }
}
