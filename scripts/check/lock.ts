/**
 * The lock has to work on a fresh clone, behind any mirror: complete, in step with package.json, exact,
 * without a registry's host, and with a checksum for whatever may be installed.
 */
import { withoutIntegrity } from "../lock/integrity.ts";
import { completeLock, missingOptional, type Lock, type LockEntry } from "../lock/stubs.ts";
import type { Check } from "./check.ts";

const KINDS = ["dependencies", "devDependencies", "optionalDependencies"] as const;
type Manifest = { version?: string } & Partial<Record<(typeof KINDS)[number], Record<string, string>>>;

export const lock: Check = {
  name: "lock",
  run(repo) {
    const text = repo.text("package-lock.json");
    const parsed = JSON.parse(text) as Lock;
    const manifest = JSON.parse(repo.text("package.json")) as Manifest;
    const missing = missingOptional(parsed).map(
      ({ location }) =>
        `package-lock.json: ${location} is missing, npm ci will refuse the lock: run npm run lock`,
    );
    const found = [
      ...missing,
      ...inexact(manifest),
      ...outOfStep(manifest, parsed.packages[""] as Manifest),
      ...unverified(parsed),
    ];
    if (found.length === 0 && completeLock(text) !== text) {
      found.push(
        "package-lock.json: not as npm and npm run lock write it (order, or resolved addresses): run npm run lock",
      );
    }
    return found;
  },
};

function unverified(parsed: Lock): string[] {
  return withoutIntegrity(parsed)
    .filter(({ entry }) => !isElsewhere(entry))
    .map(
      ({ location }) =>
        `package-lock.json: ${location} has no integrity: run npm install and npm run lock, and commit what they add`,
    );
}

/** Tools of developers on platforms that nothing of ours runs on, which mirrors lack: no npm here ever installs them. */
function isElsewhere({ dev, optional, os = [], cpu = [] }: LockEntry): boolean {
  const isOurs = os.includes("linux") && cpu.some((one) => one === "x64" || one === "arm64");
  return dev === true && optional === true && os.length > 0 && cpu.length > 0 && !isOurs;
}

function inexact(manifest: Manifest): string[] {
  return KINDS.flatMap((kind) =>
    Object.entries(manifest[kind] ?? {})
      .filter(([, version]) => !/^\d+\.\d+\.\d+(?:-[\w.]+)?$/.test(version))
      .map(([name, version]) => `package.json: ${name} "${version}" is not an exact version`),
  );
}

function outOfStep(manifest: Manifest, root: Manifest | undefined): string[] {
  return KINDS.flatMap((kind) => {
    const asked = manifest[kind] ?? {};
    const locked = root?.[kind] ?? {};
    return [...new Set([...Object.keys(asked), ...Object.keys(locked)])]
      .filter((name) => asked[name] !== locked[name])
      .map(
        (name) => `package-lock.json: ${name} differs from package.json: run npm install, then npm run lock`,
      );
  });
}
