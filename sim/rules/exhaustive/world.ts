/**
 * What happens without the operator: volumes come, processes start, boot, stop and come back, learners catch up,
 * time passes. Each is a step of its own, so that the operator may look and act in between. And what goes
 * wrong: members crash, freeze or lose their volume, operators are restarted, people edit and delete.
 */
import { shouldRun } from "../../../src/core/assess/should-run.ts";
import { minorNumber } from "../../../src/core/version/version.ts";
import { viewOf } from "../../../src/core/view.ts";
import { observe, type Setting } from "./observe.ts";
import type { Family } from "./families.ts";
import { Broken, type Step } from "./step.ts";
import { withoutOperation, type Entry, type Member, type Process, type State } from "./state.ts";
import { entryOf, hasQuorum, isUp, majorityOf, upVoters } from "./truth.ts";

/** Its steps go on for ever: whoever starts too slowly is replaced again and again, as often as an hour allows. */
export const TIME = "time passes";

export function withMember(state: State, ordinal: number, change: Partial<Member>): State {
  return {
    ...state,
    members: state.members.map((member) => (member.ordinal === ordinal ? { ...member, ...change } : member)),
  };
}

export function minorOfMember(member: Member, { templates }: Setting): number {
  return minorNumber(templates.get(member.from?.template ?? member.template).version);
}

/** What follows at once and for certain: a cluster forms, somebody leads, versions follow, clocks end. */
export function normal(state: State, setting: Setting): State {
  const formed = lead(form(state));
  const members = formed.members.map((member) => {
    const healthy = isUp(formed, member) && entryOf(formed, member) !== undefined && hasQuorum(formed);
    return healthy && member.down !== 0 ? { ...member, down: 0 as const } : member;
  });
  return versions({ ...formed, members }, setting);
}

/** Founders that run with data of this life are a cluster once a majority of their plan does. */
function form(state: State): State {
  if (state.etcd.list.length > 0) return state;
  const founders = state.members.filter(
    (m) => m.boot === "New" && m.life === state.marks.life && m.data && m.process === "up",
  );
  const plan = founders[0]?.peers ?? [];
  if (plan.length === 0 || founders.length < majorityOf(plan.length)) return state;
  const list = plan.map((ordinal): Entry => ({ ordinal, learner: false, started: false }));
  return { ...state, etcd: { ...state.etcd, list } };
}

function lead(state: State): State {
  if (state.etcd.list.length === 0) return state;
  const up = upVoters(state);
  const quorate = hasQuorum(state);
  const { etcd } = state;
  const stays = quorate && up.some(({ ordinal }) => ordinal === etcd.leader);
  const leader = stays ? etcd.leader : quorate ? (up[0]?.ordinal ?? 0) : 0;
  const list = quorate
    ? etcd.list.map((entry) =>
        entry.started || !state.members.some((m) => m.ordinal === entry.ordinal && isUp(state, m))
          ? entry
          : { ...entry, started: true },
      )
    : etcd.list;
  const members = quorate
    ? state.members.map((m) =>
        m.synced || entryOf(state, m)?.learner !== false || !isUp(state, m) ? m : { ...m, synced: true },
      )
    : state.members;
  return { ...state, members, etcd: { ...etcd, leader, list } };
}

/** etcd's own monitor: up when all members are, down when it was told and all have arrived (R10, R15). */
function versions(state: State, setting: Setting): State {
  const { etcd } = state;
  if (!hasQuorum(state)) return state;
  const listed = state.members.filter((member) => entryOf(state, member));
  if (listed.length < etcd.list.length || !listed.every((member) => isUp(state, member))) {
    return etcd.version > 0 ? state : { ...state, etcd: { ...etcd, version: lowest(listed, setting) } };
  }
  const low = lowest(listed, setting);
  const high = Math.max(...listed.map((member) => minorOfMember(member, setting)));
  const arrived = etcd.downgrade > 0 && high <= etcd.downgrade;
  const downgrade = arrived ? 0 : etcd.downgrade;
  const version = downgrade > 0 ? etcd.version : Math.max(low, etcd.version);
  return version === etcd.version && downgrade === etcd.downgrade
    ? state
    : { ...state, etcd: { ...etcd, version, downgrade } };
}

