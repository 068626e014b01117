/** Versions that a cluster asks for and this machine does not have, or not yet. */
import type { PlatformFacts } from "../core/observation.ts";
import type { MemberRecord } from "../core/record.ts";
import { versionsOnTheWay, type Binaries } from "./binaries.ts";
import type { StoredCluster } from "./store.ts";

export class MissingVersions {
  readonly #binaries: Binaries;
  #generation = 0;

  constructor(binaries: Binaries) {
    this.#binaries = binaries;
  }

  /** What failed is tried again for another spec. */
  missing(
    cluster: StoredCluster,
    records: readonly MemberRecord[],
  ): Pick<PlatformFacts, "unavailableVersions" | "arrivingVersions"> {
    if (cluster.generation !== this.#generation) this.#binaries.forgetFailures();
    this.#generation = cluster.generation;
    const running = records.map(({ template }) => template.version);
    const unavailableVersions: Record<string, string> = {};
    const arrivingVersions: Record<string, string> = {};
    for (const version of versionsOnTheWay(running, cluster.spec.version)) {
      const state = this.#binaries.get(version);
      if (state.state === "failed") unavailableVersions[version] = state.reason;
      else if (state.state !== "ready") arrivingVersions[version] = `it is being installed (${state.text})`;
    }
    return { unavailableVersions, arrivingVersions };
  }
}
