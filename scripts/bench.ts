/**
 * `npm run bench [-- part-of-a-path … --dns <seconds> …]`: runs every *.bench.ts, or those named, one after the other,
 * each in a process of its own. A benchmark is a program that prints what it measured, with its unit. With `--dns` all
 * of them run once for each setting of the cluster's DNS, on real nodes (see testbed/README.md). With
 * `--against <commit>` those that only compute are compared with the tree of that commit (see bench/against.ts).
 */
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { DNS_DENIALS } from "../testbed/state.ts";
import { COMPUTING, runAgainst } from "./bench/against.ts";
import { openRepo } from "./check/repo.ts";

const { values, positionals: wanted } = parseArgs({
  allowPositionals: true,
  options: { dns: { type: "string", multiple: true, default: [] }, against: { type: "string" } },
});
const repo = openRepo(fileURLToPath(new URL("..", import.meta.url)));
const files = repo.files.filter(
  (path) =>
    path.endsWith(".bench.ts") &&
    (wanted.length === 0 || wanted.some((part) => path.includes(part))) &&
    (values.against === undefined || path.startsWith(COMPUTING)),
);
if (files.length === 0) {
  console.error(`no *.bench.ts matches ${wanted.join(", ")}`);
  process.exitCode = 2;
}
const unknown = values.dns.filter((given) => !DNS_DENIALS.some((seconds) => String(seconds) === given));
if (unknown.length > 0) {
  console.error(`--dns ${unknown.join(", ")}: one of ${DNS_DENIALS.join(", ")}`);
  process.exitCode = 2;
} else if (values.against !== undefined) {
  if (files.length > 0) process.exitCode = runAgainst({ root: repo.root, commit: values.against, files });
} else if (values.dns.length === 0) run({});
else for (const dns of values.dns) run({ QUORATE_DNS_DENIAL: dns });

function run(more: NodeJS.ProcessEnv): void {
  for (const file of files) {
    console.log(["▶", file, ...Object.entries(more).map(([name, value]) => `${name}=${value}`)].join(" "));
    const env = { ...process.env, ...more };
    const { status, signal } = spawnSync(process.execPath, [file], { cwd: repo.root, stdio: "inherit", env });
    if (status === 0) continue;
    console.error(`✖ ${file} ended with ${status ?? signal}`);
    process.exitCode = 1;
  }
}
