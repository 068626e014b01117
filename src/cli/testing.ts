/** Surroundings for a verb in a test: collects what it prints. */
import { Readable } from "node:stream";
import { systemClock } from "../seams/clock.ts";
import { systemRandom } from "../seams/random.ts";
import type { CliIo } from "./io.ts";

export interface CollectingIo extends CliIo {
  readonly out: () => string;
  readonly err: () => string;
}

export function collectingIo(more: Partial<CliIo> & { readonly input?: string } = {}): CollectingIo {
  const { input = "", ...io } = more;
  const [out, err]: [string[], string[]] = [[], []];
  return {
    stdin: Readable.from([input]),
    stdout: { write: (text) => out.push(text) },
    stderr: { write: (text) => err.push(text) },
    env: {},
    cwd: "/",
    isTTY: false,
    signal: new AbortController().signal,
    clock: systemClock,
    random: systemRandom,
    ...io,
    out: () => out.join(""),
    err: () => err.join(""),
  };
}
