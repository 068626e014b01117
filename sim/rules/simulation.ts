/**
 * One simulated run of the decision core on the model: a cluster, an operator, a client that writes, the
 * oracles, and faults at hand. Everything is a function of the seed.
 */
import {
  etcdClusterSpecSchema,
  type EtcdClusterSpec,
  type EtcdClusterSpecInput,
} from "../../src/api/etcd-cluster-spec.ts";
import { API_VERSION } from "../../src/api/metadata.ts";
import { parseCluster } from "../../src/api/parse-cluster.ts";
import type { Act, Decision } from "../../src/core/action.ts";
import type { Observation } from "../../src/core/observation.ts";
import type { OperationTask } from "../../src/core/operations/task.ts";
import { VirtualClock } from "../engine/clock.ts";
import type { EffectFaults } from "../driver/enumerate.ts";
import { Busy } from "../operator/busy.ts";
import { judgeCrossing } from "./backups.ts";
import { Effects } from "./effects.ts";
import { Objects } from "./objects.ts";
import { judgeOperations } from "./operations.ts";
import { Operator, stepName } from "./operator.ts";
import { Pods } from "./pods.ts";
import { Ledger } from "../oracles/ledger.ts";
import { Calls } from "../models/etcd/calls.ts";
import { RESTORED_KEYS } from "../models/etcd/restored.ts";
import { Keys } from "../models/etcd/kv.ts";
import { EtcdWorld } from "../models/etcd/world.ts";
import { millisecondsOf } from "../../src/api/duration.ts";
import { Needless, type Keeping } from "../oracles/needless.ts";
import { Oracle, Violation } from "../oracles/oracle.ts";
import { SeededRandom, SteadyRandom } from "../engine/random.ts";
import { Scheduler } from "../engine/scheduler.ts";

export interface StepLine {
  /** Milliseconds of virtual time. */
  readonly at: number;
  readonly rule: string;
  readonly step: string;
  readonly reason: string;
  readonly failure: string | undefined;
}

export interface SimulationOptions {
  /** Undefined: nothing is left to chance. */
  readonly seed: number | undefined;
  readonly faults?: EffectFaults;
  /** 0: no client. */
  readonly writeEveryMs?: number;
  readonly onPass?: (decision: Decision, observation: Observation) => void;
}

/** What a rule that does not see its own work would do again on every pass. */
const REPEATED: ReadonlySet<string> = new Set(["UpdateMember", "UpdateOperation", "MoveLeader"]);

export class Simulation {
  readonly random: SeededRandom;
  readonly scheduler: Scheduler;
  readonly clock: VirtualClock;
  readonly objects: Objects;
  readonly pods: Pods;
  readonly world: EtcdWorld;
  readonly calls: Calls;
  readonly keys: Keys;
  readonly ledger = new Ledger();
  readonly oracle: Oracle;
  readonly effects: Effects;
  readonly operator: Operator;
  readonly lines: StepLine[] = [];
  readonly crashes: { readonly at: number; readonly reason: string }[] = [];
  decision: Decision | undefined;
  observation: Observation | undefined;
  #lastEffectAt = 0;
  #operations = 0;
  #listener: ((line: StepLine) => void) | undefined;

  constructor(spec: EtcdClusterSpecInput, options: SimulationOptions) {
    this.random = options.seed === undefined ? new SteadyRandom() : new SeededRandom(options.seed);
    this.scheduler = new Scheduler(this.random.fork());
    this.clock = new VirtualClock(this.scheduler);
    const now = () => this.clock.now();
    this.objects = new Objects("demo", etcdClusterSpecSchema.parse(spec), now);
    const dirs = {
      read: (path: string) => this.objects.read(path),
      isFull: (path: string) => this.objects.isFull(path),
      write: (path: string, dir: Parameters<Objects["write"]>[1]) => {
        this.objects.write(path, dir);
        this.oracle.madeDirectory(dir);
      },
    };
    const { scheduler, objects } = this;
    this.world = new EtcdWorld({ scheduler, random: this.random.fork(), dirs });
    this.calls = new Calls(this.world, now);
    this.keys = new Keys(this.world);
    this.pods = new Pods({ objects, world: this.world, scheduler, now });
    this.effects = new Effects(options.faults);
    this.world.network.between = (a, b) => objects.authorities.apart(a, b);
    objects.authorities.onReissue = (afterMs) =>
      void scheduler.after(afterMs, () => this.world.reconsiderAll());
    const { world, calls, keys, pods, ledger } = this;
    const subject: Keeping = {
      establishedAs: () => (objects.open ? objects.cluster.marks.established?.clusterID : undefined),
      meantToServe: () => !objects.cluster.deleting && objects.cluster.spec.replicas > 0,
      server: (member) => pods.server(member),
      data: (member) => {
        const volume = objects.volumes.get(member);
        return volume && objects.read(volume.path);
      },
      restored: () => (objects.cluster.marks.established?.restored === undefined ? undefined : RESTORED_KEYS),
      votersWanted: () => objects.cluster.spec.replicas,
      lostAfterMs: () => millisecondsOf(objects.cluster.spec.repair.memberLostAfter),
      isGivenUp: (member) =>
        !objects.records.has(member) ||
        objects.deleting.has(member) ||
        objects.records.get(member)?.retiring?.requested === true,
      isLeaving: (member) => objects.records.get(member)?.leaving !== undefined,
      hasWorkload: (member) => pods.names().includes(member),
    };
    this.oracle = new Oracle({ subject, world, ledger });
    const needless = new Needless(subject, this.oracle);
    const busy = new Busy();
    this.operator = new Operator({
      hands: { objects, pods, world, calls, keys },
      effects: this.effects,
      scheduler,
      now,
      events: {
        onStep: ({ action }, { observation }) => {
          judgeCrossing(observation, action);
          this.oracle.beforeStep(action);
          if (action.kind === "UpdateMember" && action.change.leaving)
            needless.mayLeave(action.member, scheduler.now);
          if (action.kind === "RemoveFromEtcd") needless.mayRemove(action.memberID, scheduler.now);
        },
        onStepDone: (act, _view, failure) => {
          this.#note(act, failure);
          const { action } = act;
          if (failure === undefined && REPEATED.has(action.kind))
            busy.note(`${stepName(act)} ${"operation" in action ? action.operation : ""}`, scheduler.now);
        },
        onPass: (decision, observation) => {
          needless.look(scheduler.now);
          judgeOperations(observation.operations);
          this.decision = decision;
          this.observation = observation;
          options.onPass?.(decision, observation);
        },
        onCrash: (reason) => this.crashes.push({ at: scheduler.now, reason }),
      },
    });
    objects.backups.onStart = (afterMs) => void scheduler.after(afterMs, () => this.operator.wake());
    world.onChange = () => this.operator.wake();
    pods.onStart = (configText, hasData) => this.oracle.started(configText, hasData);
    pods.onData = (dir) => this.oracle.madeDirectory(dir);
    world.onElected = (leader) => this.oracle.elected(leader);
    if (options.writeEveryMs !== 0) {
      ledger.writeEvery(options.writeEveryMs ?? 1_000, {
        scheduler,
        random: this.random.fork(),
        world,
        keys,
        open: () => objects.open,
      });
    }
    this.operator.wake();
  }

