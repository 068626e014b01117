/**
 * What was decided and done, in order, for people: a bounded list that the terminal, `why` and tests read.
 */
import type { Act, Action } from "../core/action.ts";

/** What an action is for, where one kind of action serves several ends. */
export type StepPurpose =
  | Extract<Action, { readonly purpose: string }>["purpose"]
  | Extract<Action, { readonly kind: "ChangeAuth" }>["change"]["do"];

export interface TranscriptEntry {
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly rule: string;
  readonly kind: Action["kind"];
  readonly purpose?: StepPurpose;
  /** Kind and purpose as one word for people, such as `UpdateMember/roll`. */
  readonly step: string;
  readonly member?: string;
  readonly reason: string;
  /** Undefined when it was done. */
  readonly error?: string;
  readonly tookMs: number;
}

export function entryOf(act: Act, at: number, tookMs: number, error?: string): TranscriptEntry {
  return {
    at,
    rule: act.rule,
    kind: act.action.kind,
    ...purposeOf(act.action),
    step: stepName(act.action),
    ...memberOf(act.action),
    reason: act.message,
    ...(error !== undefined && { error }),
    tookMs,
  };
}

const MOST_ENTRIES = 500;

/** Not kept by an operator: of many clusters it is much, and events and the log tell it there. */
export class Transcript {
  readonly #entries: TranscriptEntry[] = [];

  add(entry: TranscriptEntry): void {
    this.#entries.push(entry);
    if (this.#entries.length > MOST_ENTRIES) this.#entries.shift();
  }

  /** Oldest first. */
  last(count: number): readonly TranscriptEntry[] {
    return this.#entries.slice(-count);
  }
}

export function stepName(action: Action): string {
  const { purpose } = purposeOf(action);
  return purpose === undefined ? action.kind : `${action.kind}/${purpose}`;
}

function purposeOf(action: Action): { purpose?: StepPurpose } {
  if (action.kind === "ChangeAuth") return { purpose: action.change.do };
  return "purpose" in action ? { purpose: action.purpose } : {};
}

function memberOf(action: Action): { member?: string } {
  return "member" in action ? { member: action.member } : {};
}

/** One line: what was done to whom, and why. */
export function describeEntry(entry: Pick<TranscriptEntry, "step" | "member" | "reason" | "error">): string {
  const what = entry.member === undefined ? entry.step : `${entry.step} ${entry.member}`;
  const failed = entry.error === undefined ? "" : ` – failed: ${entry.error}`;
  return `${what}: ${entry.reason}${failed}`;
}
