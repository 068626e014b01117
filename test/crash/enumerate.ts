/**
 * Interrupts an operation after each of its effects, or after some of them, and compares what the next
 * controller makes of it with what an undisturbed one does.
 */
import assert from "node:assert/strict";
import type { View } from "../../src/core/view.ts";
import { CrashLab, type EndState } from "./lab.ts";
import type { Circle, Operation } from "./operations.ts";

export interface OperationCounts {
  readonly operation: string;
  /** Of the undisturbed run. */
  readonly effects: number;
  tried: number;
  readonly failures: { readonly after: number; readonly effect: string; readonly message: string }[];
  ms: number;
}

export interface Choice {
  /** Only every so many effects, beginning with `first`. */
  readonly stride: number;
  readonly first: number;
  /** Ends it after the present try. */
  readonly signal?: AbortSignal;
  readonly onTry?: (operation: string, after: number, effect: string, ms: number, failure?: string) => void;
}

interface Known {
  readonly operation: Operation;
  readonly state: EndState;
  readonly counts: OperationCounts;
  done: boolean;
}

/** Goes round the circle, one effect further each time, until every operation ends before it is killed. */
export async function enumerate({ spec, operations }: Circle, choice: Choice): Promise<OperationCounts[]> {
  const creates = operations.some(({ name }) => name === "create");
  const ways: Known[] = [];
  let lab: CrashLab | undefined;
  let view: View | undefined;
  let fit = true;
  /** A new cluster, as it is before the operation of this index. */
  const fresh = async (index: number) => {
    await lab?.[Symbol.asyncDispose]();
    lab = undefined;
    lab = await CrashLab.open(spec);
    view = creates ? undefined : await lab.converge();
    for (const { ask } of operations.slice(0, index)) {
      if (view) await ask(lab, view);
      view = await lab.converge();
    }
    return lab;
  };
  try {
    for (const operation of operations) {
      const here = creates || !lab ? await fresh(0) : lab;
      if (view?.hasQuorum) await here.write();
      const began = performance.now();
      const before = view;
      if (before) await operation.ask(here, before);
      const { effects } = await here.crashAfter(0);
      view = await here.converge();
      const counts = { operation: operation.name, effects: effects.length, tried: 0, failures: [], ms: 0 };
      counts.ms += performance.now() - began;
      ways.push({ operation, state: await here.state(view, before), counts, done: false });
    }
    for (let after = choice.first; ways.some(({ done }) => !done); after += choice.stride) {
      for (const [index, way] of ways.entries()) {
        if (choice.signal?.aborted) return ways.map(({ counts }) => counts);
        const here = creates || !fit || !lab ? await fresh(index) : lab;
        fit = await attempt(here, way, after);
      }
    }
    return ways.map(({ counts }) => counts);
  } finally {
    await lab?.[Symbol.asyncDispose]();
  }

  /** False: the cluster is not fit for another one. */
  async function attempt(here: CrashLab, way: Known, after: number): Promise<boolean> {
    const began = performance.now();
    const before = view;
    let effect = "";
    let failure: string | undefined;
    try {
      if (before?.hasQuorum) await here.write();
      if (before) await way.operation.ask(here, before);
      const { effects, crashed } = await here.crashAfter(way.done ? 0 : after);
      way.done ||= !crashed;
      effect = crashed ? (effects.at(-1) ?? "") : "(none)";
      view = await here.converge();
      assert.deepEqual(await here.state(view, before), way.state);
    } catch (error) {
      failure = error instanceof Error ? error.message : String(error);
    }
    const ms = performance.now() - began;
    way.counts.ms += ms;
    if (effect !== "(none)" || failure !== undefined) {
      way.counts.tried++;
      if (failure !== undefined) way.counts.failures.push({ after, effect, message: failure });
      choice.onTry?.(way.operation.name, after, effect, ms, failure);
    }
    return failure === undefined;
  }
}
