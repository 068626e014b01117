/**
 * One field of the schema, explored in the manner of Acto: each of its values is applied to a healthy cluster and
 * taken back again. What the API server refuses changes nothing; what it takes is put into effect, or a person is
 * told why not; and after the revert everything is as it was before.
 */
import { Buffer } from "node:buffer";
import { API_VERSION } from "../../src/api/metadata.ts";
import type { EtcdClusterSpec, EtcdClusterSpecInput } from "../../src/api/etcd-cluster-spec.ts";
import { ANNOTATIONS } from "../../src/operator/names.ts";
import { items, json } from "../models/kube/object.ts";
import { NAME, NAMESPACE } from "../operator/environment.ts";
import { staysQuiet, reportedBy, untrue } from "../operator/judge.ts";
import { OperatorSimulation } from "../operator/simulation.ts";
import { Violation } from "../oracles/oracle.ts";
import { SeededRandom } from "../engine/random.ts";
import { clusterWarnings } from "../../src/api/warnings.ts";
import { specOf, USUAL, type Base } from "./bases.ts";
import { showsIn, synonymOf } from "./behaviour.ts";
import { completed, type Spec } from "./check.ts";
import { namesOf, type Field } from "./fields.ts";
import { differences, fingerprint, type Fingerprint } from "./fingerprint.ts";
import { furnish } from "./surroundings.ts";
import { trialsOf, type Trial } from "./trials.ts";

const CLUSTER = `/apis/${API_VERSION}/namespaces/${NAMESPACE}/etcdclusters/${NAME}`;
/** Virtual time in which an edit has to come to rest, or to be reported as what cannot. */
const BOUND_MS = 900_000;
const PATIENCE_MS = 240_000;
const QUIET_MS = 20_000;

export interface Counts {
  valid: number;
  boundary: number;
  hostile: number;
  applied: number;
  refused: number;
  reported: number;
  reverted: number;
}

export interface Failure {
  readonly plan: string;
  readonly message: string;
}

export interface FieldReport {
  readonly path: string;
  readonly plans: number;
  readonly counts: Counts;
  readonly failures: readonly Failure[];
  readonly passes: number;
  readonly trace: readonly string[];
}

export interface ExploreOptions {
  /** Only each n-th trial, beginning with this one. */
  readonly every?: number;
  readonly offset?: number;
  readonly trace?: boolean;
}

interface Applied {
  readonly trial: Trial;
  readonly print: Fingerprint;
}

interface Stage {
  readonly sim: OperatorSimulation;
  readonly before: Fingerprint;
}

export class Explorer {
  readonly field: Field;
  readonly on: Base;
  readonly counts: Counts = {
    valid: 0,
    boundary: 0,
    hostile: 0,
    applied: 0,
    refused: 0,
    reported: 0,
    reverted: 0,
  };
  readonly failures: Failure[] = [];
  readonly lines: string[] = [];
  readonly #base: Spec;
  readonly #random: SeededRandom;
  /** What came of valid values, for those who go there from midway. */
  readonly #applied: Applied[] = [];
  #stage: Stage | undefined;
  #passes = 0;
  #plans = 0;

  constructor(field: Field, on: Base = USUAL) {
    this.field = field;
    this.on = on;
    this.#base = specOf(on, field);
    this.#random = new SeededRandom(Buffer.from(field.path).reduce((sum, byte) => sum * 31 + byte, 7) >>> 0);
  }

