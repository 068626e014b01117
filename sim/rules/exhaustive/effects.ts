/**
 * One Action on an abstract state, by the world's rules: versions and UIDs as preconditions (H10), strict
 * reconfiguration (R19), the learner limit (R17). Undefined: refused, and nothing has changed.
 */
import type { Action } from "../../../src/core/action.ts";
import { FINAL } from "../../../src/core/operations/status.ts";
import { minorNumber } from "../../../src/core/version/version.ts";
import { idOf, operationNumber, ordinalOfID, ordinalOfName, ownVolume, type Setting } from "./observe.ts";
import { withoutOperation, type Marks, type Member, type State } from "./state.ts";
import { entryOf, hasQuorum, isUp, majorityOf, upVoters, votersOf } from "./truth.ts";
import { minorOfMember, normal, withMember } from "./world.ts";

/** What the operator decided on may be older than what is: then preconditions fail. */
export function effect(truth: State, seen: State, action: Action, setting: Setting): State | undefined {
  const next = apply(truth, seen, action, setting);
  return next && normal(next, setting);
}

const named = (state: State, name: string): Member | undefined =>
  state.members.find(({ ordinal }) => ordinal === ordinalOfName(name));

function apply(truth: State, seen: State, action: Action, setting: Setting): State | undefined {
  switch (action.kind) {
    case "CreateMember":
      return create(truth, action.record, setting);
    case "UpdateMember": {
      const member = named(truth, action.member);
      if (!member || !sameRecord(member, named(seen, action.member))) return undefined;
      return withMember(truth, member.ordinal, recordChange(action.change, setting));
    }
    case "DeleteMember": {
      const member = named(truth, action.member);
      return member && { ...truth, members: truth.members.filter((other) => other !== member) };
    }
    case "MarkCluster":
      return sameCluster(truth, seen) ? mark(truth, action.change) : undefined;
    case "StopWorkload": {
      const member = named(truth, action.member);
      if (!member || member.process === "absent" || named(seen, action.member)?.process === "absent")
        return undefined;
      return withMember(truth, member.ordinal, { process: "stopping" });
    }
    case "DeleteVolume": {
      const member = named(truth, action.member);
      if (!member || member.volume !== "own" || action.volumeUID !== ownVolume(member.ordinal))
        return undefined;
      return withMember(truth, member.ordinal, { volume: "absent", data: false });
    }
    case "RescueData":
    case "FetchSnapshot":
    case "BindVolume":
      return undefined;
    case "FinishDeletion":
      return { ...truth, finished: true, members: [] };
    case "AddLearner":
      return addLearner(truth, ordinalOfName(action.member), setting);
    case "Promote": {
      const member = truth.members.find(({ ordinal }) => idOf(ordinal) === action.memberID);
      if (!member || !hasQuorum(truth) || !isUp(truth, member) || !member.synced) return undefined;
      if (!entryOf(truth, member)?.learner) return undefined;
      return withList(
        truth,
        truth.etcd.list.map((e) => (e.ordinal === member.ordinal ? { ...e, learner: false } : e)),
      );
    }
    case "RemoveFromEtcd":
      return remove(truth, ordinalOfID(action.memberID));
    case "MoveLeader": {
      const nextLeader = upVoters(truth).find(({ ordinal }) => idOf(ordinal) === action.memberID);
      if (!nextLeader || !hasQuorum(truth)) return undefined;
      return { ...truth, etcd: { ...truth.etcd, leader: nextLeader.ordinal } };
    }
    case "EnableDowngrade": {
      const downgrade = minorNumber(action.version);
      if (!hasQuorum(truth) || truth.etcd.version !== downgrade + 1) return undefined;
      return { ...truth, etcd: { ...truth.etcd, downgrade, version: downgrade } };
    }
    case "CancelDowngrade":
      return hasQuorum(truth) ? { ...truth, etcd: { ...truth.etcd, downgrade: 0 } } : undefined;
    case "AdvanceLog":
    case "NudgeLog":
    case "CompareHashes":
    case "Compact":
    case "Defragment":
    case "Disarm":
    // There no CA is ever due.
    case "RotateAuthority":
    case "ReissueCertificates":
      return undefined;
    case "UpdateOperation":
      return sameOperation(truth, seen, operationNumber(action.operation))
        ? written(truth, action)
        : undefined;
    // Its edits leave TLS as it is.
    case "UpdatePeerURL":
    case "CreateOperation":
    case "DeleteOperation":
    case "ChangeAuth":
    case "UpdateAuthObject":
      throw new TypeError(`${action.kind} is not part of the abstraction, and was decided`);
    default: {
      const unknown: never = action;
      throw new TypeError(`there is no such action: ${JSON.stringify(unknown)}`);
    }
  }
}

/** The template of a new record may be one that no state had yet. */
function create(
  truth: State,
  record: Extract<Action, { kind: "CreateMember" }>["record"],
  { templates }: Setting,
): State | undefined {
  if (truth.members.some(({ ordinal }) => ordinal === record.ordinal)) return undefined;
  const member: Member = {
    ordinal: record.ordinal,
    boot: record.boot,
    role: record.role,
    life: Number(record.token.split("-").at(-1)),
    peers: record.initialCluster.map(({ name }) => ordinalOfName(name)),
    knowsID: false,
    permitted: false,
    joined: false,
    run: true,
    template: templates.numberOf(record.template),
    retiring: false,
    requested: false,
    stamped: 0,
    deleting: false,
    volume: "absent",
    data: false,
    used: false,
    process: "absent",
    synced: record.boot === "New",
    down: 0,
    counted: false,
  };
  return { ...truth, members: [...truth.members, member].toSorted((a, b) => a.ordinal - b.ordinal) };
}

