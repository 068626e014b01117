/**
 * What verbs share when they print: the formats of `-o`, colours only where they can be seen, and `--watch`.
 */
import { sleep } from "../seams/clock.ts";
import type { OutputFormat, SharedValues } from "./flag.ts";
import type { CliIo } from "./io.ts";
import { LiveScreen, roomOf, type Kept } from "./screen/live.ts";
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
  /** What people read; ends without a newline. `room`: how many lines a live screen has. */
  readonly text: (format: "table" | "wide", room?: number) => string;
  /** Of what does not fit on a live screen, which lines stay beside the first. */
  readonly kept?: Kept;
}

export async function formatted({ data, text }: Shown, format: OutputFormat): Promise<string> {
  if (format === "json") return `${JSON.stringify(data, undefined, 2)}\n`;
  if (format === "yaml") {
    const { stringify } = await import("../seams/yaml.ts");
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
  const { output } = flags;
  const live = flags.watch && io.isTTY && (output === "table" || output === "wide");
  const screen = live ? new LiveScreen(io.stdout) : undefined;
  const following = flags.watch ? target.follow?.() : undefined;
  let before = "";
  let troubled = false;
  for (;;) {
    const shown = await unlessLeft(io, flags.watch, look);
    if (shown === undefined) return;
    const trouble = following?.trouble;
    const text =
      screen && (output === "table" || output === "wide")
        ? shown.text(output, roomOf(io.stdout))
        : await formatted(shown, output);
    const seen = `${text}\n${screen ? (trouble ?? "") : ""}`;
    if (seen !== before) {
      if (screen) screen.draw(text, { ...shown, ...(trouble !== undefined && { foot: trouble }) });
      else {
        if (before !== "" && output !== "json") io.stdout.write(output === "yaml" ? "---\n" : "\n");
        io.stdout.write(text);
      }
      before = seen;
    }
    if (!screen && trouble !== undefined && !troubled) io.stderr.write(`${trouble}\n`);
    troubled = trouble !== undefined;
    if (!flags.watch) return;
    const waited = await unlessLeft(io, true, async () => {
      await (following?.changed(LOOK_EVERY_MS) ?? sleep(io.clock, LOOK_EVERY_MS, io.signal));
      return true;
    });
    if (waited === undefined) return;
  }
}

/** Ctrl-C is how what is live ends, whatever it does at that moment: undefined then. */
export async function unlessLeft<T>(
  io: CliIo,
  live: boolean,
  work: () => Promise<T>,
): Promise<T | undefined> {
  try {
    return await work();
  } catch (error) {
    if (live && io.signal.aborted) return undefined;
    throw error;
  }
}
