/**
 * Breadth-first search over every state that a cluster can get into: after each the operator may act, anything in
 * the world may go on, something may fail, a person may edit, or an operator may act on what one object was
 * before. Each state and each step is judged; then it is asked from which states the goal cannot be reached
 * without another fault, and whether the operator can go round in a circle.
 */
import { decide } from "../../../src/core/decide.ts";
import type { Decision } from "../../../src/core/action.ts";
import { describeStep } from "../../../src/core/messages/step-names.ts";
import { systemClock } from "../../../src/seams/clock.ts";
import { effect } from "./effects.ts";
import type { Family } from "./families.ts";
import { Graph, type EdgeKind } from "./graph.ts";
import { judgeDecision, judgeState, judgeStep } from "./judge.ts";
import { observe, specIn, specOf, type Setting } from "./observe.ts";
import { staleViews } from "./stale.ts";
import { keyOf, ranked, Templates, type State } from "./state.ts";
import { Broken, type Step } from "./step.ts";
import { dataIsLost, entryOf, hasQuorum, isUp, votersOf } from "./truth.ts";
import { editSteps, faultSteps, settleSteps, TIME } from "./world.ts";

export interface Finding {
  readonly what: string;
  /** The shortest way there, then what happens. */
  readonly path: readonly string[];
}

export interface Found {
  readonly family: string;
  readonly states: number;
  readonly transitions: number;
  readonly depth: number;
  /** False: the limit came first, and what lies beyond was not looked at. */
  readonly complete: boolean;
  readonly violations: readonly Finding[];
  readonly deadEnds: number;
  readonly livelocks: number;
  /** A few of the dead ends and circles, told in full. */
  readonly examples: readonly Finding[];
  readonly ms: number;
}

export interface Limits {
  readonly states?: number;
  readonly ms?: number;
}

const MOST_TOLD = 3;
const MOST_STEPS = 1_000;

export function search(family: Family, limits: Limits = {}): Found {
  return new Search(family, limits).run();
}

class Search {
  readonly #family: Family;
  readonly #limits: Limits;
  readonly #setting: Setting;
  readonly #graph = new Graph();
  readonly #known = new Map<string, number>();
  readonly #violations = new Map<string, Finding>();
  #queue: { id: number; state: State }[] = [];
  #later: { id: number; state: State }[] = [];
  #transitions = 0;

  constructor(family: Family, limits: Limits) {
    this.#family = family;
    this.#limits = limits;
    this.#setting = { specs: family.specs.map(specOf), templates: new Templates() };
  }

