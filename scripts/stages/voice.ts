/**
 * How a run speaks: lines that stay, and on a terminal one last line that shows what is going on now. Stages that run
 * at the same time speak in turn, each line with its speaker.
 */
import { seconds } from "./result.ts";

export interface Voice {
  /** A line that stays. */
  say(text: string): void;
  /** A step of something long. On a terminal it replaces the last one. */
  progress(text: string): void;
  /** From now on `what` is being waited for. */
  working(what: string): void;
  idle(): void;
}

interface Terminal {
  write(text: string): unknown;
  readonly isTTY?: boolean;
  readonly columns?: number;
}

const CLEAR = "\r\u001b[K";
/** Without a terminal, a silent minute looks like a hang, and a line per second is noise. */
const QUIET_REPEAT_MS = 60_000;

export function terminalVoice(out: Terminal): Voice {
  let timer: NodeJS.Timeout | undefined;
  const fit = (text: string) => text.slice(0, (out.columns ?? 80) - 1);
  const idle = () => {
    clearInterval(timer);
    timer = undefined;
    if (out.isTTY) out.write(CLEAR);
  };
  return {
    say: (text) => out.write(`${out.isTTY ? CLEAR : ""}${text}\n`),
    progress: (text) => out.write(out.isTTY ? `${CLEAR}${fit(`  ${text}`)}` : `  ${text}\n`),
    working(what) {
      idle();
      const started = performance.now();
      const line = () => `  … ${what} ${seconds(performance.now() - started)}`;
      timer = setInterval(
        () => out.write(out.isTTY ? `${CLEAR}${fit(line())}` : `${line()}\n`),
        out.isTTY ? 500 : QUIET_REPEAT_MS,
      );
      timer.unref();
    },
    idle,
  };
}

/** What is said through it waits until it is released; what is being done is reported at once. */
export function heldBack(voice: Voice): { readonly held: Voice; readonly release: () => void } {
  const said: string[] = [];
  return {
    held: { ...voice, say: (text) => void said.push(text) },
    release: () => {
      if (said.length > 0) voice.say(said.splice(0).join("\n"));
    },
  };
}

/** A voice for each of those who speak at the same time; one alone speaks as it is. */
export function voicesFor(voice: Voice, speakers: readonly string[]): Voice[] {
  if (speakers.length < 2) return speakers.map(() => voice);
  const width = Math.max(...speakers.map((name) => name.length));
  const doing = new Map<number, string>();
  const tellWork = () => {
    if (doing.size === 0) voice.idle();
    else voice.working([...doing.values()].join(", "));
  };
  return speakers.map((name, index) => {
    const spoken = (text: string) => text.replaceAll(/^/gm, `${name.padEnd(width)} │ `);
    return {
      say: (text) => voice.say(spoken(text)),
      progress: (text) => voice.progress(spoken(text)),
      working(what) {
        doing.set(index, what);
        tellWork();
      },
      idle() {
        doing.delete(index);
        tellWork();
      },
    };
  });
}
