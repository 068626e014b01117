/**
 * A model of effects: what the observation would be after a step, in a world where nothing fails. `plan`
 * folds `decide` over it. It knows just enough of etcd to be believed; the simulator's model is the one
 * that is checked against real etcd.
 */
import type { Action } from "../action.ts";
import { authAfter } from "../auth/after.ts";
import type { RoleFacts, UserFacts } from "../auth/facts.ts";
import type {
  AuthorityFacts,
  EtcdFacts,
  EtcdMemberEntry,
  MemberAnswer,
  MemberFacts,
  Observation,
  RescuedData,
} from "../observation.ts";
import { NO_VOLUME, type LeftVolume } from "../facts/adoption-facts.ts";
import type { OperationTask } from "../operations/task.ts";
import { sayClaim } from "../messages/adoption.ts";
import { ANSWERS } from "../messages/unreachable.ts";
import { minorOf } from "../version/version.ts";
import { settle } from "./settle.ts";

/** The observation once `action` has been carried out and everything that follows from it has happened. */
export function predict(observation: Observation, action: Action): Observation {
  return settle(apply(observation, action));
}

function apply(o: Observation, action: Action): Observation {
  switch (action.kind) {
    case "CreateMember":
      return withMembers(
        o,
        [...o.members, newcomer(o, action.record)].toSorted((a, b) => a.record.ordinal - b.record.ordinal),
      );
    case "UpdateMember":
      return withMember(o, action.member, (facts) => ({
        ...facts,
        record: { ...facts.record, ...action.change, resourceVersion: `${facts.record.resourceVersion}'` },
      }));
    case "DeleteMember":
      return withMembers(
        o,
        o.members.filter((facts) => facts.record.name !== action.member),
      );
    case "MarkCluster":
      return { ...o, cluster: { ...o.cluster, marks: { ...o.cluster.marks, ...action.change } } };
    case "StopWorkload":
      return withMember(o, action.member, (facts) => ({
        ...facts,
        workload: { state: "absent" },
        answer: SILENT,
      }));
    case "DeleteVolume":
      return withMember(o, action.member, (facts) => ({ ...facts, volume: { state: "absent" } }));
    case "AddLearner":
      return withList(o, (list) => [...list, unstarted(action.member, action.peerURL)]);
    case "UpdatePeerURL":
      return withList(o, (list) =>
        list.map((e) => (e.id === action.memberID ? { ...e, peerURLs: [action.peerURL] } : e)),
      );
    case "Promote":
      return withList(o, (list) =>
        list.map((e) => (e.id === action.memberID ? { ...e, isLearner: false } : e)),
      );
    case "RemoveFromEtcd":
      return withMember(
        withList(o, (list) => list.filter((entry) => entry.id !== action.memberID)),
        action.member,
        (facts) => ({ ...facts, answer: SILENT }),
      );
    case "MoveLeader":
      return withAnswers(o, (answer) => ({ ...answer, leaderID: action.memberID }));
    case "Compact":
      // How much it frees cannot be known; a plan assumes that it helps.
      return withAnswers(
        { ...o, etcd: { ...o.etcd, compacted: { revision: action.revision, at: o.now } } },
        (answer) => ({
          ...answer,
          dbSizeInUse: Math.floor(answer.dbSizeInUse / 2),
        }),
      );
    case "Defragment":
      return withMember(
        { ...o, etcd: { ...o.etcd, ...defragmented(o, action) } },
        action.member,
        (facts) => ({
          ...facts,
          answer: facts.answer.reachable
            ? { ...facts.answer, dbSize: leastInUse(o), dbSizeInUse: leastInUse(o) }
            : facts.answer,
        }),
      );
    case "Disarm":
      return {
        ...o,
        etcd: { ...o.etcd, alarms: o.etcd.alarms.filter((alarm) => alarm.alarm !== action.alarm) },
      };
    case "CompareHashes":
      return { ...o, etcd: { ...o.etcd, hashes: { at: o.now, revision: 0, byMember: {} } } };
    case "EnableDowngrade":
      return withAnswers(
        { ...o, etcd: { ...o.etcd, clusterVersion: minorOf(action.version) } },
        (answer) => ({
          ...answer,
          storageVersion: action.version,
          downgrade: { enabled: true, target: action.version },
        }),
      );
    case "CancelDowngrade":
      return withAnswers(o, ({ downgrade: _ended, ...answer }) => answer);
    case "AdvanceLog":
      return withAnswers(o, (answer) => {
        const raftIndex = answer.raftIndex + action.entries;
        return { ...answer, raftIndex, raftAppliedIndex: raftIndex };
      });
    case "NudgeLog":
      return { ...o, etcd: { ...o.etcd, nudgedAt: o.now } };
    case "RescueData":
      return { ...o, platform: { ...o.platform, rescued: rescuedBy(action) } };
    case "FetchSnapshot": {
      const fetched = rescuedBy(action);
      return { ...o, platform: { ...o.platform, fetched } };
    }
    case "BindVolume":
      return withBound(o, action);
    case "FinishDeletion":
      return o;
    case "RotateAuthority":
      return rotated(o, action);
    case "ReissueCertificates": {
      const reissuedFor = { ...o.platform.reissuedFor, [action.member ?? ""]: action.operation };
      return { ...o, platform: { ...o.platform, reissuedFor } };
    }
    case "CreateOperation": {
      const { operation: name, approve, restore } = action;
      const task: OperationTask = restore
        ? { kind: "restore", ...restore, approve }
        : { kind: "recoverQuorum", approve };
      const made = { name, uid: `uid-of-${name}`, resourceVersion: "", generation: 1, createdAt: o.now };
      return { ...o, operations: [...o.operations, { ...made, deleting: false, task, status: {} }] };
    }
    case "UpdateOperation":
      return {
        ...o,
        operations: o.operations.map((operation) =>
          operation.name === action.operation
            ? { ...operation, status: action.status, resourceVersion: `${operation.resourceVersion}'` }
            : operation,
        ),
      };
    case "DeleteOperation":
      return { ...o, operations: o.operations.filter(({ uid }) => uid !== action.uid) };
    case "ChangeAuth": {
      const { auth } = o;
      return auth?.etcd
        ? { ...o, auth: { ...auth, etcd: authAfter(auth.etcd, action.change, auth.passwords) } }
        : o;
    }
    case "UpdateAuthObject":
      return withAuthObject(o, action);
  }
}