  async explore({ every = 1, offset = 0 }: ExploreOptions): Promise<FieldReport> {
    const isChosen = (index: number) => (index + offset) % every === 0;
    const trials = trialsOf(this.field, this.on).filter((_, index) => isChosen(index));
    for (const trial of trials) {
      this.counts[trial.is]++;
      await this.#plan("apply and revert", trial, () => this.#applyAndRevert(trial));
    }
    for (const [index, trial] of trials.filter(({ answer }) => answer === "taken").entries()) {
      if (trial.is === "hostile") continue;
      const after = index === 0 ? 1 : this.#random.between(2, 12);
      const other = index === 0 ? undefined : this.#applied[0];
      const to = other && other.trial !== trial ? other : undefined;
      const words = `after ${after} effects ${to ? `to ${short(to.trial.value)}` : "back"}`;
      await this.#plan(words, trial, () => this.#midway(trial, after, to));
    }
    this.#leave();
    const path = this.on === USUAL ? this.field.path : `${this.field.path} on ${this.on.name}`;
    const { counts, failures, lines } = this;
    return { path, plans: this.#plans, counts, failures, passes: this.#passes, trace: lines };
  }

  async #plan(mode: string, trial: Trial, run: () => Promise<void>): Promise<void> {
    this.#plans++;
    const plan = `${this.field.path} = ${short(trial.value)} (${trial.is}, ${trial.answer}, ${this.on.name} base): ${mode}`;
    const before = this.#stage?.sim.troubles.length ?? 0;
    try {
      await run();
      const troubles = this.#stage?.sim.troubles.slice(before) ?? [];
      if (troubles.length > 0) throw new Violation("trouble", troubles.slice(0, 2).join("; "));
      this.lines.push(`${plan}: ok`);
    } catch (error) {
      if (!(error instanceof Error)) throw error;
      const message = error instanceof Violation ? error.message : (error.stack ?? error.message);
      this.failures.push({ plan, message });
      this.lines.push(`${plan}: FAILS: ${message}`, ...(this.#stage?.sim.lines.slice(-60) ?? []));
      // What went wrong once would only go on.
      this.#leave();
    }
  }

  #leave(): void {
    this.#passes += this.#stage?.sim.passes ?? 0;
    this.#stage = undefined;
  }

  /** A healthy cluster of the base spec at rest. */
  async #ready(): Promise<Stage> {
    if (this.#stage) return this.#stage;
    const sim = new OperatorSimulation(this.#base as unknown as EtcdClusterSpecInput, { seed: 1 });
    furnish(sim, String(this.#base["version"]));
    await sim.settle();
    mustBe(sim, []);
    this.#stage = { sim, before: fingerprint(sim) };
    return this.#stage;
  }

  async #applyAndRevert(trial: Trial): Promise<void> {
    const { sim, before } = await this.#ready();
    if (!this.#edit(sim, trial)) {
      if (trial.answer === "kept") await this.#beginWith(trial);
      return;
    }
    if (trial.answer === "same") return await this.#mustBeAsBefore(sim, before);
    const plain = fingerprint(sim, "effects");
    const isApplied = await this.#rest(sim);
    if (isApplied && trial.is === "valid") {
      this.#applied.push({ trial, print: fingerprint(sim) });
      await this.#mustShow(sim, trial, differences(plain, fingerprint(sim, "effects")));
    }
    await this.#revert(sim, before);
  }

  /** Nothing is accepted and ignored: it does something, or the status warns that it does not. */
  async #mustShow(sim: OperatorSimulation, trial: Trial, changed: readonly string[]): Promise<void> {
    const [first] = changed;
    const seen =
      first ??
      synonymOf(this.field.path, trial.value) ??
      this.#warnedOf(sim, trial) ??
      (await showsIn(this.#base, trial.spec));
    if (seen === undefined)
      throw new Violation("ignored", "it was accepted, and nothing that is made or done differs");
    this.lines.push(`shows: ${seen}`);
  }

  /** A warning about this field that the base does not have, and that the status shows. */
  #warnedOf(sim: OperatorSimulation, trial: Trial): string | undefined {
    const warningsOf = (spec: Spec) => clusterWarnings(completed(spec) as unknown as EtcdClusterSpec);
    const before = new Set(warningsOf(this.#base).map(({ message }) => message));
    const shown = JSON.stringify(json(sim.env.cluster()?.["status"])["warnings"] ?? []);
    const found = warningsOf(trial.spec).find(
      ({ path, message }) =>
        !before.has(message) && `${this.field.path}.`.startsWith(`${path}.`) && shown.includes(message),
    );
    return found && `warning: ${found.message}`;
  }

  /** Another edit while the first is on its way. */
  async #midway(trial: Trial, after: number, to: Applied | undefined): Promise<void> {
    const { sim, before } = await this.#ready();
    if (!this.#edit(sim, trial)) return;
    const from = sim.effects.count;
    for (let i = 0; i < 400 && sim.effects.count < from + after; i++) await sim.pass(25);
    const message = to && replaceSpec(sim, to.trial.spec);
    if (to && message === undefined) {
      await this.#settle(sim);
      if (!sim.converged) throw new Violation("midway", sim.whyNot());
      const found = differences(to.print, fingerprint(sim));
      if (found.length > 0)
        throw new Violation("midway", `not as when it was applied alone: ${found.slice(0, 4).join("; ")}`);
    }
    await this.#revert(sim, before);
  }

  /** What no cluster may change to, one may begin with. */
  async #beginWith(trial: Trial): Promise<void> {
    const sim = new OperatorSimulation(trial.spec as unknown as EtcdClusterSpecInput, { seed: 1 });
    await sim.settle(BOUND_MS);
    mustBe(sim, []);
    const wrong = untrue(sim);
    if (wrong.length > 0) throw new Violation("I6", wrong.join("; "));
    const { sim: usual } = await this.#ready();
    const [changed] = differences(fingerprint(usual, "effects"), fingerprint(sim, "effects"));
    const seen = changed ?? this.#warnedOf(sim, trial);
    if (seen === undefined) throw new Violation("ignored", "a new cluster with it is like one without it");
    this.lines.push(`shows in a new cluster: ${seen}`);
    this.#passes += sim.passes;
  }

  /** False when it is refused, as it should be. */
  #edit(sim: OperatorSimulation, trial: Trial): boolean {
    const version = () => sim.env.cluster()?.metadata.resourceVersion;
    const was = version();
    const message = replaceSpec(sim, trial.spec);
    if (message === undefined) {
      if (trial.answer === "refused" || trial.answer === "kept")
        throw new Violation("refusal", "the API server takes what its schema refuses");
      return true;
    }
    if (trial.answer === "taken" || trial.answer === "same")
      throw new Violation("refusal", `the API server refuses it: ${message}`);
    if (version() !== was) throw new Violation("refusal", "it was refused and changed the object");
    if (!namesOf(this.field).some((name) => message.includes(name)))
      throw new Violation("refusal", `the refusal does not name the field: ${message.slice(0, 300)}`);
    this.counts.refused++;
    return false;
  }

  /** At rest with the new spec: applied, or a person knows. */
  async #rest(sim: OperatorSimulation): Promise<boolean> {
    let rests = false;
    // Who waits for what a person has to do, and says so, is waited for no longer.
    for (let waited = 0; !rests && waited < BOUND_MS; waited += PATIENCE_MS) {
      rests = await sim.comesToRest(PATIENCE_MS);
      if (sim.latest?.decision.act === undefined && tellings(sim).length > 0) break;
    }
    const wrong = untrue(sim);
    if (wrong.length > 0) throw new Violation("I6", wrong.join("; "));
    if (rests && sim.converged) {
      this.counts.applied++;
      return true;
    }
    const reported = tellings(sim);
    if (reported.length === 0) throw new Violation("convergence", sim.whyNot());
    this.lines.push(`told: ${reported.join(" | ")}`);
    const words = ["spec", ...namesOf(this.field)];
    if (!reported.some((text) => words.some((word) => text.includes(word))))
      throw new Violation("told", `nobody can tell what to edit: ${reported.join("; ")}`);
    this.counts.reported++;
    return false;
  }

  async #revert(sim: OperatorSimulation, before: Fingerprint): Promise<void> {
    const message = replaceSpec(sim, this.#base);
    if (message !== undefined) throw new Violation("revert", `what was so at first is refused: ${message}`);
    await this.#settle(sim);
    await this.#mustBeAsBefore(sim, before);
    this.counts.reverted++;
  }

  /** Whether clients may be shut out is for a person to say, who says so; the word stays. */
  async #settle(sim: OperatorSimulation): Promise<void> {
    await sim.settle(BOUND_MS);
    const wait = sim.latest?.decision.holds.find(({ reason }) => reason === "ChangingTLS");
    if (wait?.approval === undefined) return;
    sim.user({
      method: "PATCH",
      path: CLUSTER,
      body: { metadata: { annotations: { [ANNOTATIONS.approve]: wait.approval.word } } },
      contentType: "application/merge-patch+json",
    });
    await sim.settle(BOUND_MS);
  }

  async #mustBeAsBefore(sim: OperatorSimulation, before: Fingerprint): Promise<void> {
    await sim.settle(BOUND_MS);
    if (!sim.converged) throw new Violation("revert", sim.whyNot());
    const wrong = untrue(sim);
    if (wrong.length > 0) throw new Violation("I6", wrong.join("; "));
    const found = differences(before, fingerprint(sim));
    if (found.length > 0) throw new Violation("revert", `not as before: ${found.slice(0, 4).join("; ")}`);
    await staysQuiet(sim, QUIET_MS);
  }
}

