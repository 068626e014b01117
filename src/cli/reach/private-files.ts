/**
 * Keys in files for a program that takes nothing else: in a directory that only this user can read, and that is removed
 * at the end, also when a second Ctrl-C ends the process at once.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import process from "node:process";

export interface PrivateFiles extends Disposable {
  /** The path of a new file. */
  write(name: string, text: string): string;
}

export function privateFiles(env: Readonly<Record<string, string | undefined>>): PrivateFiles {
  // The user's own directory in memory where there is one: keys then never touch a disk.
  const within = [env["XDG_RUNTIME_DIR"], tmpdir()].filter((dir) => dir !== undefined && dir !== "");
  const dir = made(within as string[]);
  const remove = () => rmSync(dir, { recursive: true, force: true });
  process.once("exit", remove);
  return {
    write(name, text) {
      const file = path.join(dir, name);
      writeFileSync(file, text, { mode: 0o600, flag: "wx" });
      return file;
    },
    [Symbol.dispose]() {
      process.off("exit", remove);
      remove();
    },
  };
}

/** A directory of mode 0700 in the first place that takes one. */
function made(places: readonly string[]): string {
  let problem: unknown;
  for (const place of places) {
    try {
      return mkdtempSync(path.join(place, "quorate-"));
    } catch (error) {
      problem = error;
    }
  }
  throw problem instanceof Error ? problem : new Error("there is no directory for temporary files");
}
