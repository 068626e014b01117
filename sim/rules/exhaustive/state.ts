/**
 * The abstract state that the exhaustive search walks over, and what is left out of it.
 *
 * Kept, per member: its record (boot, life, list, ID, permit, joined, run, template, retiring, leaving, deleted by
 * hand), its volume (absent, its own, another's), whether there is data on it, its process (absent, starting, up,
 * frozen, stopping, exited and why) with what it was started from, whether a learner has caught up, and how long
 * it has been down in three steps (just now, `unhealthyAfter`, `memberLostAfter`). Of etcd: the list with learners
 * and who has started, who leads, the cluster version, an announced downgrade. Of the cluster: spec, marks, deletion,
 * and up to two EtcdOperations that restart, replace or move leadership, one of which waits. Of the operator: whether it
 * reaches etcd.
 *
 * Left out: data sizes, alarms and hashes (comparison is off), the hourly budget, canaries' seconds, nudges,
 * windows, members that have heard less than the leader, and a former life's cluster, whose members are silent.
 * The simulator has those. Names are ranked: only their order matters to the rules, so states that differ by
 * gaps between ordinals are one.
 */
import type { MemberTemplate } from "../../../src/core/record.ts";
import { templateHash } from "../../../src/core/template/template.ts";
import type { ExitCause } from "../../../src/core/observation.ts";

export type Process = "absent" | "starting" | "up" | "frozen" | "stopping" | `exited ${ExitCause}`;

export interface Started {
  readonly template: number;
  /** The ordinals of its list; undefined when it was started as one that has joined. */
  readonly peers?: readonly number[];
  /** With the stamp of an operation, by its number. */
  readonly stamped?: number;
}

export interface Member {
  readonly ordinal: number;
  readonly boot: "New" | "Join";
  readonly role: "Voter" | "Learner";
  readonly life: number;
  readonly peers: readonly number[];
  readonly knowsID: boolean;
  readonly permitted: boolean;
  readonly joined: boolean;
  readonly run: boolean;
  readonly template: number;
  readonly retiring: boolean;
  /** The operation asked for its replacement. */
  readonly requested: boolean;
  /** The operation of this number asked last for a restart; 0: none did. */
  readonly stamped: number;
  readonly leaving?: { readonly volume: "Delete" | "Retain"; readonly broken: boolean };
  readonly deleting: boolean;
  readonly volume: "absent" | "own" | "other";
  readonly data: boolean;
  /** It has run on its volume: a restart in place reads the file of that first start (H3). */
  readonly used: boolean;
  readonly process: Process;
  readonly from?: Started;
  readonly synced: boolean;
  /** 0: just now, 1: for `unhealthyAfter`, 2: for `memberLostAfter`. What an operator knows, not the truth. */
  readonly down: 0 | 1 | 2;
  /** In the marks as replaced. */
  readonly counted: boolean;
}

export interface Entry {
  readonly ordinal: number;
  readonly learner: boolean;
  readonly started: boolean;
}

export interface Etcd {
  /** Empty: no cluster of this life exists yet. */
  readonly list: readonly Entry[];
  /** 0: nobody. */
  readonly leader: number;
  /** As 3006; 0: unknown. */
  readonly version: number;
  /** The minor that a downgrade goes to; 0: none. */
  readonly downgrade: number;
}

export interface Marks {
  readonly life: number;
  readonly established: boolean;
  readonly highest: number;
  readonly batch: boolean;
  readonly oldLog?: { readonly minor: string; readonly until?: number };
  readonly failed?: { readonly template: string; readonly member: number };
}

/** What a person may ask for once. Others change nothing that is kept here. */
export type Task =
  | { readonly kind: "restart"; readonly target?: number }
  | { readonly kind: "replaceMember"; readonly target: number }
  | { readonly kind: "moveLeader"; readonly target?: number };

/** An EtcdOperation that has not finished; one that has does nothing any more. */
export interface Operation {
  /** In the order of their creation, from 1 on. */
  readonly number: number;
  readonly task: Task;
  readonly running: boolean;
  /** As settled at its start. */
  readonly members: readonly number[];
  /** Of which its status says what was done. */
  readonly done: readonly number[];
}

export interface State {
  readonly spec: number;
  readonly deleting: boolean;
  readonly finished: boolean;
  readonly marks: Marks;
  readonly members: readonly Member[];
  readonly etcd: Etcd;
  /** The operator alone cannot reach etcd (H16). */
  readonly blind: boolean;
  readonly operation?: Operation | undefined;
  /** Created after that one, and not begun. */
  readonly waiting?: Operation | undefined;
  /** What may still happen to it. */
  readonly faults: number;
  readonly edits: number;
  /** How many operations were asked for. */
  readonly asked: number;
}

/** Templates are many words and few: states hold numbers. */
export class Templates {
  readonly all: MemberTemplate[] = [];
  readonly #known = new Map<string, number>();
  readonly #objects = new WeakMap<MemberTemplate, number>();

