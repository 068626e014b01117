/**
 * The control loop of one cluster: observe, decide, do one thing, look again. One serial worker; it never
 * sleeps inside a pass, wakes on events, and otherwise looks again when something can have changed.
 */
import type { EtcdClusterStatus } from "../api/etcd-cluster-status.ts";
import type { Act, Action, Decision, Hold } from "../core/action.ts";
import { reportAuth } from "../core/auth/report.ts";
import { decide } from "../core/decide.ts";
import type { Observation } from "../core/observation.ts";
import { sameHolds } from "../core/steps/outcome.ts";
import { awaitsPoint, snapshotWorld } from "../core/snapshots/world.ts";
import { viewOf, type View } from "../core/view.ts";
import type { Clock } from "../seams/clock.ts";
import { execute } from "./execute.ts";
import { Forecast } from "./forecast.ts";
import { Glance } from "./glance.ts";
import { Observer } from "./observe.ts";
import { OperationReporter } from "./operations.ts";
import { NO_SNAPSHOTS, SnapshotKeeper } from "./snapshots.ts";
import { Conflict, isObjectAction, together, type Applied, type Platform } from "./platform.ts";
import { problemOf, type Problem } from "./problem.ts";
import { passStatus } from "./status.ts";
import { Retries, type Failure } from "./retries.ts";
import { entryOf, type TranscriptEntry } from "./transcript.ts";
import { Waker } from "./waker.ts";

/** One turn of the loop, as others may look at it. */
export interface Pass {
  readonly number: number;
  readonly observation: Observation;
  readonly decision: Decision;
  /** The decided step failed before and waits for its next try. */
  readonly failure?: Failure | undefined;
  /** What could not be made or looked at. */
  readonly problems: readonly Problem[];
  readonly status: EtcdClusterStatus;
}

export interface LoopOptions {
  readonly platform: Platform;
  readonly clock: Clock;
  /**
   * Called right before each step and before objects are applied; throws when nothing may be done any more.
   * The pass ends with what it throws.
   */
  readonly beforeEffect?: () => void;
  /** When a cluster is looked at again that has nothing to do; events come on top. */
  readonly restMs?: () => number;
  /** How long short looks may stand for a whole one; without it, each look is a whole one. */
  readonly wholeMs?: () => number;
  /** Called after each step that was tried; must not throw. */
  readonly onStep?: (entry: TranscriptEntry) => void;
  /** Called at the end of every pass; must not throw. */
  readonly onPass?: (pass: Pass) => void;
  /** A pass that failed as a whole: the loop goes on. */
  readonly onTrouble?: (error: unknown) => void;
}

/** Whether the decided step was carried out, or why not. */
interface Stepped {
  readonly done: boolean;
  readonly failure?: Failure;
}

const NOTHING_APPLIED: Applied = { changed: false, problems: [] };
/** Steps in a row after which the objects get their turn although there is another step to take. */
const MOST_STEPS_IN_A_ROW = 8;
const TROUBLE_MS = 1_000;
const CONVERGED_MS = 2_000;
/** Something was made just now: what follows from it can be decided at once. */
const SOON_MS = 10;
/** While something is on its way, look often at first, then less: most waits end soon or last long. */
const PACES = [
  { forMs: 10_000, everyMs: 100 },
  { forMs: 60_000, everyMs: 250 },
  { forMs: Number.POSITIVE_INFINITY, everyMs: 1_000 },
] as const;

export class Loop {
  readonly observer: Observer;
  readonly #options: LoopOptions;
  readonly #waker: Waker;
  readonly #retries = new Retries();
  readonly #forecast = new Forecast();
  readonly #operations: OperationReporter;
  readonly #snapshots: SnapshotKeeper;
  readonly #glance: Glance;
  #latest: Pass | undefined;
  #passes = 0;
  #stepsInARow = 0;
  /** When anything last moved, by the monotonic clock. */
  #movedAt: number;
  #holds: readonly Hold[] = [];

