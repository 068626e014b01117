/**
 * I1–I5 and their neighbours, by the truth of the abstract state: neither the view nor the arithmetic of the
 * rules is used. A step is judged when it takes effect; etcd's own refusals do not excuse a step that was
 * decided on the whole truth.
 */
import type { Action } from "../../../src/core/action.ts";
import { assertInvariants } from "../../../src/core/testing/naive-invariants.ts";
import type { Observation } from "../../../src/core/observation.ts";
import { operationNumber, ordinalOfID, ordinalOfName, specIn, type Setting } from "./observe.ts";
import { Broken } from "./step.ts";
import type { Member, State } from "./state.ts";
import { entryOf, hasQuorum, majorityOf, upVoters, voterIsUp, votersOf } from "./truth.ts";
import { minorOfMember } from "./world.ts";

/** Of a decision on the whole truth: also by the plain words of the properties of decide. */
export function judgeDecision(observation: Observation, action: Action): void {
  try {
    assertInvariants(observation, action);
  } catch (error) {
    throw new Broken("decision", `${action.kind}: ${(error as Error).message}`);
  }
}

/** Of a step that takes effect on `state`. Who had not seen yet that it is to serve again did as was asked. */
export function judgeStep(state: State, seen: State, action: Action, setting: Setting): void {
  const serves = [state, seen].every((one) => !one.deleting && specIn(one, setting).replicas > 0);
  const up = upVoters(state);
  const voters = votersOf(state).length;
  const named = (name: string) => state.members.find(({ ordinal }) => ordinal === ordinalOfName(name));
  switch (action.kind) {
    case "StopWorkload": {
      const member = named(action.member);
      if (!member || !serves || !voterIsUp(state, member)) return;
      if (voters > 2 && hasQuorum(state) && up.length - 1 < majorityOf(voters))
        throw new Broken("I1", `stopping ${action.member} leaves ${up.length - 1} of ${voters} voters`);
      handedOver(state, member, "stops");
      return;
    }
    case "RemoveFromEtcd": {
      const ordinal = ordinalOfID(action.memberID);
      const entry = state.etcd.list.find((candidate) => candidate.ordinal === ordinal);
      const member = state.members.find((candidate) => candidate.ordinal === ordinal);
      if (entry && member && !member.leaving)
        throw new Broken("H10", `${action.member} is removed without an intent`);
      if (!entry || entry.learner) return;
      const left = up.filter((voter) => voter.ordinal !== ordinal).length;
      if (left < majorityOf(voters - 1) || voters === 1)
        throw new Broken("I1", `removing ${action.member} leaves ${left} of ${voters - 1} voters`);
      if (member) handedOver(state, member, "leaves");
      return;
    }
    case "Promote": {
      const member = named(action.member);
      if (up.length < voters)
        throw new Broken("I2", `${action.member} is promoted with ${up.length} of ${voters} voters up`);
      if (!member?.synced) throw new Broken("I10", `${action.member} gets a vote before it has the data`);
      if (!member.joined)
        throw new Broken("H3", `${action.member} votes before its record says that it joined`);
      return;
    }
    case "AddLearner": {
      const learners = state.etcd.list.filter((entry) => entry.learner).length;
      const old = state.members.some((m) => minorOfMember(m, setting) < 3006);
      if (learners > 0 && old) throw new Broken("H1", `a second learner joins beside a member of 3.5`);
      if (learners > 0 && !state.marks.batch)
        throw new Broken("H1", `two learners join, and it is not on record`);
      return;
    }
    case "DeleteVolume":
    case "DeleteMember": {
      const member = named(action.member);
      if (!member || state.deleting) return;
      if (entryOf(state, member) && member.life === state.marks.life)
        throw new Broken("I5", `${action.kind} of ${action.member}, which etcd counts`);
      if (!member.leaving) throw new Broken("I5", `${action.kind} of ${action.member}, which stays`);
      if (action.kind === "DeleteVolume" && member.process !== "absent")
        throw new Broken(
          "I5",
          `the volume of ${action.member} is deleted while its process is ${member.process}`,
        );
      return;
    }
    case "CreateMember":
      if (action.record.boot === "New" && state.marks.established)
        throw new Broken("I3", `${action.member} is to found a cluster that exists`);
      return;
    case "MarkCluster":
      if (action.purpose === "new-life" && state.marks.established)
        throw new Broken("I3", "a cluster that exists is begun anew");
      return;
    case "UpdateOperation":
      // One at a time, in the order of their creation.
      if (seen.operation?.number !== operationNumber(action.operation))
        throw new Broken("operation", `${action.operation} is written while an earlier one has not finished`);
      if (action.status.phase === "Succeeded" && state === seen) judgeSuccess(state);
      return;
    case "UpdateMember": {
      const member = named(action.member);
      if (action.change.joined && member && !(member.data && entryOf(state, member)?.started))
        throw new Broken("H3", `${action.member} is marked as joined before it served`);
      return;
    }
    default:
  }
}

/** What it says of itself is so. */
function judgeSuccess(state: State): void {
  const { number, task, members = [] } = state.operation ?? {};
  const there = state.members.filter(({ ordinal }) => members.includes(ordinal));
  // One that fails afterwards was restarted all the same.
  const left = there.find(
    ({ leaving, stamped, from }) =>
      !leaving && !(stamped === number && (from === undefined || from.stamped === number)),
  );
  if (task?.kind === "restart" && left)
    throw new Broken("operation", `said to have restarted demo-${left.ordinal}, which runs as before`);
  if (task?.kind === "replaceMember" && there.length > 0)
    throw new Broken("operation", `said to have replaced demo-${task.target}, which is there`);
  if (task?.kind === "moveLeader" && members.length > 0 && !members.includes(state.etcd.leader))
    throw new Broken("operation", `said to have moved leadership, and demo-${state.etcd.leader} leads`);
}

/** R20: who leads hands over first, if there is somebody to take it who stays. */
function handedOver(state: State, member: Member, what: string): void {
  if (state.etcd.leader !== member.ordinal) return;
  const nextLeader = upVoters(state).find(
    (other) => other !== member && !other.leaving && !other.retiring && other.life === state.marks.life,
  );
  if (nextLeader)
    throw new Broken(
      "R20",
      `demo-${member.ordinal} leads and ${what}, and demo-${nextLeader.ordinal} could have taken over`,
    );
}

/** Of any state that is reached, whoever brought it about. */
export function judgeState(state: State, setting: Setting): void {
  const { etcd, members } = state;
  if (
    members.filter((member) => member.permitted && member.volume === "other" && member.process === "up")
      .length > 0
  )
    throw new Broken("I4", "a member runs on a volume that is not its own");
  if (
    etcd.list.some((entry) => !entry.learner && !members.some((m) => m.ordinal === entry.ordinal)) &&
    !state.deleting
  )
    throw new Broken("I5", "etcd counts a voter that has no record");
  const minors = members.filter((m) => voterIsUp(state, m)).map((m) => minorOfMember(m, setting));
  if (minors.length > 0 && Math.max(...minors) - Math.min(...minors) > 1)
    throw new Broken("R10", `versions ${minors.join(", ")} run together`);
}
