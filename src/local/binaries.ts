/**
 * etcd programs by version, for a loop that must not wait: asking answers at once, and an installation goes
 * on in the background. A version that is not there yet is reported as unavailable, so that nobody is stopped
 * for a version that has still to be downloaded or built.
 */
import { RELEASES } from "../core/version/releases.ts";
import { compareVersions, parseVersion, type Version } from "../core/version/version.ts";

export type BinaryState =
  | { readonly state: "ready"; readonly etcd: string }
  | { readonly state: "installing"; readonly text: string }
  | { readonly state: "failed"; readonly reason: string };

/** Comes by the programs of a version: the path of its etcd. */
export type Installer = (version: string, tell: (text: string) => void) => Promise<string>;

export interface Binaries {
  /** What is known of this version; the first question starts its installation. */
  get(version: string): BinaryState;
  /** Failed installations are tried again when the spec changes. */
  forgetFailures(): void;
}

/** For looking only: nothing is started, so whatever is on record counts as there. */
export const anyBinaries: Binaries = {
  get: (version) => ({ state: "ready", etcd: version }),
  forgetFailures: () => undefined,
};

export class InstalledBinaries implements Binaries {
  readonly #install: Installer;
  readonly #states = new Map<string, BinaryState>();
  readonly #onChange: () => void;
  #queue: Promise<void> = Promise.resolve();

  constructor(install: Installer, onChange: () => void) {
    this.#install = install;
    this.#onChange = onChange;
  }

  /** A version that is known to be there. */
  know(version: string, etcd: string): void {
    this.#states.set(version, { state: "ready", etcd });
  }

  get(version: string): BinaryState {
    const known = this.#states.get(version);
    if (known) return known;
    const waiting: BinaryState = { state: "installing", text: "looking for it" };
    this.#states.set(version, waiting);
    // One at a time: two builds at once are slower than one after the other.
    this.#queue = this.#queue.then(() => this.#run(version));
    return waiting;
  }

  forgetFailures(): void {
    for (const [version, { state }] of this.#states) if (state === "failed") this.#states.delete(version);
  }

  async #run(version: string): Promise<void> {
    try {
      const etcd = await this.#install(version, (text) =>
        this.#states.set(version, { state: "installing", text }),
      );
      this.#states.set(version, { state: "ready", etcd });
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      this.#states.set(version, { state: "failed", reason });
    }
    this.#onChange();
  }
}

/** The versions that a change to `target` may pass through, so that they are there before they are needed. */
export function versionsOnTheWay(running: readonly string[], target: string): string[] {
  const versions = [...running, target].flatMap((text) => parseVersion(text) ?? []).toSorted(compareVersions);
  const [lowest, highest] = [versions[0], versions.at(-1)];
  if (!lowest || !highest) return [target];
  const between = RELEASES.map((release) => release.knownGood).filter((text) => {
    const version = parseVersion(text);
    return version !== undefined && minor(version) > minor(lowest) && minor(version) < minor(highest);
  });
  return [...new Set([...running, ...between, target])];
}

function minor(version: Version): number {
  return version.major * 1000 + version.minor;
}