function lowest(members: readonly Member[], setting: Setting): number {
  return Math.min(...members.map((member) => minorOfMember(member, setting)));
}

/** The steps of the world that need no fault. */
export function settleSteps(state: State, setting: Setting): Step[] {
  if (state.finished) return [];
  const steps: Step[] = [];
  const add = (label: string, next: State) => steps.push({ label, next: normal(next, setting) });
  const view = viewOf(observe(state, setting));
  for (const [i, member] of state.members.entries()) {
    const name = `demo-${member.ordinal}`;
    const { ordinal, process } = member;
    const seen = view.members[i];
    if (!member.permitted && !member.leaving && member.volume === "absent" && !state.deleting)
      add(`the volume of ${name} is made`, withMember(state, ordinal, { volume: "own" }));
    if (process === "absent" && !state.deleting && seen && shouldRun(view.observation, seen)) {
      const { template, joined, peers, stamped } = member;
      const from = { template, ...(!joined && { peers }), ...(stamped > 0 && { stamped }) };
      add(`${name} starts`, withMember(state, ordinal, { process: "starting", from }));
    }
    if (process === "starting") {
      const booted = boot(state, member, setting);
      if (booted)
        add(
          `${name} ${booted.process === "up" ? "boots" : booted.process}`,
          withMember(state, ordinal, booted),
        );
    }
    if (process === "stopping")
      add(`${name} has stopped`, withMember(state, ordinal, { process: "absent", from: undefined }));
    if (process === "frozen") add(`${name} thaws`, withMember(state, ordinal, { process: "up" }));
    if (
      (process === "exited killed" || process === "exited unknown") &&
      member.volume === "own" &&
      member.permitted
    )
      add(`${name} is started again`, withMember(state, ordinal, { process: "starting" }));
    if (isUp(state, member)) {
      const entry = entryOf(state, member);
      if (!entry)
        add(`${name} learns that it was removed`, withMember(state, ordinal, { process: "exited removed" }));
      else if (entry.learner && !member.synced && hasQuorum(state))
        add(`${name} catches up`, withMember(state, ordinal, { synced: true }));
    }
  }
  if (state.blind) add("the operator reaches etcd again", { ...state, blind: false });
  const waiting = state.members.some((member) => member.down < 2 && !healthy(state, member));
  if (waiting && !state.deleting) {
    const members = state.members.map((member) =>
      healthy(state, member) ? member : { ...member, down: Math.min(2, member.down + 1) as 0 | 1 | 2 },
    );
    add(TIME, { ...state, members });
  }
  return steps;
}

function healthy(state: State, member: Member): boolean {
  return isUp(state, member) && entryOf(state, member) !== undefined && hasQuorum(state);
}

/**
 * How a start goes, by what etcd makes of it (R4–R8, R13, H2, H3, H7). Nothing looks into the directory before etcd
 * does. A restart in place reads the file of the first start until the member has joined: only then is its Pod touched.
 */
function boot(state: State, member: Member, setting: Setting): Partial<Member> | undefined {
  const exited = (cause: string): Partial<Member> => ({ process: `exited ${cause}` as Process });
  if (member.volume !== "own") return exited("unknown");
  const { etcd } = state;
  const entry = entryOf(state, member);
  const exists = etcd.list.length > 0 && member.life === state.marks.life;
  if (member.data) {
    if (exists && !entry) return exited("removed");
    const minor = minorOfMember(member, setting);
    if (exists && etcd.version > 0 && minor > etcd.version + 1)
      throw new Broken("R10", `demo-${member.ordinal} starts ${minor} on data of ${etcd.version}`);
    if (exists && etcd.version > minor && minor >= 3006) return exited("data-newer");
    return { process: "up" };
  }
  // Its file names itself alone: there is nobody to ask for the cluster, and etcd ends.
  if (member.joined) return exited("data-missing");
  const established = state.marks.established && member.life === state.marks.life && !member.used;
  if (member.boot === "New" && !established) {
    const reported = state.members.some((other) => other !== member && isUp(state, other));
    if (exists && entry?.started && reported) return exited("already-bootstrapped");
    return { process: "up", data: true, used: true };
  }
  // It joins: from a peer that answers it takes the list, which has to be its own. That needs no quorum (R21).
  if (!exists || !state.members.some((other) => other !== member && isUp(state, other))) return undefined;
  const list = etcd.list.map(({ ordinal }) => ordinal).toSorted((a, b) => a - b);
  const known = (member.from?.peers ?? member.peers).toSorted((a, b) => a - b);
  if (list.join() !== known.join()) return exited("member-list-mismatch");
  if (!entry) return exited("removed");
  if (entry.started && !entry.learner)
    throw new Broken("I4", `voter demo-${member.ordinal} comes back without its data`);
  return { process: "up", data: true, used: true, synced: false };
}

