/**
 * Replaces the key that members sign tokens with when it is as old as the spec permits. etcd reads one key, at its start
 * (R53): the next number on the cluster is what the rollout then starts every member with. While members differ, a token
 * of one is refused by another, and clients log in again; so it begins only while all are well, to be over soon.
 */
import { millisecondsOf } from "../../api/duration.ts";
import type { Outcome } from "../action.ts";
import { isSettled } from "../assess/settled.ts";
import { currentKeyOf, replaceTokenKey } from "../assess/token-key.ts";
import { signingKey } from "../auth/token.ts";
import { act } from "../steps/outcome.ts";
import type { Rule } from "../rule.ts";

export const rotateTokenKey: Rule = (view) => {
  if (!view.established || !view.hasQuorum) return [];
  const { tokenKey } = view.observation.cluster.marks;
  const { type, keyLifetime } = view.spec.auth?.token ?? {};
  if (type !== "JWT") {
    const isUsed = view.members.some(({ record }) => signingKey(record.template) !== undefined);
    return tokenKey === undefined || isUsed ? [] : [forget()];
  }
  if (keyLifetime === undefined) return [];
  const current = currentKeyOf(view);
  // Its age counts from when somebody began to ask for it.
  if (tokenKey?.number !== current) return [note(current, view.now)];
  const isDue = view.now >= tokenKey.since + millisecondsOf(keyLifetime);
  const areWell = view.members.every(
    (member) => isSettled(member) && signingKey(member.record.template) === current,
  );
  return isDue && areWell ? [replaceTokenKey(view, { since: tokenKey.since })] : [];
};

function note(number: number, since: number): Outcome {
  const change = { tokenKey: { number, since } };
  return act(
    "record",
    "TokenKeyNoted",
    { number },
    { kind: "MarkCluster", purpose: "note-token-key", change },
  );
}

function forget(): Outcome {
  const change = { tokenKey: undefined };
  return act("record", "TokenKeyForgotten", {}, { kind: "MarkCluster", purpose: "forget-token-key", change });
}
