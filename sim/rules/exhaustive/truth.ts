/** What is so, whatever anybody sees of it: who is up, who votes, is there quorum. Counted here by itself. */
import type { Entry, Member, State } from "./state.ts";

export function entryOf(state: State, member: Member): Entry | undefined {
  return state.etcd.list.find(({ ordinal }) => ordinal === member.ordinal);
}

/** Its process serves, in the cluster of this life. A founder alone does not: nobody leads yet. */
export function isUp(state: State, member: Member): boolean {
  return (
    member.process === "up" && member.data && member.life === state.marks.life && state.etcd.list.length > 0
  );
}

export function votersOf(state: State): readonly Entry[] {
  return state.etcd.list.filter(({ learner }) => !learner);
}

export function voterIsUp(state: State, member: Member): boolean {
  return isUp(state, member) && entryOf(state, member)?.learner === false;
}

export function upVoters(state: State): readonly Member[] {
  return state.members.filter((member) => voterIsUp(state, member));
}

export const majorityOf = (count: number) => Math.floor(count / 2) + 1;

export function hasQuorum(state: State): boolean {
  const voters = votersOf(state).length;
  return voters > 0 && upVoters(state).length >= majorityOf(voters);
}

/** Too many voters have lost what they had: only a person can help. One that has not begun has lost nothing. */
export function dataIsLost(state: State): boolean {
  const voters = votersOf(state);
  const lost = voters.filter(
    ({ ordinal, started }) => started && !state.members.some((m) => m.ordinal === ordinal && m.data),
  );
  return voters.length > 0 && voters.length - lost.length < majorityOf(voters.length);
}
