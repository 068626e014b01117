/**
 * `npm run generate`: writes every generated file that differs from what its generator makes.
 */
import { fileURLToPath } from "node:url";
import { openRepo } from "./check/repo.ts";
import { findDrift, repair } from "./generate/registry.ts";
import { generators } from "./generators.ts";

const repo = openRepo(fileURLToPath(new URL("..", import.meta.url)));
const drifts = await findDrift(generators, repo.root, repo.files);
for (const drift of drifts) {
  repair(drift, repo.root);
  console.log(`${drift.kind === "orphan" ? "deleted" : "wrote"} ${drift.path}`);
}
if (drifts.length === 0) console.log(`all files of ${generators.length} generators are up to date`);