  constructor(options: LoopOptions) {
    this.#options = options;
    this.observer = new Observer(options.platform, options.clock);
    this.#glance = new Glance(options.platform, this.observer.client, options.clock, (answer, at) =>
      this.observer.noteRead(answer, at),
    );
    this.#operations = new OperationReporter(options.platform, options.clock);
    this.#snapshots = new SnapshotKeeper(
      async (effect) => await options.platform.executeSnapshot?.(effect),
      options.clock,
    );
    this.#waker = new Waker(options.clock);
    this.#movedAt = options.clock.monotonic();
  }

  get latest(): Pass | undefined {
    return this.#latest;
  }

  /** Something happened: look now. */
  wake(): void {
    this.#waker.wake();
  }

  /** Runs until the signal aborts or the cluster is gone. Never rejects because of the world. */
  async run(signal: AbortSignal): Promise<"stopped" | "gone"> {
    while (!signal.aborted) {
      let waitMs = TROUBLE_MS;
      try {
        const next = await this.pass();
        if (next === "gone") return "gone";
        waitMs = next;
      } catch (error) {
        this.#options.onTrouble?.(error);
      }
      await this.#waker.wait(waitMs, signal);
    }
    return "stopped";
  }

  /** One turn. Returns after how many milliseconds the next one is due. */
  async pass(): Promise<number | "gone"> {
    const restMs = await this.#glance.look();
    return restMs > 0 ? Math.max(SOON_MS, Math.min(restMs, this.#restMs())) : await this.#whole();
  }

  async #whole(): Promise<number | "gone"> {
    const seen = await this.observer.observe();
    if (seen === undefined) return "gone";
    const snapshots = this.#snapshots.stateWithFailures(seen.snapshots);
    const observation = snapshots ? { ...seen, snapshots } : seen;
    const view = viewOf(observation);
    const decision = decide(observation);
    // After a step the view is of the past: from it, objects of a member that was just deleted would be made anew.
    const objectsTurn = this.#stepsInARow >= MOST_STEPS_IN_A_ROW;
    const step: Stepped = objectsTurn ? { done: false } : await this.#step(view, decision);
    const applied = step.done ? NOTHING_APPLIED : await this.#apply(view);
    if (step.done) this.#stepsInARow++;
    this.#note(decision, step.done || applied.changed);
    // After a step nothing was applied, and what could not be made before is not made now either.
    const problems = step.done ? (this.#latest?.problems ?? []) : applied.problems;
    const facts = { observation, decision, failure: step.failure, problems };
    const { platform, clock } = this.#options;
    const plan = this.#forecast.stepsFor(observation, decision, clock.monotonic());
    const previous = this.#latest?.status ?? platform.lastStatus?.();
    const status = await passStatus(platform, { ...facts, plan }, previous);
    const pass: Pass = { number: ++this.#passes, ...facts, status };
    await platform.report(status, view, step.done || applied.changed);
    // After a step the view is of the past, and the record of an operation may be newer.
    if (!step.done && observation.operations.length > 0) await this.#reportOperations(view, decision, status);
    if (!step.done && observation.auth) await this.#reportUsers(view);
    const kept = await this.#keepSnapshots(view, decision);
    this.#options.onPass?.(pass);
    const all = together(applied, kept);
    const goesOn = step.done || objectsTurn || all.changed;
    const rests =
      !goesOn &&
      decision.converged &&
      !step.failure &&
      problems.length === 0 &&
      this.#glance.rest(observation, Math.min(this.#options.wholeMs?.() ?? 0, this.#dueMs(pass, all)));
    // While short looks stand for whole ones, the status that was written says all of it; of many clusters it is much.
    this.#latest = rests ? undefined : pass;
    return this.#delay(pass, step.done || objectsTurn, all);
  }

  async #step(view: View, decision: Decision): Promise<Stepped> {
    const { act } = decision;
    const { clock } = this.#options;
    this.#retries.keepOnly(act?.action, clock.monotonic());
    if (!act) return { done: false };
    const waiting = this.#retries.waiting(act.action, clock.monotonic());
    if (waiting) return { done: false, failure: waiting };
    this.#options.beforeEffect?.();
    const began = clock.monotonic();
    const took = () => Math.round(clock.monotonic() - began);
    try {
      await execute({ platform: this.#options.platform, observer: this.observer, clock }, view, act.action);
    } catch (error) {
      const failure = this.#retries.failed(act.action, error, clock.monotonic());
      // Changed meanwhile: that says nothing about the next try.
      if (!(error instanceof Conflict)) this.#noteOperation(act.action, failure.message);
      // The same again and again would push everything else out of sight.
      if (!failure.repeated) this.#tell(act, took(), failure.message);
      return { done: false, failure };
    }
    this.#retries.succeeded(act.action);
    this.#noteOperation(act.action);
    // A joiner that never serves has to run into its deadline, however often it was nudged.
    if (act.action.kind !== "NudgeLog") this.observer.progressed();
    this.#tell(act, took());
    return { done: true };
  }

  #tell(act: Act, tookMs: number, error?: string): void {
    const { clock, onStep } = this.#options;
    onStep?.(entryOf(act, clock.now(), tookMs, error));
  }

  /** Calls to etcd that an operation asked for: it fails when they keep failing. One that cannot be recorded waits. */
  #noteOperation(action: Action, error?: string): void {
    if (action.kind === "UpdateOperation" || action.kind === "DeleteOperation")
      this.observer.rememberRecording(action.operation, error);
    const isCounted =
      !isObjectAction(action) || action.kind === "RescueData" || action.kind === "FetchSnapshot";
    if (!isCounted || !("operation" in action) || action.operation === undefined) return;
    this.observer.rememberOperation(action.operation, error);
  }

  /** Whatever else is the case with the cluster: a snapshot changes nothing in it. */
  async #keepSnapshots(view: View, decision: Decision): Promise<Applied> {
    const { snapshots, platform } = view.observation;
    if (platform.fenced || (!snapshots && !awaitsPoint(decision))) return NOTHING_APPLIED;
    const world = snapshotWorld(view, snapshots ?? NO_SNAPSHOTS, decision);
    const { beforeEffect, onTrouble } = this.#options;
    const kept = await this.#snapshots.keep(world, beforeEffect);
    for (const failure of kept.failures) onTrouble?.(failure);
    return { ...kept, problems: [] };
  }

  async #reportOperations(view: View, decision: Decision, status: EtcdClusterStatus): Promise<void> {
    const { beforeEffect, onTrouble } = this.#options;
    const failures = await this.#operations.report(view, decision, status, beforeEffect);
    for (const failure of failures) onTrouble?.(failure);
  }

  async #reportUsers(view: View): Promise<void> {
    const { platform, beforeEffect, onTrouble } = this.#options;
    for (const write of reportAuth(view)) {
      beforeEffect?.();
      try {
        await platform.execute(write);
      } catch (error) {
        // Changed or deleted meanwhile: the next pass sees it as it is.
        if (!(error instanceof Conflict)) onTrouble?.(error);
      }
    }
  }

  /** A cluster that stands still gets nothing new, and keeps what runs; one that is deleted wants neither. */
  async #apply(view: View): Promise<Applied> {
    this.#stepsInARow = 0;
    const { cluster, platform } = view.observation;
    if (platform.fenced || cluster.deleting) return NOTHING_APPLIED;
    const { platform: on, beforeEffect } = this.#options;
    beforeEffect?.();
    const made = standsStill(view) ? NOTHING_APPLIED : await orProblem(() => on.apply(view));
    if (!on.keepRunning) return made;
    beforeEffect?.();
    return together(made, await orProblem(() => on.keepRunning?.(view)));
  }

  #note(decision: Decision, moved: boolean): void {
    // Time that passes is no news: else a long wait would be looked at ten times a second for ever.
    if (!moved && sameHolds(decision.holds, this.#holds)) return;
    this.#holds = decision.holds;
    this.#movedAt = this.#options.clock.monotonic();
  }

  #delay(pass: Pass, goOn: boolean, applied: Applied): number {
    if (goOn) return 0;
    if (applied.changed) return SOON_MS;
    const { clock } = this.#options;
    const still = clock.monotonic() - this.#movedAt;
    const pace = PACES.find(({ forMs }) => still < forMs)?.everyMs ?? CONVERGED_MS;
    const usual = pass.decision.converged ? this.#restMs() : pace;
    const retryMs = pass.failure ? pass.failure.retryAt - clock.monotonic() : usual;
    return Math.max(SOON_MS, Math.min(usual, retryMs, this.#dueMs(pass, applied)));
  }

  #restMs(): number {
    return this.#options.restMs?.() ?? CONVERGED_MS;
  }

  /** Until something is due. By the wall clock, which may jump: too late is never later than usual, and too early costs one look. */
  #dueMs({ decision, observation }: Pass, applied: Applied): number {
    const times = [decision.lookAgainAt, applied.lookAgainAt].filter((at) => at !== undefined);
    const users = this.observer.auth.dueMs(observation) ?? Infinity;
    return Math.min(users, Math.min(...times) - this.#options.clock.now());
  }
}

/** Nothing is made, changed or deleted: it is paused, or somebody else has the name of the cluster itself. */
function standsStill({ spec, observation }: View): boolean {
  return spec.paused || observation.platform.clashes.some(({ concerns }) => concerns === "cluster");
}

/** A full disk, say: reported in the status of this very pass, and tried again on the next. */
async function orProblem(work: () => Promise<Applied> | undefined): Promise<Applied> {
  try {
    return (await work()) ?? NOTHING_APPLIED;
  } catch (error) {
    return { changed: false, problems: [problemOf("", error)] };
  }
}
