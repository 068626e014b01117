/**
 * What a run reached, as words: which rule decided what, and what it waited for, under which fault or edit; the steps;
 * conditions with their reasons; how processes ended; and which decision followed which. Only what runs have anyway.
 */
import type { Condition } from "../../src/api/metadata.ts";
import type { Decision } from "../../src/core/action.ts";
import type { Observation } from "../../src/core/observation.ts";

interface Looked {
  readonly decision: Decision;
  readonly observation: Observation;
  readonly conditions?: readonly Condition[] | undefined;
}

export class Features {
  readonly seen = new Set<string>();
  #cause = "nothing";
  #before = "";

  /** What was done to the cluster last; all until the next is held against it. */
  under(cause: string): void {
    this.#cause = cause;
  }

  note({ decision, observation, conditions = [] }: Looked): void {
    const { seen } = this;
    const { act, holds } = decision;
    if (act) {
      seen.add(`step ${stepOf(decision)}`);
      seen.add(`${act.rule} does ${stepOf(decision)} under ${this.#cause}`);
    }
    for (const { rule, reason } of holds) seen.add(`${rule} waits for ${reason} under ${this.#cause}`);
    for (const { type, status, reason } of conditions) seen.add(`condition ${type} ${status} ${reason}`);
    for (const { workload } of observation.members)
      if (workload.state === "exited") seen.add(`exit ${workload.cause} under ${this.#cause}`);
    const now = decidedOf(decision);
    if (now !== this.#before) seen.add(`${this.#before} then ${now}`);
    this.#before = now;
  }
}

function stepOf({ act }: Decision): string {
  if (!act) return "";
  const { action } = act;
  return "purpose" in action ? `${action.kind} ${action.purpose}` : action.kind;
}

function decidedOf(decision: Decision): string {
  const { act, holds, converged } = decision;
  if (act) return `${act.rule} ${stepOf(decision)}`;
  return converged ? "rest" : `${holds[0]?.rule} ${holds[0]?.reason}`;
}

/** A deed in a word or two: what kind it is, and of an edit which fields, but not of whom or for how long. */
export function causeOf(deed: {
  readonly do: string;
  readonly fault?: string;
  readonly change?: object;
  readonly cache?: string;
}): string {
  const { fault, change, cache } = deed;
  return [deed.do, fault ?? cache ?? Object.keys(change ?? {}).join("+")].join(" ");
}
