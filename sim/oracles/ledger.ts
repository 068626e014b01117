/**
 * A client that writes all the time and remembers what was acknowledged. Whoever leads later must hold the
 * very entries that were acknowledged; a leader without them is a lost write (I10). It also watches: where a cluster
 * begins another life, what it goes on with must be compacted there, or it would take an older state for a newer (R24).
 */
import type { Entry } from "../models/etcd/entry.ts";
import type { Keys } from "../models/etcd/kv.ts";
import { Refusal } from "../models/etcd/refusal.ts";
import type { Server } from "../models/etcd/server.ts";
import type { EtcdWorld } from "../models/etcd/world.ts";
import type { SeededRandom } from "../engine/random.ts";
import type { Scheduler } from "../engine/scheduler.ts";

export class Ledger {
  acknowledged = 0;
  refused = 0;
  #last: Entry | undefined;
  /** Where its watch is, and in which cluster. */
  #watched: { readonly clusterID: string; readonly revision: number } | undefined;
  #tries = 0;

  /** Older data was put back from outside: no cluster can hold what was written since. */
  writeOff(): void {
    this.#last = undefined;
  }

  /**
   * All that this log held was rescued: what it lacks of that, in words. What the log itself had not, no cluster can hold
   * from then on.
   */
  rescued(log: readonly Entry[], keys: readonly string[]): string | undefined {
    const last = this.#last;
    this.#last = undefined;
    if (!last || log[last.index - 1] !== last || last.op.kind !== "put" || keys.includes(last.op.key))
      return undefined;
    return `the write of ${last.op.key}, acknowledged and in the survivor's log, was not rescued`;
  }

  /** What this leader lacks, in words. */
  missingFrom(leader: Server): string | undefined {
    const last = this.#last;
    // Logs that share an entry share all before it: the newest stands for all.
    if (!last || leader.dir.log[last.index - 1] === last) return undefined;
    return `${leader.config.name} leads without the write acknowledged at index ${last.index} of term ${last.term}`;
  }

  /** The watch hears of a revision: how it travelled back in time, in words. */
  #watches({ dir: { clusterID, state } }: Server, revision: number): string | undefined {
    const before = this.#watched;
    this.#watched = { clusterID, revision };
    if (!before || before.clusterID === clusterID || state.compactRevision > before.revision)
      return undefined;
    return `a watch that had seen revision ${before.revision} goes on in another life of the cluster, at ${revision}, of which only ${state.compactRevision} is compacted`;
  }

  /** Writes every `everyMs` through some member that serves, while `open` says that clients may. */
  writeEvery(
    everyMs: number,
    around: {
      scheduler: Scheduler;
      random: SeededRandom;
      world: EtcdWorld;
      keys: Keys;
      open: () => boolean;
      /** Whether clients are led to it; to all that serve where that is not said. */
      leadsTo?: (server: Server) => boolean;
      /** Its watch went on with older data. */
      onTravel?: (what: string) => void;
    },
  ): void {
    const { scheduler, random, world, keys, open, leadsTo = () => true, onTravel } = around;
    const again = () => {
      scheduler.after(everyMs, again);
      if (!open()) return;
      const servers = world.network
        .all()
        .filter((server) => server.serving && server.runs && !server.frozen && leadsTo(server));
      if (servers.length === 0) return;
      try {
        const server = random.pick(servers);
        const { entry, revision } = keys.put(server, `w${++this.#tries}`, 100);
        this.#last = entry;
        this.acknowledged++;
        const travelled = this.#watches(server, revision);
        if (travelled !== undefined) onTravel?.(travelled);
      } catch (error) {
        if (!(error instanceof Refusal)) throw error;
        this.refused++;
      }
    };
    scheduler.after(everyMs, again);
  }
}
