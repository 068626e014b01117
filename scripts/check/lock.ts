/**
 * The lock has to work on a fresh clone, behind any mirror: complete, in step with package.json, exact,
 * without a registry's host, and with a checksum for whatever may be installed.
 */
import { completeLock, missingOptional, type Lock } from "../lock/stubs.ts";
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

/** Stubs stand for tools of developers on other platforms; nothing that is shipped is one. */
function unverified({ packages }: Lock): string[] {
  return Object.entries(packages)
    .filter(([location, { integrity, link }]) => location !== "" && !link && integrity === undefined)
    .filter(([, { dev, optional, os, cpu, libc }]) => !(dev && optional && (os ?? cpu ?? libc)))
    .map(
      ([location]) =>
        `package-lock.json: ${location} has no integrity: run npm install and commit what it adds`,
    );
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
