/**
 * Recovery from quorum loss on the model's disk: what a directory holds, and snapshots of what is rescued from one. As in
 * etcd the whole log counts, and the directory is only read; whoever began it may be gone before its end.
 */
import type { Restore } from "../../src/api/bootstrap.ts";
import type { Rescuer } from "../../src/local/recovery.ts";
import type { DirectorySummary } from "../../src/recovery/summary.ts";
import { sleep, type Clock } from "../../src/seams/clock.ts";
import type { DataDir, DataDirs } from "../models/etcd/data-dir.ts";
import { STORED, type Saved } from "../models/etcd/restored.ts";

const RESCUE_MS = 3_000;

export class Rescues {
  readonly #dirs: DataDirs;
  readonly #clock: Clock;
  /** By the path of the snapshot. */
  readonly #snapshots = new Map<string, Saved>();
  readonly #onRescued: (dir: DataDir, keys: readonly string[]) => void;

  constructor(
    dirs: DataDirs,
    clock: Clock,
    onRescued: (dir: DataDir, keys: readonly string[]) => void = () => undefined,
  ) {
    this.#dirs = dirs;
    this.#clock = clock;
    this.#onRescued = onRescued;
  }

  for(isAlive: () => boolean): Rescuer {
    return {
      inspect: async (dataDir) => await Promise.resolve(summaryOf(this.#dirs.read(dataDir))),
      rescue: async ({ dataDir, workDir, expected }) => {
        const dir = this.#dirs.read(dataDir);
        if (dir?.memberID !== expected.memberID || dir.log.length !== expected.index)
          throw new Error("it is not what was approved");
        await sleep(this.#clock, RESCUE_MS);
        if (!isAlive()) throw new Error("its controller is gone");
        const path = `${workDir}/snapshot.db`;
        const keys = this.rescuedKeys(dir);
        const { revision } = dir.state;
        this.#snapshots.set(path, { keys, revision });
        this.#onRescued(dir, keys);
        return { path, sha256: "0".repeat(64), revision };
      },
    };
  }

  /** Of all entries, whether this member had heard of their commit or not; planted faults take fewer. */
  rescuedKeys = (dir: DataDir): readonly string[] => [...dir.olderCopy(dir.log.length).state.keys.keys()];

  /** How many snapshots of another time were fetched whole. */
  whole = 0;

  /** A snapshot of another time, with the keys that every restored cluster of the model has. */
  fetched(path: string): { path: string; sha256: string; revision: number } {
    this.#snapshots.set(path, STORED);
    this.whole++;
    return { path, sha256: "0".repeat(64), revision: STORED.revision };
  }

  savedIn(restore: Restore | undefined): Saved {
    return this.#snapshots.get(restore?.source?.file?.path ?? "") ?? STORED;
  }
}

/** What a reader of its files would say of a directory. */
export function summaryOf(dir: DataDir | undefined): DirectorySummary {
  if (dir === undefined) return { state: "empty" };
  if (dir.unreadable) return { state: "damaged", why: "its database cannot be read" };
  const { clusterID, memberID, log, lastTerm: term, state } = dir;
  const members = [...state.members.values()].map(({ id, name, peerURLs, isLearner }) => ({
    id,
    name,
    peerURL: peerURLs[0] ?? "",
    ...(isLearner && { isLearner }),
  }));
  return {
    state: "data",
    clusterID,
    memberID,
    term,
    index: log.length,
    revision: state.revision,
    replay: 0,
    members,
  };
}