  /** Hears of every step as it is done. */
  listen(listener: (line: StepLine) => void): void {
    this.#listener = listener;
  }

  #note(act: Act, failure: string | undefined): void {
    this.#lastEffectAt = this.scheduler.now;
    if (act.action.kind === "RemoveFromEtcd" || act.action.kind === "AddLearner") this.oracle.sameLists();
    const line = {
      at: this.scheduler.now,
      rule: act.rule,
      step: stepName(act),
      reason: act.message,
      failure,
    };
    this.lines.push(line);
    this.#listener?.(line);
  }

  get spec(): EtcdClusterSpec {
    return this.objects.cluster.spec;
  }

  /** Changes the spec as a person would; the schema's rules hold. */
  edit(change: Partial<EtcdClusterSpecInput>): void {
    const spec = { ...this.spec, ...change };
    const parsed = parseCluster({
      apiVersion: API_VERSION,
      kind: "EtcdCluster",
      metadata: { name: "demo" },
      spec,
    });
    if (!parsed.ok) throw new RangeError(parsed.errors.map(({ message }) => message).join("; "));
    this.objects.edit(parsed.cluster.spec);
    this.operator.wake();
  }

  /** Asks for a task, as a person would; returns its name. */
  operate(task: OperationTask, ttlSecondsAfterFinished?: number): string {
    // Those of the same moment run by name.
    const name = `operation-${String(++this.#operations).padStart(2, "0")}`;
    this.objects.ask(name, task, ttlSecondsAfterFinished);
    this.operator.wake();
    return name;
  }

  pass(ms: number): void {
    this.scheduler.runUntil(this.scheduler.now + ms);
  }

  /** Nothing to do and nothing on its way. */
  get converged(): boolean {
    return this.decision?.converged === true && this.#podsSettled();
  }

  #podsSettled(): boolean {
    const records = [...this.objects.records.values()];
    return (
      this.pods.names().length === records.filter((record) => record.run).length &&
      this.pods.names().every((name) => this.pods.facts(name).state === "running")
    );
  }

  /** Hibernated, or told what a person must do: waiting changes nothing. */
  get stuck(): boolean {
    const { decision } = this;
    return decision !== undefined && !decision.act && decision.holds.some((hold) => hold.next !== undefined);
  }

  /**
   * Runs until converged, or until nothing has happened for `quietMs` and a person is needed. Not to get
   * there within `limitMs` of virtual time is a violation: something waits for ever.
   */
  settle(limitMs = 3_600_000, quietMs = 20_000): void {
    if (!this.comesToRest(limitMs, quietMs)) throw new Violation("convergence", this.whyNot());
  }

  /** The same, while faults last that may well keep it from getting there. */
  comesToRest(limitMs: number, quietMs = 20_000): boolean {
    const begin = this.scheduler.now;
    this.operator.wake();
    for (;;) {
      this.pass(500);
      const quiet = this.scheduler.now - Math.max(this.#lastEffectAt, begin);
      if (quiet >= 5_000 && this.converged) return true;
      if (quiet >= quietMs && this.stuck && this.#podsQuiet()) return true;
      if (this.scheduler.now - begin > limitMs) return false;
    }
  }

  #podsQuiet(): boolean {
    return this.pods.names().every((name) => this.pods.facts(name).state !== "stopping");
  }

  whyNot(): string {
    const holds = this.decision?.holds.map((hold) => `${hold.reason} (${hold.rule}): ${hold.message}`) ?? [];
    const act = this.decision?.act;
    const last = this.lines.at(-1);
    return [
      `not converged after ${Math.round(this.scheduler.now / 1000)} s`,
      ...(act ? [`wants ${act.rule} ${stepName(act)}: ${act.message}`] : []),
      ...holds,
      ...(last?.failure ? [`last failure: ${last.step}: ${last.failure}`] : []),
    ].join("; ");
  }
}
