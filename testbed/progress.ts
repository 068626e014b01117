/**
 * Progress for a person: one line that is rewritten on a terminal, a line now and then elsewhere.
 */
import type { WriteStream } from "node:tty";

const SELDOM_MS = 10_000;

export interface ProgressLine {
  say: (text: string) => void;
  /** The last line, with the whole time. */
  end: (text: string) => void;
}

export function progressLine(stream: WriteStream): ProgressLine {
  const started = Date.now();
  let subject = "";
  let last = 0;
  const stamp = () => `${((Date.now() - started) / 1000).toFixed(1).padStart(6)} s  `;
  return {
    say(text) {
      if (stream.isTTY) {
        stream.write(`\r\x1b[K${stamp()}${text}`.slice(0, stream.columns + 5));
        return;
      }
      // The same subject again ("building …: 31 s") is news only now and then.
      const about = text.split(":")[0] ?? "";
      if (about === subject && Date.now() - last < SELDOM_MS) return;
      subject = about;
      last = Date.now();
      stream.write(`${stamp()}${text}\n`);
    },
    end(text) {
      stream.write(`${stream.isTTY ? "\r\x1b[K" : ""}${stamp()}${text}\n`);
    },
  };
}