/** Everybody is seen to trust and to show what the phase asks for, and a soak passes at once. */
function rotated(o: Observation, action: Extract<Action, { kind: "RotateAuthority" }>): Observation {
  const { plane, to, operation } = action;
  const before = o.platform.authorities?.[plane];
  if (!before) return o;
  const after = advanced(before, action);
  const next = { ...after, since: 0, ...(operation !== undefined && { operation }) };
  const newer = to === "Bundle" ? next.other : next.current;
  const platform = { ...o.platform, authorities: { ...o.platform.authorities, [plane]: next } };
  const members = o.members.map((facts): MemberFacts => ({
    ...facts,
    trust: { ...facts.trust, [plane]: { accepts: newer, shows: next.current, seenAt: 0 } },
  }));
  return { ...o, platform, members };
}

function advanced(
  { turn: _taken, successor: _begun, ...before }: AuthorityFacts,
  { to: phase, turn, successor }: Extract<Action, { kind: "RotateAuthority" }>,
): AuthorityFacts {
  const { other, given, otherGiven, ...rest } = before;
  if (turn === "Abort") {
    const { operation: _undone, ...abandoned } = before;
    return { ...abandoned, phase };
  }
  const givenBy = (signer: true | undefined, former: true | undefined) => {
    return { ...(signer && { given: signer }), ...(former && { otherGiven: former }) };
  };
  if (turn === "Reverse") return { ...before, phase };
  if (turn === "Replace") {
    const current = successor ?? `${rest.current}'`;
    const signer = givenBy(successor === undefined ? undefined : true, undefined);
    return { ...rest, ...signer, phase, current, ...LASTING };
  }
  switch (phase) {
    case "Bundle":
      return {
        ...rest,
        ...givenBy(given, successor === undefined ? undefined : true),
        phase,
        other: successor ?? `${rest.current}'`,
      };
    case "Reissue":
      return {
        ...rest,
        ...givenBy(otherGiven, given),
        phase,
        current: other ?? rest.current,
        other: rest.current,
      };
    case "Drop":
      return { ...before, phase };
    case "Steady":
      return { ...rest, ...givenBy(given, undefined), phase, rotateAt: Infinity };
  }
}

