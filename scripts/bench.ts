/**
 * `npm run bench [-- part-of-a-path …]`: runs every *.bench.ts, or those named, one after the other, each
 * in a process of its own. A benchmark is a program that prints what it measured, with its unit.
 */
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { openRepo } from "./check/repo.ts";

const wanted = process.argv.slice(2);
const repo = openRepo(fileURLToPath(new URL("..", import.meta.url)));
const files = repo.files.filter(
  (path) => path.endsWith(".bench.ts") && (wanted.length === 0 || wanted.some((part) => path.includes(part))),
);
if (files.length === 0) {
  console.error(`no *.bench.ts matches ${wanted.join(", ")}`);
  process.exitCode = 2;
}
for (const file of files) {
  console.log(`▶ ${file}`);
  const { status, signal } = spawnSync(process.execPath, [file], { cwd: repo.root, stdio: "inherit" });
  if (status !== 0) {
    console.error(`✖ ${file} ended with ${status ?? signal}`);
    process.exitCode = 1;
  }
}