/** What may go wrong. Each costs one of the faults that the state has left. */
export function faultSteps(state: State, setting: Setting, blind: Family["blind"]): Step[] {
  if (state.faults === 0 || state.finished) return [];
  const steps: Step[] = [];
  const less = { ...state, faults: state.faults - 1 };
  const add = (label: string, next: State) =>
    steps.push({ label: `! ${label}`, next: normal(next, setting) });
  if (blind && !state.blind) add("the operator cannot reach etcd", { ...less, blind: true });
  if (blind === "only") return steps;
  for (const member of state.members) {
    const { ordinal } = member;
    const name = `demo-${ordinal}`;
    if (member.process === "up") {
      add(`${name} crashes`, withMember(less, ordinal, { process: "exited killed" }));
      add(`${name} freezes`, withMember(less, ordinal, { process: "frozen" }));
    }
    if (member.volume === "own" && (member.permitted || member.data)) {
      const ended: Partial<Member> = member.process === "absent" ? {} : { process: "exited unknown" };
      add(`${name} loses its volume`, withMember(less, ordinal, { volume: "absent", data: false, ...ended }));
      if (member.data) {
        const wiped: Partial<Member> = member.process === "absent" ? {} : { process: "exited killed" };
        add(`the data of ${name} is wiped`, withMember(less, ordinal, { data: false, ...wiped }));
      }
    }
    const nextLeader = upVoters(state).find(
      (voter) => voter.ordinal === ordinal && ordinal !== state.etcd.leader,
    );
    if (nextLeader && hasQuorum(state))
      add(`${name} is elected`, { ...less, etcd: { ...less.etcd, leader: ordinal } });
  }
  if (state.members.some(({ down }) => down > 0))
    add("the operator is restarted", {
      ...less,
      members: less.members.map((m) => ({ ...m, down: 0 as const })),
    });
  return steps;
}

/** What a person may do; each costs one of the edits that the state has left. */
export function editSteps(state: State, setting: Setting, { deletes, tasks = [], twoTasks }: Family): Step[] {
  if (state.edits === 0 || state.finished || state.deleting) return [];
  const less = { ...state, edits: state.edits - 1 };
  const steps: Step[] = [];
  const add = (label: string, next: State) =>
    steps.push({ label: `> ${label}`, next: normal(next, setting) });
  for (const [i, spec] of setting.specs.entries()) {
    if (i === state.spec) continue;
    add(`spec: ${spec.replicas} members of ${spec.version}, options ${spec.options.logLevel}`, {
      ...less,
      spec: i,
    });
  }
  const number = state.asked + 1;
  if (number <= (twoTasks ? 2 : 1))
    for (const task of tasks) {
      const created = { number, task, running: false, members: [], done: [] };
      add(`an EtcdOperation: ${task.kind} ${task.target ?? ""}`, {
        ...less,
        asked: number,
        ...(state.operation ? { waiting: created } : { operation: created }),
      });
    }
  for (const operation of [state.operation, state.waiting])
    if (operation)
      add(`the EtcdOperation ${operation.number} is deleted`, withoutOperation(less, operation.number));
  if (!deletes) return steps;
  // The garbage collector takes its operations along, sooner or later.
  add("the cluster is deleted", { ...less, deleting: true, operation: undefined, waiting: undefined });
  for (const { ordinal, deleting } of state.members)
    if (!deleting)
      add(`the record of demo-${ordinal} is deleted by hand`, withMember(less, ordinal, { deleting: true }));
  return steps;
}
