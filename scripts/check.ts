/**
 * `npm run check [-- name …]`: all checks, or those named. One line each, then what was found.
 */
import { fileURLToPath } from "node:url";
import { openRepo } from "./check/repo.ts";
import { checks, runChecks } from "./check/run.ts";
import { describeCheck } from "./check/report.ts";

const wanted = process.argv.slice(2);
const unknown = wanted.filter((name) => !checks.some((check) => check.name === name));
if (unknown.length > 0) {
  console.error(`no check ${unknown.join(", ")}: one of ${checks.map((check) => check.name).join(", ")}`);
  process.exit(2);
}

const started = performance.now();
const repo = openRepo(fileURLToPath(new URL("..", import.meta.url)));
const chosen = wanted.length === 0 ? checks : checks.filter((check) => wanted.includes(check.name));
const results = await runChecks(repo, chosen, (result) => console.log(describeCheck(result)));
const failed = results.filter((result) => result.findings.length > 0);
const seconds = ((performance.now() - started) / 1000).toFixed(1);
console.log(
  failed.length === 0
    ? `\n${results.length} checks passed in ${seconds} s`
    : `\n${failed.length} of ${results.length} checks failed in ${seconds} s: ${failed.map(({ name }) => name).join(", ")}`,
);
process.exitCode = failed.length === 0 ? 0 : 1;
