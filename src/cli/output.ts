/**
 * What verbs share when they print: the formats of `-o`, colours only where they can be seen, and `--watch`.
 */
import { sleep } from "../seams/clock.ts";
import type { OutputFormat, SharedValues } from "./flag.ts";
import type { CliIo } from "./io.ts";
import { styleFor, type Style } from "./screen/style.ts";
import type { Target } from "./target/target.ts";

/** Colours on a terminal, unless NO_COLOR or --no-color say otherwise. */
export function styleOf(io: CliIo, flags: Pick<SharedValues, "no-color">): Style {
  const wanted = io.isTTY && !flags["no-color"] && !io.env["NO_COLOR"] && io.env["TERM"] !== "dumb";
  return styleFor(wanted);
}

/** The columns of the terminal, or what is readable in a file: sentences are wrapped there. */
export function widthOf(io: CliIo): number {
  return Math.max(60, io.stdout.columns ?? 100);
}

/** How long a line of a table may be: in a pipe or a file nothing is cut off, since `grep` could not find it. */
export function tableWidthOf(io: CliIo): number {
  return io.stdout.columns === undefined ? Infinity : widthOf(io);
}

export interface Shown {
  /** What programs read. */
  readonly data: unknown;
  /** What people read; ends without a newline. */
  readonly text: (format: "table" | "wide") => string;
}

export async function formatted({ data, text }: Shown, format: OutputFormat): Promise<string> {
  if (format === "json") return `${JSON.stringify(data, undefined, 2)}\n`;
  if (format === "yaml") {
    const { stringify } = await import("yaml");
    return stringify(data, { lineWidth: 0 });
  }
  return `${text(format)}\n`;
}

const LOOK_EVERY_MS = 1_000;

/** What of a target `--watch` needs. */
type Followable = Pick<Target, "follow">;

/**
 * Prints once, or with `--watch` whenever it looks different: on a terminal in place, elsewhere below each other. Ages
 * move on by themselves, so it looks again every second; a change is shown at once where the target tells of it.
 */
export async function show(
  io: CliIo,
  flags: Pick<SharedValues, "output" | "watch">,
  look: () => Promise<Shown>,
  target: Followable = {},
): Promise<void> {
  let before = "";
  const inPlace = io.isTTY && flags.output !== "json" && flags.output !== "yaml";
  const following = flags.watch ? target.follow?.() : undefined;
  let troubled = false;
  for (;;) {
    const shown = await formatted(await look(), flags.output);
    const trouble = following?.trouble;
    const text = trouble !== undefined && inPlace ? `${shown}\n${trouble}\n` : shown;
    if (text !== before) {
      if (flags.watch && inPlace) io.stdout.write(`\x1b[H\x1b[2J\x1b[3J`);
      else if (before !== "" && flags.output !== "json")
        io.stdout.write(flags.output === "yaml" ? "---\n" : "\n");
      io.stdout.write(text);
      before = text;
    }
    if (!inPlace && trouble !== undefined && !troubled) io.stderr.write(`${trouble}\n`);
    troubled = trouble !== undefined;
    if (!flags.watch) return;
    try {
      await (following?.changed(LOOK_EVERY_MS) ?? sleep(io.clock, LOOK_EVERY_MS, io.signal));
    } catch {
      return; // Ctrl-C is how a watch ends.
    }
  }
}
