/** What members on a testbed said last, for the message of a failed test. */
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { bedPaths } from "../../testbed/paths.ts";

/** The end of what a member's etcd wrote, as far as the stand-in has it. */
export function lastWords(bed: string, member: string): string {
  const dir = join(bedPaths(bed).kubelet, "logs");
  const runs = existsSync(dir)
    ? readdirSync(dir).filter((name) => name.startsWith(`default_${member}_`))
    : [];
  const files = runs.flatMap((run) =>
    readdirSync(join(dir, run, "etcd")).map((name) => join(dir, run, "etcd", name)),
  );
  const [newest] = files.toSorted((a, b) => statSync(b).mtimeMs - statSync(a).mtimeMs);
  const lines = newest === undefined ? [] : readFileSync(newest, "utf8").trimEnd().split("\n");
  return `${member}, ${files.length} runs: ${lines.slice(-12).join("\n")}`;
}
