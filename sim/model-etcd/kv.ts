/** Keys as one member serves them: refused without quorum, under NOSPACE and under CORRUPT (R27, R31). */
import type { Entry, KeyOp } from "./entry.ts";
import { Refusal } from "./refusal.ts";
import type { Server } from "./server.ts";
import { keysBetween, type Value } from "./state.ts";
import type { EtcdWorld } from "./world.ts";

export class Keys {
  readonly #world: EtcdWorld;

  constructor(world: EtcdWorld) {
    this.#world = world;
  }

  put(server: Server, key: string, size: number, value?: Uint8Array): { entry: Entry; revision: number } {
    const raft = this.#raft(server);
    if (server.dir.state.hasAlarm("CORRUPT")) throw new Refusal("corrupt");
    // Refused before it is proposed; one that was proposed is applied, though the quota is passed (R27).
    const full = server.dir.state.dbSize + size > server.config.quotaBytes;
    if (server.dir.state.hasAlarm("NOSPACE")) throw new Refusal("noSpace");
    const { entry } = raft.propose(server, { kind: "put", key, size, ...(value ? { value } : {}) });
    if (full) throw new Refusal("noSpace");
    return { entry, revision: server.dir.state.revision };
  }

  delete(server: Server, from: string, to?: string): number {
    if (server.dir.state.hasAlarm("CORRUPT")) throw new Refusal("corrupt");
    const gone = keysBetween(server.dir.state.keys, from, to).length;
    this.#raft(server).propose(server, { kind: "delete", from, ...(to === undefined ? {} : { to }) });
    return gone;
  }

  /** Changes nothing when there is nothing to change; one that puts is refused as a put is. */
  txn(server: Server, ops: readonly KeyOp[]): void {
    const raft = this.#raft(server);
    if (server.dir.state.hasAlarm("CORRUPT")) throw new Refusal("corrupt");
    if (ops.some(({ kind }) => kind === "put") && server.dir.state.hasAlarm("NOSPACE"))
      throw new Refusal("noSpace");
    raft.propose(server, { kind: "txn", ops });
  }

  compact(server: Server, revision: number): void {
    if (server.dir.state.hasAlarm("CORRUPT")) throw new Refusal("corrupt");
    const { refused } = this.#raft(server).propose(server, { kind: "compact", revision });
    if (refused) throw new Refusal(refused);
  }

  range(server: Server, from: string, to: string | undefined, serializable: boolean): [string, Value][] {
    if (!serializable) {
      if (server.isLearner) throw new Refusal("notForLearner");
      const raft = this.#raft(server);
      if (raft.leaderOf(server) === "0" || !raft.writable || !server.synced) throw new Refusal("timedOut");
    }
    const { keys } = server.dir.state;
    return keysBetween(keys, from, to).flatMap((key) => {
      const value = keys.get(key);
      return value ? [[key, value] as [string, Value]] : [];
    });
  }

  #raft(server: Server) {
    if (server.isLearner) throw new Refusal("notForLearner");
    return this.#world.raftOf(server);
  }
}