/** When one ends that is not there yet is not known, and it is not soon. */
const LASTING = { expiresAt: Infinity, rotateAt: Infinity };

function withAuthObject(
  o: Observation,
  { uid, change }: Extract<Action, { kind: "UpdateAuthObject" }>,
): Observation {
  const { auth } = o;
  if (!auth) return o;
  const update = <T extends UserFacts | RoleFacts>(objects: readonly T[]): T[] =>
    objects.flatMap((object) => {
      if (object.uid !== uid) return [object];
      if (object.deleting && "applied" in change && !change.applied) return [];
      return [{ ...object, ...change, resourceVersion: `${object.resourceVersion}'` }];
    });
  return { ...o, auth: { ...auth, users: update(auth.users), roles: update(auth.roles) } };
}

function defragmented(
  { etcd, now }: Observation,
  { member, operation }: Extract<Action, { kind: "Defragment" }>,
): Partial<EtcdFacts> {
  return {
    defragmentedAt: { ...etcd.defragmentedAt, [member]: now },
    ...(operation !== undefined && { defragmentedFor: { ...etcd.defragmentedFor, [member]: operation } }),
  };
}

function rescuedBy({ plan }: Extract<Action, { kind: "RescueData" | "FetchSnapshot" }>): RescuedData {
  return { plan, source: { file: { path: "/snapshot.db" } }, sha256: "0".repeat(64), revision: 0 };
}

/** Members hold the same data; some tell of their free pages only later. */
function leastInUse(o: Observation): number {
  return Math.min(...o.members.map(({ answer }) => (answer.reachable ? answer.dbSizeInUse : Infinity)));
}

const SILENT: MemberAnswer = { reachable: false, error: ANSWERS.none };

function newcomer(o: Observation, record: Extract<Action, { kind: "CreateMember" }>["record"]): MemberFacts {
  return {
    record: { ...record, uid: `uid-of-${record.name}`, resourceVersion: "1", createdAt: o.now },
    deleting: false,
    volume:
      record.volumeUID === NO_VOLUME
        ? { state: "absent" }
        : { state: "ready", uid: record.volumeUID ?? `volume-of-${record.name}` },
    workload: { state: "absent" },
    answer: SILENT,
  };
}

function unstarted(member: string, peerURL: string): EtcdMemberEntry {
  return {
    id: `id-of-${member}`,
    name: "",
    peerURLs: [peerURL],
    clientURLs: [],
    isLearner: true,
    ours: true,
  };
}

function withMembers(o: Observation, members: readonly MemberFacts[]): Observation {
  return { ...o, members };
}

function withMember(o: Observation, name: string, change: (facts: MemberFacts) => MemberFacts): Observation {
  return withMembers(
    o,
    o.members.map((facts) => (facts.record.name === name ? change(facts) : facts)),
  );
}

function withAnswers(
  o: Observation,
  change: (answer: Extract<MemberAnswer, { reachable: true }>) => MemberAnswer,
): Observation {
  return withMembers(
    o,
    o.members.map((f) => (f.answer.reachable ? { ...f, answer: change(f.answer) } : f)),
  );
}

function withList(
  o: Observation,
  change: (list: readonly EtcdMemberEntry[]) => readonly EtcdMemberEntry[],
): Observation {
  const { list } = o.etcd;
  return list ? { ...o, etcd: { ...o.etcd, list: { ...list, members: change(list.members) } } } : o;
}

/** Its claim is there, and what is on it has to be read. */
function withBound(o: Observation, { uid }: Extract<Action, { kind: "BindVolume" }>): Observation {
  const { adoption } = o.platform;
  const bound = adoption?.released?.find((volume) => volume.uid === uid);
  if (!adoption || !bound) return o;
  const { member, identity } = bound;
  const volume: LeftVolume = {
    object: sayClaim(member),
    member,
    uid: `${uid}'`,
    identity,
    storage: {},
    directory: { state: "reading" },
  };
  const released = adoption.released?.filter((one) => one !== bound) ?? [];
  const changed = { ...adoption, released, volumes: [...adoption.volumes, volume] };
  return { ...o, platform: { ...o.platform, adoption: changed } };
}