  numberOf(template: MemberTemplate): number {
    let number = this.#objects.get(template);
    if (number !== undefined) return number;
    const hash = templateHash(template);
    number = this.#known.get(hash) ?? this.all.push(template) - 1;
    this.#known.set(hash, number);
    this.#objects.set(template, number);
    return number;
  }

  get(number: number): MemberTemplate {
    const template = this.all[number];
    if (!template) throw new RangeError(`no template ${number}`);
    return template;
  }
}

/** The same state with ordinals 1, 2, 3 … in the same order. */
export function ranked(state: State): State {
  const seen = new Set<number>([state.marks.highest]);
  for (const member of state.members) {
    seen.add(member.ordinal);
    for (const peer of member.peers) seen.add(peer);
    for (const peer of member.from?.peers ?? []) seen.add(peer);
  }
  for (const entry of state.etcd.list) seen.add(entry.ordinal);
  if (state.marks.failed) seen.add(state.marks.failed.member);
  const { operation, waiting } = state;
  for (const one of [operation, waiting])
    for (const ordinal of one ? [...one.members, one.task.target ?? 0] : []) seen.add(ordinal);
  seen.delete(0);
  const sorted = [...seen].toSorted((a, b) => a - b);
  if (sorted.every((ordinal, i) => ordinal === i + 1)) return state;
  const rank = new Map<number, number>(sorted.map((ordinal, i) => [ordinal, i + 1]));
  const of = (ordinal: number) => rank.get(ordinal) ?? 0;
  const { failed } = state.marks;
  return {
    ...state,
    ...(operation && { operation: renamed(operation, of) }),
    ...(waiting && { waiting: renamed(waiting, of) }),
    marks: {
      ...state.marks,
      highest: of(state.marks.highest),
      ...(failed && { failed: { ...failed, member: of(failed.member) } }),
    },
    members: state.members.map((member) => ({
      ...member,
      ordinal: of(member.ordinal),
      peers: member.peers.map(of),
      ...(member.from && {
        from: { ...member.from, ...(member.from.peers && { peers: member.from.peers.map(of) }) },
      }),
    })),
    etcd: {
      ...state.etcd,
      leader: of(state.etcd.leader),
      list: state.etcd.list.map((entry) => ({ ...entry, ordinal: of(entry.ordinal) })),
    },
  };
}

function renamed(operation: Operation, of: (ordinal: number) => number): Operation {
  const { task, members, done } = operation;
  return {
    ...operation,
    task: { ...task, ...(task.target && { target: of(task.target) }) },
    members: members.map(of),
    done: done.map(of),
  };
}

/** Without the operation of this number; the one that waits is then the first. */
export function withoutOperation(state: State, number: number): State {
  if (state.operation?.number !== number) return { ...state, waiting: undefined };
  return { ...state, operation: state.waiting, waiting: undefined };
}

const flag = (value: boolean) => (value ? "1" : "0");

/** Equal states have equal keys. */
export function keyOf(s: State): string {
  const { marks, etcd } = s;
  const members = s.members.map((m) =>
    [
      m.ordinal,
      m.boot === "New" ? "N" : "J",
      m.role === "Voter" ? "V" : "L",
      m.life,
      m.joined ? "" : m.peers.join("."),
      flag(m.knowsID) + flag(m.permitted) + flag(m.joined) + flag(m.run) + flag(m.retiring),
      flag(m.deleting) + flag(m.data) + flag(m.used) + flag(m.synced) + flag(m.counted),
      flag(m.requested) + m.stamped,
      m.template,
      m.leaving ? m.leaving.volume[0] + flag(m.leaving.broken) : "",
      m.volume,
      m.process,
      m.from ? `${m.from.template}:${m.from.peers?.join(".") ?? "-"}${m.from.stamped ?? ""}` : "",
      m.down,
    ].join(","),
  );
  const list = etcd.list.map((e) => `${e.ordinal}${e.learner ? "l" : "v"}${flag(e.started)}`);
  return [
    s.spec,
    flag(s.deleting) + flag(s.finished) + flag(s.blind) + s.asked + s.faults + s.edits,
    operationKey(s.operation),
    operationKey(s.waiting),
    `${marks.life}${flag(marks.established)}${marks.highest}${flag(marks.batch)}`,
    marks.oldLog ? `${marks.oldLog.minor}/${marks.oldLog.until ?? ""}` : "",
    marks.failed ? `${marks.failed.template}/${marks.failed.member}` : "",
    `${list.join(".")}@${etcd.leader}@${etcd.version}@${etcd.downgrade}`,
    ...members,
  ].join("|");
}

function operationKey(operation: Operation | undefined): string {
  if (!operation) return "";
  const { number, task, running, members, done } = operation;
  return `${number}${task.kind}${task.target ?? ""}${flag(running)}${members.join(".")}/${done.join(".")}`;
}
