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

const MOST_ENTRIES = 500;

export class Transcript {
  readonly #entries: TranscriptEntry[] = [];
  readonly #listeners = new Set<(entry: TranscriptEntry) => void>();

  add(act: Act, at: number, tookMs: number, error?: string): void {
    const entry: TranscriptEntry = {
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
    this.#entries.push(entry);
    if (this.#entries.length > MOST_ENTRIES) this.#entries.shift();
    for (const listener of this.#listeners) listener(entry);
  }

  /** Oldest first. */
  last(count: number): readonly TranscriptEntry[] {
    return this.#entries.slice(-count);
  }

  /** Returns how to stop listening. */
  listen(listener: (entry: TranscriptEntry) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
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
