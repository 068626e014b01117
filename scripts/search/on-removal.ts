/**
 * Loaded before a test file (`--import`): whatever its process is about to delete under its temporary folder, or of
 * testbeds, is searched for keys and passwords first. By the end of a run there would be nothing left to search.
 */
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import path from "node:path";
import process from "node:process";
import { tmpdir } from "node:os";
import { bedsDir, cacheDir } from "../../testbed/paths.ts";
import { searchFolder } from "./folder.ts";
import { record, RECORD } from "./record.ts";

const file = process.env[RECORD];
const roots = [tmpdir(), cacheDir()].map((root) => path.resolve(root));

/** Under a folder for temporary files, or of testbeds: a cache is no work of this run. */
function look(target: unknown): void {
  const folder = path.resolve(String(target));
  const root = roots.find((one) => folder.startsWith(one + path.sep));
  if (file === undefined || root === undefined) return;
  if (root === roots[1] && !folder.startsWith(bedsDir() + path.sep)) return;
  record(file, searchFolder(root, folder));
}

const { rmSync } = fs;
const { rm } = fs.promises;
fs.rmSync = (target, options) => {
  look(target);
  rmSync(target, options);
};
fs.promises.rm = async (target, options) => {
  look(target);
  await rm(target, options);
};
// What was imported by name before is this one, too.
syncBuiltinESMExports();
