/**
 * The lock has to work on a fresh clone, behind any mirror: complete, in step with package.json, exact,
 * and without a registry's host.
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
    const found = [...missing, ...inexact(manifest), ...outOfStep(manifest, parsed.packages[""] as Manifest)];
    if (found.length === 0 && completeLock(text) !== text) {
      found.push(
        "package-lock.json: not as npm and npm run lock write it (order, or resolved addresses): run npm run lock",
      );
    }
    return found;
  },
};

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
