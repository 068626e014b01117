/** How fast a cluster's data grows, from what its members said over the last hours. Losing it costs a forecast. */
import { growthOf, type SizeSample } from "../core/assess/growth.ts";
import type { View } from "../core/view.ts";

/** The period over which etcd's own alerts look ahead, too. */
const WINDOW_MS = 4 * 3_600_000;
const EVERY_MS = 5 * 60_000;

export class Growth {
  #clusterID: string | undefined;
  #samples: readonly SizeSample[] = [];

  /** `at`: monotonic. */
  measured(view: View, at: number): number | undefined {
    const clusterID = view.observation.etcd.list?.clusterID;
    // While nobody says which cluster it is, what was seen stands.
    if (clusterID === undefined) return growthOf(this.#samples);
    if (clusterID !== this.#clusterID) this.#samples = [];
    this.#clusterID = clusterID;
    const sizes = view.members.flatMap(({ answer, isVoter }) =>
      isVoter && answer.reachable ? [answer.dbSizeInUse] : [],
    );
    const last = this.#samples.at(-1)?.at ?? -Infinity;
    if (sizes.length > 0 && at - last >= EVERY_MS)
      this.#samples = [
        ...this.#samples.filter((sample) => at - sample.at <= WINDOW_MS),
        { at, bytes: Math.max(...sizes) },
      ];
    return growthOf(this.#samples);
  }
}
