/**
 * An operator without wires: observe, decide, do one thing, look again, on virtual time. It can die after
 * any effect; the next one starts with empty memory and finds its way by what it sees.
 */
import { isObjectAction } from "../../src/control/platform.ts";
import type { Failure } from "../../src/control/retries.ts";
import { shouldRun } from "../../src/core/assess/should-run.ts";
import type { Act, Action, Decision } from "../../src/core/action.ts";
import { decide } from "../../src/core/decide.ts";
import type { Observation } from "../../src/core/observation.ts";
import { reportOperations } from "../../src/core/operations/report.ts";
import { decideSnapshots } from "../../src/core/snapshots/decide.ts";
import { snapshotWorld } from "../../src/core/snapshots/world.ts";
import { viewOf, type MemberView, type View } from "../../src/core/view.ts";
import { Refusal } from "../models/etcd/refusal.ts";
import type { Scheduled, Scheduler } from "../engine/scheduler.ts";
import { OperatorCrash, ReplyLost, type Effects } from "./effects.ts";
import { execute, type Hands } from "./execute.ts";
import { Conflict } from "./objects.ts";
import { Memory, observe } from "./observe.ts";

export interface OperatorEvents {
  /** Before a step is carried out. */
  onStep(act: Act, view: View): void;
  onStepDone(act: Act, view: View, failure: string | undefined): void;
  onPass(decision: Decision, observation: Observation): void;
  onCrash(reason: string): void;
}

const STEP_MS = 2;
const BUSY_MS = 250;
const CONVERGED_MS = 30_000;
/** Between an operator's death and its successor. */
const AWAY_MS = 1_500;

export class Operator {
  passes = 0;
  readonly #hands: Omit<Hands, "memory">;
  #memory = new Memory();
  readonly #effects: Effects;
  readonly #scheduler: Scheduler;
  readonly #now: () => number;
  readonly #events: OperatorEvents;
  #next: { at: number; event: Scheduled } | undefined;
  #alive = true;

  constructor(around: {
    hands: Omit<Hands, "memory">;
    effects: Effects;
    scheduler: Scheduler;
    now: () => number;
    events: OperatorEvents;
  }) {
    this.#hands = around.hands;
    this.#effects = around.effects;
    this.#scheduler = around.scheduler;
    this.#now = around.now;
    this.#events = around.events;
  }

  /** Something happened: look soon. */
  wake(): void {
    if (this.#alive) this.#passAt(this.#scheduler.now + STEP_MS);
  }

  /** Dies, and is followed by another operator that knows nothing. */
  crash(reason: string): void {
    if (!this.#alive) return;
    this.#alive = false;
    this.#next?.event.cancel();
    this.#next = undefined;
    this.#memory = new Memory();
    this.#events.onCrash(reason);
    this.#scheduler.after(AWAY_MS, () => {
      this.#alive = true;
      this.wake();
    });
  }

