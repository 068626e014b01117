/** Keys as one member serves them: refused without quorum, under NOSPACE and under CORRUPT (R27, R31). */
import type { Entry, KeyOp } from "./entry.ts";
import { Refusal, votersOnly } from "./refusal.ts";
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
    const raft = this.#raft(server);
    if (server.dir.state.hasAlarm("CORRUPT")) throw new Refusal("corrupt");
    const gone = keysBetween(server.dir.state.keys, from, to).length;
    raft.propose(server, { kind: "delete", from, ...(to === undefined ? {} : { to }) });
    return gone;
  }

  /** One that would put, in the branch that is not taken too, is refused as a put is (R27). */
  txn(server: Server, ops: readonly KeyOp[], mayPut = ops.some(({ kind }) => kind === "put")): void {
    const raft = this.#raft(server);
    if (server.dir.state.hasAlarm("CORRUPT")) throw new Refusal("corrupt");
    if (mayPut && server.dir.state.hasAlarm("NOSPACE")) throw new Refusal("noSpace");
    raft.propose(server, { kind: "txn", ops });
  }

  compact(server: Server, revision: number): void {
    const raft = this.#raft(server);
    if (server.dir.state.hasAlarm("CORRUPT")) throw new Refusal("corrupt");
    const { refused } = raft.propose(server, { kind: "compact", revision });
    if (refused) throw new Refusal(refused);
  }

  range(server: Server, from: string, to: string | undefined, serializable: boolean): [string, Value][] {
    if (!serializable) {
      votersOnly(server);
      const raft = this.#world.raftOf(server);
      if (raft.leaderOf(server) === "0" || !raft.writable || !server.synced) throw new Refusal("timedOut");
    }
    const { keys } = server.dir.state;
    return keysBetween(keys, from, to).flatMap((key) => {
      const value = keys.get(key);
      return value ? [[key, value] as [string, Value]] : [];
    });
  }

  /** Alarms are looked at when a change is applied: where nothing is, nothing is refused for them. */
  #raft(server: Server) {
    votersOnly(server);
    const raft = this.#world.raftOf(server);
    raft.mustReach(server);
    return raft;
  }
}
