/**
 * One of the two worlds that are compared: the model's, on virtual time, or real processes on this machine. Members
 * live in slots: a name, two URLs and a directory, the same on both sides, so that the IDs are the same too (R5).
 */
import type { ExitReason } from "../../../../src/etcd/exit-reasons.ts";
import type { Call, Outcome } from "./calls.ts";

export interface Slot {
  readonly name: string;
  readonly clientUrl: string;
  readonly peerUrl: string;
}

export interface Start {
  readonly version: string;
  readonly config: Readonly<Record<string, unknown>>;
}

export interface RestoreHow {
  readonly version: string;
  readonly token: string;
  /** Raises the revision by so many, and marks all before as compacted; 0 does neither. */
  readonly bump: number;
}

/** What there is of a slot's process. */
export type ProcessState = "absent" | "runs" | `ended: ${ExitReason}`;

export interface Side {
  /** Can be asked several things at the same time: a virtual clock has one hand only. */
  readonly atOnce: boolean;
  /** Begins anew: nothing runs, all directories are empty. */
  clear(): Promise<void>;
  start(slot: Slot, start: Start): Promise<void>;
  /** Ends the process and waits for its end. */
  stop(slot: Slot, signal: "SIGTERM" | "SIGKILL"): Promise<void>;
  process(slot: Slot): ProcessState;
  /** What it said last, for the report of a disagreement. */
  lastWords(slot: Slot): Promise<string>;
  wipe(slot: Slot): void;
  /** Saves a snapshot of what this member has, instead of the one before. */
  save(slot: Slot, version: string): Promise<void>;
  /** The snapshot in the empty directory of this slot, as the only member of a new cluster. */
  restore(slot: Slot, how: RestoreHow): Promise<void>;
  call(slot: Slot, call: Call, timeoutMs: number): Promise<Outcome>;
  /** The version that the cluster has agreed on, as this member knows it: "3.6". */
  clusterVersion(slot: Slot): Promise<string | undefined>;
}

export interface SlotView {
  readonly process: ProcessState | "silent";
  readonly status?: Outcome;
  readonly members?: Outcome;
  readonly clusterVersion?: string | undefined;
}

const QUESTION_MS = 500;

interface Look {
  readonly view: SlotView;
  readonly id: string;
  readonly leader: string;
  readonly isLearner: boolean;
  readonly term: string;
}

const NOTHING = { id: "", leader: "", isLearner: false, term: "" };

export async function lookAtAll(
  side: Side,
  slots: readonly Slot[],
): Promise<readonly (Look & { readonly slot: Slot })[]> {
  const one = async (slot: Slot) => ({ slot, ...(await look(side, slot)) });
  if (side.atOnce) return await Promise.all(slots.map(one));
  const seen = [];
  for (const slot of slots) seen.push(await one(slot));
  return seen;
}

/** What a slot shows of itself. The leader is told apart: each side elects its own. */
async function look(side: Side, slot: Slot): Promise<Look> {
  const process = side.process(slot);
  if (process !== "runs") return { view: { process }, ...NOTHING };
  const status = await side.call(slot, { kind: "status" }, QUESTION_MS);
  if (!status.ok) return { view: { process: "silent" }, ...NOTHING };
  const { leader, term, ...rest } = status.value;
  const [members, clusterVersion] = await Promise.all([
    side.call(slot, { kind: "list", linearizable: false }, QUESTION_MS),
    side.clusterVersion(slot),
  ]);
  const list = members.ok ? members : { ...members, said: "" };
  const known = { ...rest, hasLeader: leader !== "0" };
  return {
    view: { process, status: { ok: true, value: known }, members: list, clusterVersion },
    id: String(rest["answeredBy"]),
    leader: String(leader),
    isLearner: rest["isLearner"] === true,
    term: String(term),
  };
}
