/**
 * Completes package-lock.json. Native tools list one optional package per platform; a registry mirror that
 * lacks some of them makes npm leave them out of the lock, and then `npm ci` refuses it everywhere
 * ("Missing … from lock file"). A stub with the true os and cpu satisfies npm and is never installed here.
 */

export interface LockEntry {
  version?: string;
  resolved?: string;
  integrity?: string;
  dev?: boolean;
  optional?: boolean;
  link?: boolean;
  os?: string[];
  cpu?: string[];
  libc?: string[];
  optionalDependencies?: Record<string, string>;
}

export interface Lock {
  packages: Record<string, LockEntry>;
}

export interface Missing {
  /** Where the entry belongs in the lock. */
  location: string;
  name: string;
  version: string;
  dev: boolean;
}

const EXACT_VERSION = /^\d+\.\d+\.\d+(?:-[\w.]+)?$/;

/** Optional packages that some entry of the lock asks for and the lock does not hold. */
export function missingOptional(lock: Lock): Missing[] {
  const missing = new Map<string, Missing>();
  for (const [location, entry] of Object.entries(lock.packages)) {
    for (const [name, version] of Object.entries(entry.optionalDependencies ?? {})) {
      if (!EXACT_VERSION.test(version)) continue;
      if (resolves(lock, location, name, version)) continue;
      const home = `${folderOf(location)}node_modules/${name}`;
      missing.set(home, { location: home, name, version, dev: entry.dev === true });
    }
  }
  return [...missing.values()];
}

/** The lock with a stub for everything `missingOptional` finds, written as npm itself would write it. */
export function completeLock(text: string): string {
  const lock = JSON.parse(text) as Lock;
  const packages = { ...lock.packages };
  for (const one of missingOptional(lock)) packages[one.location] = stub(one);
  for (const entry of Object.values(packages)) delete entry.resolved;
  const sorted = Object.keys(packages).toSorted((a, b) => a.localeCompare(b, "en"));
  const complete = { ...lock, packages: Object.fromEntries(sorted.map((key) => [key, packages[key]])) };
  return `${JSON.stringify(complete, null, 2)}\n`;
}

/** Node's own look-up: the nearest node_modules above the asking package. */
function resolves(lock: Lock, from: string, name: string, version: string): boolean {
  let folder = from === "" ? "" : `${from}/`;
  for (;;) {
    const found = lock.packages[`${folder}node_modules/${name}`];
    if (found) return found.version === version;
    if (folder === "") return false;
    folder = folderOf(folder.slice(0, -1));
  }
}

/** "node_modules/knip/node_modules/oxc-parser" → "node_modules/knip/"; top level → "". */
function folderOf(location: string): string {
  const at = location.lastIndexOf("node_modules/");
  return at <= 0 ? "" : location.slice(0, at);
}

const SYSTEMS = [
  "aix",
  "android",
  "darwin",
  "freebsd",
  "linux",
  "netbsd",
  "openbsd",
  "openharmony",
  "sunos",
  "win32",
];
const PROCESSORS: Record<string, string> = { aarch64: "arm64", armv7: "arm", wasm32: "wasm32" };
for (const cpu of ["arm", "arm64", "ia32", "loong64", "mips64el", "ppc64", "riscv64", "s390x", "x64"]) {
  PROCESSORS[cpu] = cpu;
}

/** Key order is npm's (version, then the rest by name): any other order gets rewritten by `npm install`. */
function stub(missing: Missing): LockEntry {
  const words = missing.name.split(/[-/]/);
  const os = words.find((word) => SYSTEMS.includes(word));
  const cpu = words.map((word) => PROCESSORS[word]).find((known) => known !== undefined);
  if (!os || !cpu) {
    throw new Error(
      `cannot tell the platform of ${missing.name}, which package-lock.json lacks: teach its name to scripts/lock/stubs.ts`,
    );
  }
  const libc = words.some((word) => word.startsWith("musl"))
    ? "musl"
    : words.some((word) => word.startsWith("gnu"))
      ? "glibc"
      : undefined;
  return {
    version: missing.version,
    cpu: [cpu],
    ...(missing.dev ? { dev: true } : {}),
    ...(libc ? { libc: [libc] } : {}),
    optional: true,
    os: [os],
  };
}