  run(): Found {
    const began = systemClock.monotonic();
    const { states: most = Infinity, ms: longest = Infinity } = this.#limits;
    this.#reach(-1, "", this.#begin());
    let depth = 0;
    let expanded = 0;
    let complete = true;
    while (this.#later.length > 0 && complete) {
      this.#queue = this.#later;
      this.#later = [];
      for (const { id, state } of this.#queue) {
        if (expanded >= most || systemClock.monotonic() - began > longest) {
          complete = false;
          break;
        }
        expanded++;
        this.#expand(id, state);
      }
      depth++;
    }
    // With a limit, only states that were gone on from are known to have no way out.
    const deadEnds = complete ? this.#graph.deadEnds(() => true) : [];
    const livelocks = this.#graph.livelocks();
    const reported = (what: string, ids: readonly number[]): Finding[] =>
      ids.slice(0, MOST_TOLD).map((id) => ({ what, path: this.#graph.pathTo(id) }));
    return {
      family: this.#family.name,
      states: this.#graph.size,
      transitions: this.#transitions,
      depth,
      complete,
      violations: [...this.#violations.values()],
      deadEnds: deadEnds.length,
      livelocks: livelocks.length,
      examples: [...reported("dead end", deadEnds), ...reported("goes round in a circle", livelocks)],
      ms: systemClock.monotonic() - began,
    };
  }

  #begin(): State {
    const { faults, edits, settled } = this.#family;
    let state: State = {
      spec: 0,
      deleting: false,
      finished: false,
      marks: { life: 1, established: false, highest: 0, batch: false },
      members: [],
      etcd: { list: [], leader: 0, version: 0, downgrade: 0 },
      blind: false,
      faults,
      edits,
      asked: 0,
    };
    for (let steps = 0; settled; steps++) {
      if (steps > MOST_STEPS) throw new RangeError(`${this.#family.name} does not settle`);
      const { act, converged } = decide(observe(state, this.#setting));
      const own = act && effect(state, state, act.action, this.#setting);
      const next = own ?? settleSteps(state, this.#setting).find(({ label }) => label !== TIME)?.next;
      if (next === undefined && converged) break;
      if (next === undefined) throw new RangeError(`${this.#family.name} does not settle by itself`);
      state = next;
    }
    return state;
  }

  #reach(parent: number, label: string, unranked: State): number {
    const state = ranked(unranked);
    const key = keyOf(state);
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const id = this.#graph.addState(parent, label);
    this.#known.set(key, id);
    this.#later.push({ id, state });
    this.#judge(id, "", () => judgeState(state, this.#setting));
    return id;
  }

  /** Undefined, and a finding, when what was judged is broken. */
  #judge<T>(id: number, label: string, judged: () => T): T | undefined {
    try {
      return judged();
    } catch (error) {
      if (!(error instanceof Broken)) throw error;
      const what = error.message.replaceAll(/demo-\d+/g, "a member");
      if (!this.#violations.has(what))
        this.#violations.set(what, {
          what: error.message,
          path: [...this.#graph.pathTo(id), ...(label ? [label] : [])],
        });
      return undefined;
    }
  }

  #expand(id: number, state: State): void {
    if (state.finished) {
      this.#graph.goals.add(id);
      return;
    }
    const setting = this.#setting;
    const observation = observe(state, setting);
    const decision = decide(observation);
    const steps: Step[] = [];
    const { act } = decision;
    if (act) {
      const label = `operator: ${describeStep(act)} (${act.rule})`;
      this.#judge(id, label, () => {
        judgeDecision(observation, act.action);
        judgeStep(state, state, act.action, setting);
      });
      const next = effect(state, state, act.action, setting);
      if (next) {
        this.#edge(id, label, next, "own");
        steps.push({ label, next });
      }
    } else if (this.#isGoal(id, state, decision)) this.#graph.goals.add(id);
    for (const step of this.#judge(id, "the world goes on", () => settleSteps(state, setting)) ?? []) {
      this.#edge(id, step.label, step.next, step.label === TIME ? "time" : "world");
      steps.push(step);
    }
    const edits = editSteps(state, setting, this.#family);
    for (const { label, next } of [...edits, ...faultSteps(state, setting, this.#family.blind)]) {
      this.#transitions++;
      this.#reach(id, label, next);
    }
    if (state.faults > 0) for (const step of [...steps, ...edits]) this.#stale(id, state, step);
  }

  #edge(from: number, label: string, next: State, kind: EdgeKind): void {
    this.#transitions++;
    this.#graph.addEdge(from, this.#reach(from, label, next), kind);
  }

  /** One step taken on what was, of an operator that has just begun or whose cache lags. */
  #stale(id: number, before: State, { label, next: after }: Step): void {
    for (const { object, seen } of staleViews(before, after)) {
      const { act } = decide(observe(seen, this.#setting));
      if (!act) continue;
      const next = effect(after, seen, act.action, this.#setting);
      if (!next) continue;
      const words = `${label}; ! operator, seeing ${object} as it was: ${describeStep(act)} (${act.rule})`;
      this.#judge(id, words, () => judgeStep(after, seen, act.action, this.#setting));
      this.#transitions++;
      this.#reach(id, words, { ...next, faults: next.faults - 1 });
    }
  }

  /** At rest as asked for; or a person is told what to do, and truly nobody else could. */
  #isGoal(id: number, state: State, { converged, holds }: Decision): boolean {
    const spec = specIn(state, this.#setting);
    if (converged) {
      const wrong =
        spec.replicas === 0 ? awake(state) : unlike(state, spec.replicas, spec.version, this.#setting);
      if (wrong === undefined) return true;
      // It may say so a moment early, before what was started is up; but not when nothing is under way.
      if (settleSteps(state, this.#setting).length === 0)
        this.#judge(id, "", () => {
          throw new Broken("I6", `said to be converged, and ${wrong}`);
        });
      return false;
    }
    const needsPerson = holds.some((hold) => hold.next !== undefined && hold.classes.length > 0);
    const failed = holds.some((hold) => hold.reason === "TargetFailed") && hasQuorum(state);
    return needsPerson && (dataIsLost(state) || failed);
  }
}

function awake({ members }: State): string | undefined {
  const up = members.find(({ process }) => process !== "absent");
  return up && `demo-${up.ordinal} is ${up.process}`;
}

function unlike(state: State, replicas: number, version: string, { templates }: Setting): string | undefined {
  const voters = votersOf(state).length;
  if (voters !== replicas) return `${voters} vote where ${replicas} should`;
  if (state.members.length !== replicas) return `there are ${state.members.length} records`;
  for (const member of state.members) {
    if (!isUp(state, member) || !hasQuorum(state)) return `demo-${member.ordinal} is not up`;
    if (!member.joined || member.leaving || member.retiring)
      return `the record of demo-${member.ordinal} is not at rest`;
    if (templates.get(member.from?.template ?? 0).version !== version)
      return `demo-${member.ordinal} runs another version`;
    if (!entryOf(state, member)) return `etcd does not list demo-${member.ordinal}`;
  }
  return undefined;
}