  #passAt(time: number): void {
    if (this.#next && this.#next.at <= time) return;
    this.#next?.event.cancel();
    const event = this.#scheduler.at(time, () => {
      this.#next = undefined;
      this.#pass();
    });
    this.#next = { at: time, event };
  }

  #pass(): void {
    try {
      this.passes++;
      this.#passAt(this.#scheduler.now + this.#turn());
    } catch (error) {
      if (!(error instanceof OperatorCrash)) throw error;
      this.crash(error.message);
    }
  }

  /** One turn; returns after how long the next is due. */
  #turn(): number {
    const { objects, pods, calls } = this.#hands;
    const view = viewOf(observe(objects, pods, calls, this.#memory, this.#now()));
    const decision = decide(view.observation);
    this.#events.onPass(decision, view.observation);
    const step = this.#step(decision.act, view);
    if (step === "done") return STEP_MS;
    if (this.#applyOrFail(view)) return STEP_MS;
    if (this.#report(view, decision)) return STEP_MS;
    if (this.#keepSnapshots(view, decision)) return STEP_MS;
    const due = [decision.lookAgainAt, step?.retryAt].flatMap((at) =>
      at === undefined ? [] : [at - this.#now()],
    );
    return Math.max(10, Math.min(decision.converged ? CONVERGED_MS : BUSY_MS * 20, ...due));
  }

  /** Done, or the failure because of which it waits. */
  #step(act: Act | undefined, view: View): "done" | Failure | undefined {
    const { retries } = this.#memory;
    retries.keepOnly(act?.action, this.#now());
    if (!act) return undefined;
    const waiting = retries.waiting(act.action, this.#now());
    if (waiting) return waiting;
    this.#events.onStep(act, view);
    try {
      const hands = { ...this.#hands, memory: this.#memory };
      this.#effects.run(stepName(act), () => execute(hands, view, act.action));
    } catch (error) {
      if (error instanceof OperatorCrash) {
        this.#events.onStepDone(act, view, undefined);
        throw error;
      }
      if (error instanceof Conflict) return "done";
      if (!(error instanceof Refusal) && !(error instanceof ReplyLost)) throw error;
      this.#events.onStepDone(act, view, error.message);
      this.#noteOperation(act.action, error.message);
      return retries.failed(act.action, error, this.#now());
    }
    retries.succeeded(act.action);
    this.#noteOperation(act.action);
    this.#events.onStepDone(act, view, undefined);
    return "done";
  }

  #noteOperation(action: Action, error?: string): void {
    if (isObjectAction(action) || !("operation" in action) || action.operation === undefined) return;
    const { operationFailures } = this.#memory;
    const count = (operationFailures.get(action.operation)?.count ?? 0) + 1;
    if (error === undefined) operationFailures.delete(action.operation);
    else operationFailures.set(action.operation, { count, error });
  }

  /** Why operations wait, and reports; the words alone are no reason to write. */
  #report(view: View, decision: Decision): boolean {
    const { objects } = this.#hands;
    const reported = reportOperations(view, decision, undefined).filter(({ wordsOnly }) => !wordsOnly);
    for (const { write } of reported) {
      const { operation, resourceVersion, status } = write;
      try {
        this.#effects.run(`report ${operation}`, () => objects.report(operation, resourceVersion, status));
      } catch (error) {
        if (!(error instanceof ReplyLost) && !(error instanceof Conflict)) throw error;
      }
    }
    return reported.length > 0;
  }

  #keepSnapshots(view: View, decision: Decision): boolean {
    const { snapshots } = view.observation;
    if (!snapshots) return false;
    const { effects } = decideSnapshots(snapshotWorld(view, snapshots, decision));
    for (const effect of effects) {
      try {
        this.#effects.run(`snapshot ${effect.kind}`, () => this.#hands.objects.backups.execute(effect));
      } catch (error) {
        if (!(error instanceof ReplyLost)) throw error;
      }
    }
    return effects.length > 0;
  }

  /** A lost answer ends the turn; the next one comes soon and sees what was done. */
  #applyOrFail(view: View): boolean {
    try {
      return this.#apply(view);
    } catch (error) {
      if (!(error instanceof ReplyLost)) throw error;
      return true;
    }
  }

  /** Objects that simply have to exist, from the records. */
  #apply(view: View): boolean {
    const { objects, pods } = this.#hands;
    if (view.spec.paused || view.observation.cluster.deleting) return false;
    objects.openToClients();
    let changed = false;
    const effect = (name: string, run: () => boolean | void) => {
      changed = this.#effects.run(name, run) !== false || changed;
    };
    for (const member of view.members) {
      const record = objects.records.get(member.name);
      if (!record) continue;
      if (needsVolume(objects, member)) effect(`volume ${member.name}`, () => objects.ensureVolume(record));
      if (objects.ensureConfig(record)) effect(`config ${member.name}`, () => true);
      const volume = objects.volumes.get(member.name);
      if (
        member.workload.state === "absent" &&
        volume &&
        !objects.refusing &&
        shouldRun(view.observation, member)
      ) {
        effect(`start ${member.name}`, () => pods.create(record, volume));
      }
    }
    for (const name of pods.names()) {
      if (!objects.records.has(name) && pods.facts(name).state !== "stopping") {
        effect(`collect ${name}`, () => pods.stop(name));
      }
    }
    return changed;
  }
}

function needsVolume({ volumes }: Hands["objects"], { record }: MemberView): boolean {
  return record.volumeUID === undefined && !record.leaving && !volumes.has(record.name);
}

export function stepName({ action }: Act): string {
  const what = "purpose" in action ? `${action.kind}/${action.purpose}` : action.kind;
  return "member" in action ? `${what} ${action.member}` : what;
}