function recordChange(
  change: Extract<Action, { kind: "UpdateMember" }>["change"],
  { templates }: Setting,
): Partial<Member> {
  return {
    ...(change.memberID !== undefined && { knowsID: true }),
    ...(change.initialCluster && { peers: change.initialCluster.map(({ name }) => ordinalOfName(name)) }),
    ...(change.volumeUID !== undefined && { permitted: true }),
    ...(change.joined && { joined: true }),
    ...(change.run !== undefined && { run: change.run }),
    ...(change.template && { template: templates.numberOf(change.template) }),
    ...("retiring" in change && {
      retiring: change.retiring !== undefined,
      requested: change.retiring?.requested === true,
    }),
    ...(change.restart !== undefined && { stamped: operationNumber(change.restart) }),
    ...(change.leaving && {
      leaving: { volume: change.leaving.volume, broken: change.leaving.broken === true },
    }),
    ...(change.role && { role: change.role }),
  };
}

function mark(truth: State, change: Extract<Action, { kind: "MarkCluster" }>["change"]): State {
  const { failedTarget } = change;
  const marks: Marks = {
    ...truth.marks,
    ...(change.life !== undefined && { life: change.life, established: false }),
    ...(change.established && { established: true }),
    ...(change.highestOrdinal !== undefined && { highest: change.highestOrdinal }),
    ...(change.batchJoined && { batch: true }),
    ...("oldLog" in change && { oldLog: change.oldLog }),
    ...("failedTarget" in change && {
      failed: failedTarget && { template: failedTarget.hash, member: ordinalOfName(failedTarget.member) },
    }),
  };
  const counted = change.replaced ?? {};
  const members = truth.members.map((member) => ({
    ...member,
    counted: member.counted || counted[`demo-${member.ordinal}`] !== undefined,
  }));
  const newLife = change.life !== undefined && change.life !== truth.marks.life;
  const etcd = newLife ? { list: [], leader: 0, version: 0, downgrade: 0 } : truth.etcd;
  return { ...truth, marks, members, etcd };
}

function addLearner(truth: State, ordinal: number, setting: Setting): State | undefined {
  const { list } = truth.etcd;
  if (!hasQuorum(truth) || upVoters(truth).length < votersOf(truth).length) return undefined;
  if (list.some((entry) => entry.ordinal === ordinal)) return truth;
  const limit = truth.members.some(
    (member) => entryOf(truth, member) && minorOfMember(member, setting) < 3006,
  )
    ? 1
    : 18;
  if (list.filter(({ learner }) => learner).length >= limit) return undefined;
  return withList(
    truth,
    [...list, { ordinal, learner: true, started: false }].toSorted((a, b) => a.ordinal - b.ordinal),
  );
}

function remove(truth: State, ordinal: number): State | undefined {
  const entry = truth.etcd.list.find((candidate) => candidate.ordinal === ordinal);
  if (!hasQuorum(truth)) return undefined;
  if (!entry) return truth;
  const left = upVoters(truth).filter((member) => member.ordinal !== ordinal).length;
  if (!entry.learner && left < majorityOf(votersOf(truth).length - 1)) return undefined;
  return withList(
    truth,
    truth.etcd.list.filter((other) => other !== entry),
  );
}

function withList(state: State, list: State["etcd"]["list"]): State {
  return { ...state, etcd: { ...state.etcd, list } };
}

/** Stands for equal resource versions: nothing of what the object holds has changed. */
function sameRecord(a: Member, b: Member | undefined): boolean {
  const text = (m: Member | undefined) =>
    m &&
    JSON.stringify([
      m.ordinal,
      m.boot,
      m.peers,
      m.knowsID,
      m.permitted,
      m.joined,
      m.run,
      m.template,
      m.retiring,
      m.requested,
      m.stamped,
      m.leaving,
    ]);
  return text(a) === text(b);
}

function sameCluster(a: State, b: State): boolean {
  return JSON.stringify([a.spec, a.deleting, a.marks]) === JSON.stringify([b.spec, b.deleting, b.marks]);
}

/** Whether the operation of this number is as it was seen. */
function sameOperation(truth: State, seen: State, number: number): boolean {
  const found = (state: State) =>
    [state.operation, state.waiting].find((operation) => operation?.number === number);
  return found(truth) !== undefined && JSON.stringify(found(truth)) === JSON.stringify(found(seen));
}

/** One that has finished is of no further interest. */
function written(
  truth: State,
  { operation: name, status }: Extract<Action, { kind: "UpdateOperation" }>,
): State | undefined {
  const number = operationNumber(name);
  if (FINAL.has(status.phase)) return withoutOperation(truth, number);
  const change = {
    running: status.phase === "Running",
    members: (status.members ?? []).map(ordinalOfName),
    done: (status.steps ?? []).flatMap(({ member }) => (member === undefined ? [] : [ordinalOfName(member)])),
  };
  const { operation, waiting } = truth;
  if (operation?.number === number) return { ...truth, operation: { ...operation, ...change } };
  return waiting && { ...truth, waiting: { ...waiting, ...change } };
}
