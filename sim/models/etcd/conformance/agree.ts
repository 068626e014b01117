/** When two answers are the same, and what of them is each side's own. */
import { isDeepStrictEqual } from "node:util";
import { memberIdOf } from "../ids.ts";
import type { Call, Outcome } from "./calls.ts";

export function agree(real: Outcome, model: Outcome): boolean {
  return isDeepStrictEqual(withoutOwn(real), withoutOwn(model));
}

/** Who gives up first, the caller or the member, is a race. */
export function isTimeout(outcome: Outcome): boolean {
  return !outcome.ok && ["deadline", "request-timed-out", "no-leader", "unavailable"].includes(outcome.error);
}

/** Without what is each side's own. */
function withoutOwn(outcome: Outcome): unknown {
  if (!outcome.ok) return { code: outcome.code, error: outcome.error };
  const { hash: _hash, term: _term, ...rest } = outcome.value;
  return JSON.parse(JSON.stringify(rest)) as unknown;
}

/** A read through the quorum: the member has applied all that was committed before. */
export const PROBE: Call = {
  kind: "range",
  key: "a",
  end: "",
  revision: 0,
  limit: 0,
  serializable: false,
  only: "count",
};

/** The second in which the real side gave this ID; without one, the time of the call. */
export function wallOf(call: Call, answer: Outcome, before: number, after: number): number {
  if (call.kind !== "add" || !answer.ok) return before;
  const id = String(answer.value["member"]).split(" ")[0];
  for (let second = Math.floor(before / 1_000); second <= Math.floor(after / 1_000); second++)
    if (memberIdOf(call.urls, "", second) === id) return second * 1_000;
  return before;
}

export function withoutLeader(outcome: Outcome): Outcome {
  if (!outcome.ok) return outcome;
  const { leader: _leader, ...value } = outcome.value;
  return { ok: true, value };
}
