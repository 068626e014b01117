/**
 * `npm run lock`: run after every change of dependencies. Adds what a registry mirror left out of
 * package-lock.json (see lock/stubs.ts). `npm run check` fails when this was forgotten.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { completeLock } from "./lock/stubs.ts";

const path = new URL("../package-lock.json", import.meta.url);
const before = readFileSync(path, "utf8");
const after = completeLock(before);
if (after === before) {
  console.log("package-lock.json is complete");
} else {
  writeFileSync(path, after);
  console.log("package-lock.json completed: commit it");
}
