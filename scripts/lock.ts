/**
 * `npm run lock`: run after every change of dependencies. Adds what a registry mirror left out of
 * package-lock.json (see lock/stubs.ts), with the checksums that the registry tells. `npm run check` fails when this was
 * forgotten.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { askNpm, withIntegrity } from "./lock/integrity.ts";
import { completeLock } from "./lock/stubs.ts";

const path = new URL("../package-lock.json", import.meta.url);
const before = readFileSync(path, "utf8");
const root = fileURLToPath(new URL("..", import.meta.url));
const { text: after, left } = await withIntegrity(completeLock(before), askNpm(root));
if (after === before) {
  console.log("package-lock.json is complete");
} else {
  writeFileSync(path, after);
  console.log("package-lock.json completed: commit it");
}
if (left.length > 0)
  console.log(`without a checksum, which this registry does not have: ${left.toSorted().join(", ")}`);
