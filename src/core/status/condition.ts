/**
 * How a condition is built, for clusters and members alike: a verdict with one word for machines and a sentence for
 * people, the generation it is about, and the time of its last transition, which is kept while its status stays.
 */
import type { Condition } from "../../api/metadata.ts";
import { stopped } from "../messages/words.ts";
import type { StatusReason } from "../messages/condition-reasons.ts";

export interface Verdict {
  readonly status: Condition["status"];
  readonly reason: StatusReason;
  readonly message: string;
}

const verdict = (status: Condition["status"]) => (reason: StatusReason, message: string) =>
  ({ status, reason, message }) satisfies Verdict;
export const yes = verdict("True");
export const no = verdict("False");
export const unknown = verdict("Unknown");

/** Of rows of a table of verdicts. */
const verdictOf =
  (status: Condition["status"]) =>
  ({ reason, message }: Omit<Verdict, "status">) =>
    verdict(status)(reason, message);
export const isTrue = verdictOf("True");
export const isFalse = verdictOf("False");
export const isUnknown = verdictOf("Unknown");

/** What a condition is about: which generation of the spec, and when it was seen. */
export interface SeenAt {
  readonly now: number;
  readonly generation: number | undefined;
}

export function condition(
  type: string,
  { status, reason, message }: Verdict,
  before: Condition | undefined,
  { now, generation }: SeenAt,
): Condition {
  const kept = before?.status === status ? before.lastTransitionTime : undefined;
  return {
    type,
    status,
    reason,
    message: sentence(message),
    lastTransitionTime: kept ?? timestamp(now),
    ...(generation !== undefined && { observedGeneration: generation }),
  };
}

export function findCondition(
  conditions: readonly Condition[] | undefined,
  type: string,
): Condition | undefined {
  return conditions?.find((known) => known.type === type);
}

/** Begins large, unless with a name, and ends with a stop. */
export function sentence(text: string): string {
  const [first = ""] = text.split(" ", 1);
  const isName = /[-.\d]/.test(first) || first === "etcd";
  const begun = isName ? text : text.charAt(0).toUpperCase() + text.slice(1);
  return stopped(begun);
}

/** As Kubernetes writes times: whole seconds, UTC. */
export function timestamp(milliseconds: number): string {
  return `${new Date(Math.floor(milliseconds / 1000) * 1000).toISOString().slice(0, 19)}Z`;
}
