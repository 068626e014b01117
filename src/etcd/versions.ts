/**
 * The one place that pins etcd versions: what is installed, tested and named in error messages.
 * Newest patches are those the Go module proxy has; older ones stay above the upgrade and security
 * floors (R43 and the upgrade rules); upgrade sources are what Debian's stable suites ship.
 */

/** A way to come by binaries that are not on this machine yet. */
export type FetchSource = "release" | "go" | "debian";

/** Where the binaries in use came from. `dir` and `path` are the user's own and used in place. */
export type EtcdSource = "dir" | "path" | FetchSource;

export type PinRole = "newest" | "older" | "upgrade-source";

export interface EtcdPin {
  readonly version: string;
  readonly role: PinRole;
  /** Tried in this order. */
  readonly sources: readonly FetchSource[];
  /** The Debian suite whose etcd packages are of this version. */
  readonly debianSuite?: string;
}

export const etcdPins: readonly EtcdPin[] = [
  { version: "3.7.3", role: "newest", sources: ["release", "go"] },
  { version: "3.7.1", role: "older", sources: ["release", "go"] },
  { version: "3.6.16", role: "newest", sources: ["release", "go"] },
  { version: "3.6.14", role: "older", sources: ["release", "go"] },
  { version: "3.5.35", role: "newest", sources: ["release", "go"] },
  { version: "3.5.33", role: "older", sources: ["release", "go"] },
  // Who upgrades from it has Debian's build more often than any other; it also comes quicker than a build.
  { version: "3.5.16", role: "upgrade-source", sources: ["release", "debian", "go"], debianSuite: "trixie" },
  // 3.4 predates the split into Go modules that can be required one by one.
  { version: "3.4.23", role: "upgrade-source", sources: ["release", "debian"], debianSuite: "bookworm" },
];

const EXACT = /^v?(\d+\.\d+\.\d+)$/;
const MINOR = /^v?(\d+\.\d+)$/;

/** `3.6.16` and `v3.6.16` mean themselves, `3.6` the newest pinned patch; anything else is undefined. */
export function exactVersion(text: string): string | undefined {
  const exact = EXACT.exec(text.trim())?.[1];
  if (exact !== undefined) return exact;
  const minor = MINOR.exec(text.trim())?.[1];
  return minor === undefined
    ? undefined
    : etcdPins.find((pin) => pin.version.startsWith(`${minor}.`))?.version;
}

export function findPin(version: string): EtcdPin | undefined {
  return etcdPins.find((pin) => pin.version === version);
}

/** etcdutl came with 3.5; before it etcdctl did its work (R24). */
export function hasEtcdutl(version: string): boolean {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  return major > 3 || (major === 3 && minor >= 5);
}