function mustBe(sim: OperatorSimulation, reported: readonly string[]): void {
  if (!sim.converged || reportedBy(sim).length !== reported.length)
    throw new Violation("base", `the base does not come to rest: ${sim.whyNot()}`);
}

/** Replaces the spec as `kubectl replace` does; the words of a refusal. */
function replaceSpec(sim: OperatorSimulation, spec: Spec): string | undefined {
  const object = sim.env.cluster();
  const answer = sim.user({ method: "PUT", path: CLUSTER, body: { ...object, spec } });
  sim.tell(`spec → ${answer.status}`);
  return answer.status < 300 ? undefined : String(json(answer.body)["message"]);
}

/** What the conditions say that is not well. */
function tellings(sim: OperatorSimulation): string[] {
  const conditions = items(json(sim.env.cluster()?.["status"])["conditions"]);
  return conditions.flatMap(({ type, status, reason, message }) => {
    const bad =
      (type === "Ready" && status !== "True") ||
      (type === "Degraded" && status === "True") ||
      (type === "Available" && status === "False");
    return bad ? [`${String(type)}=${String(status)} ${String(reason)}: ${String(message)}`] : [];
  });
}

export function short(value: unknown): string {
  const text = JSON.stringify(value) ?? "undefined";
  return text.length <= 60 ? text : `${text.slice(0, 50)}… (${text.length})`;
}
