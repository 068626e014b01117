/**
 * Conformance of the model etcd: random calls and lives, the same for real processes and for the model's, all answers
 * compared. Calls are made from settled states: first the model comes to rest, then the real side has to show the same.
 */
import { isDeepStrictEqual } from "node:util";
import { SeededRandom } from "../../random.ts";
import { memberIdOf } from "../ids.ts";
import type { Call, Outcome } from "./calls.ts";
import { isTimed, nextCall, stirs, type PlannedCall } from "./choose.ts";
import { leaderOf, membersOf, serving, slotOf, type Ground } from "./ground.ts";
import { nextLife, revival, started, type Life } from "./life.ts";
import { ModelSide } from "./model-side.ts";
import { look, type Side, type Slot, type SlotView } from "./side.ts";

export interface EtcdRun {
  readonly real: Side;
  readonly slots: readonly Slot[];
  readonly version: string;
  readonly seed: number;
  readonly calls: number;
  readonly callsPerRound?: number;
  /** How often, between calls, something is done to a process. */
  readonly lives?: number;
  /** How long the real side may take to show what the model shows. */
  readonly patienceMs?: number;
  readonly now: () => number;
  readonly wait: (ms: number) => Promise<void>;
  /** Ends the run at the next call. */
  readonly signal?: AbortSignal;
  readonly onDifference: (text: string) => void;
  readonly onStep?: (text: string) => void;
}

export interface EtcdReport {
  readonly calls: number;
  readonly lives: number;
  readonly refused: number;
  /** Rounds that ended early since the real side elected somebody in the midst of it. */
  readonly unsettled: number;
  readonly disagreements: number;
}

/** R19: connections count after five seconds. Surely not yet, and surely. */
const YOUNG_MS = 3_500;
const RIPE_MS = 5_700;
const PATIENCE_MS = 60_000;
const PATIENT_MS = 10_000;
/** For members that know no leader: what needs one waits for ever. */
const HASTY_MS = 700;
const MOST_WITHOUT_LEADER = 10;
const MOST_REVIVALS = 8;

/** A real election that nobody asked for, on a busy machine: what was called meanwhile is nothing to compare. */
class Unsettled extends Error {
  override name = "Unsettled";
}

/** The sides went apart: what follows in the round would only repeat it. */
class Apart extends Error {
  override name = "Apart";
}

export async function conformEtcd(options: EtcdRun): Promise<EtcdReport> {
  const run = new Run(options);
  while (run.report.calls < options.calls && !options.signal?.aborted) await run.round();
  await run.clear();
  return run.report;
}

class Run {
  readonly report = { calls: 0, lives: 0, refused: 0, unsettled: 0, disagreements: 0 };
  readonly #options: EtcdRun;
  readonly #random: SeededRandom;
  readonly #model: ModelSide;
  #rounds = 0;
  #steps: string[] = [];
  #ground!: Ground;
  /** Since when something has been young, on each side's clock. */
  #lifeAt = { real: 0, model: 0 };
  #settledAt = 0;
  #terms = "";
  #ripened = false;
  /** Slots that may not have applied the last change yet. */
  readonly #behind = new Set<Slot>();
  readonly #hashes = new Map<string, unknown>();

  constructor(options: EtcdRun) {
    this.#options = options;
    this.#random = new SeededRandom(options.seed);
    this.#model = new ModelSide(this.#random.fork());
  }

  async clear(): Promise<void> {
    await Promise.all([this.#options.real.clear(), this.#model.clear()]);
    this.#behind.clear();
    this.#hashes.clear();
  }

  async round(): Promise<void> {
    await this.clear();
    this.#ripened = true;
    this.#steps = [];
    const random = this.#random.fork();
    const { slots, version, seed, calls, callsPerRound = 400, lives = 0.02 } = this.#options;
    const founders = slots.slice(0, random.pick([3, 3, 3, 1, 3, 2, 3, 5]));
    const token = `seed ${seed} round ${++this.#rounds}`;
    const extra = random.chance(0.5) ? { "max-learners": 2 } : {};
    this.#ground = { model: this.#model, slots, founders, token, version, extra };
    const end = Math.min(calls, this.report.calls + callsPerRound);
    try {
      await this.#found(founders);
      let [withoutLeader, revivals] = [0, 0];
      while (this.report.calls < end && !this.#options.signal?.aborted) {
        if (leaderOf(this.#ground)) withoutLeader = 0;
        else if (++withoutLeader > MOST_WITHOUT_LEADER || serving(this.#ground).length === 0) {
          const life = revival(random, this.#ground);
          if (!life || ++revivals > MOST_REVIVALS) return;
          await this.#live(life);
          withoutLeader = 0;
          continue;
        }
        const life = random.chance(lives) ? nextLife(random, this.#ground) : undefined;
        if (life) {
          await this.#live(life);
          // What the five seconds forbid, now and then.
          if (random.chance(0.5)) for (let i = 0; i < 3; i++) await this.#early(random);
        }
        const planned = nextCall(random, this.#ground);
        if (planned) await this.#call(planned);
      }
    } catch (error) {
      if (error instanceof Unsettled) this.report.unsettled++;
      else if (!(error instanceof Apart)) throw error;
    }
  }

  async #found(founders: readonly Slot[]): Promise<void> {
    const ground = this.#ground;
    for (const slot of founders) {
      const life = started(ground, slot, { state: "new", cluster: founders }, { as: "as a founder" });
      this.#told(life.text);
      await Promise.all([life.run(this.#options.real), life.run(this.#model)]);
    }
    await this.#lived();
  }

  async #live(life: Life): Promise<void> {
    this.#told(life.text);
    this.report.lives++;
    await Promise.all([life.run(this.#options.real), life.run(this.#model)]);
    await this.#lived();
  }

  async #lived(): Promise<void> {
    // Young are all connections since the first of several lives.
    if (this.#ripened) this.#lifeAt = { real: this.#options.now(), model: this.#model.scheduler.now };
    this.#ripened = false;
    await this.#settle();
    this.#settledAt = this.#options.now();
  }

  /** A call that is refused for the youth of connections, while they are young for certain. */
  async #early(random: SeededRandom): Promise<void> {
    for (let tries = 0; tries < 40; tries++) {
      const planned = nextCall(random, this.#ground);
      if (!planned || !isTimed(planned.call)) continue;
      if (this.#isYoung()) await this.#call(planned);
      return;
    }
  }

  #isYoung(): boolean {
    const { real, model } = this.#lifeAt;
    return (
      !this.#ripened && this.#options.now() - real < YOUNG_MS && this.#model.scheduler.now - model < YOUNG_MS
    );
  }

  async #ripen(): Promise<void> {
    if (this.#ripened || this.#isYoung()) return;
    const left = this.#settledAt + RIPE_MS - this.#options.now();
    if (left > 0) await this.#options.wait(left);
    await this.#model.pass(2 * RIPE_MS);
    this.#ripened = true;
  }

  async #call({ slot, call }: PlannedCall): Promise<void> {
    const { now } = this.#options;
    if (isTimed(call)) await this.#ripen();
    await this.#catchUp(slot);
    this.report.calls++;
    const text = `${slot.name}: ${JSON.stringify(call)}`;
    this.#told(text);
    const hasLeader = this.#hasLeader(slot);
    const timeoutMs = hasLeader ? PATIENT_MS : HASTY_MS;
    if (call.kind === "add") await this.#earlyInASecond();
    const before = now();
    const answer = await this.#ask(slot, call, timeoutMs);
    this.#model.wallMs = wallOf(call, answer, before, now());
    const modelled = await this.#model.call(slot, call, timeoutMs);
    if (!answer.ok) this.report.refused++;
    if (!hasLeader && waitsInVain(answer) && waitsInVain(modelled)) return;
    if (!this.#agrees(answer, modelled) && (await this.#hasElected())) throw new Unsettled(text);
    this.#compare(text, answer, modelled);
    for (const other of serving(this.#ground)) if (other !== slot) this.#behind.add(other);
    if (!answer.ok || !(stirs(call) || call.kind === "downgrade")) return;
    if (call.kind === "downgrade") {
      if (call.action === "VALIDATE") return;
      await this.#model.pass(10_000);
    }
    await this.#settle();
  }

  /** Connections that broke on a busy machine are young again: those of members that all run are waited for. */
  async #ask(slot: Slot, call: Call, timeoutMs: number): Promise<Outcome> {
    const { real, wait } = this.#options;
    for (let tries = 0; ; tries++) {
      const answer = await real.call(slot, call, timeoutMs);
      const isYoung = !answer.ok && answer.error === "unhealthy-cluster" && this.#ripened && this.#allRun();
      if (!isYoung || tries >= 3) return answer;
      await wait(RIPE_MS);
    }
  }

  #allRun(): boolean {
    const running = serving(this.#ground);
    return membersOf(this.#ground).every((member) => {
      const slot = slotOf(this.#ground, member);
      return member.isLearner || (slot !== undefined && running.includes(slot));
    });
  }

  async #hasElected(): Promise<boolean> {
    return (await this.#views(this.#options.real)).terms !== this.#terms;
  }

  #agrees(real: Outcome, model: Outcome): boolean {
    return isDeepStrictEqual(withoutOwn(real), withoutOwn(model));
  }

  /** IDs of added members are made of whole seconds: a call must not stand between two. */
  async #earlyInASecond(): Promise<void> {
    const into = this.#options.now() % 1_000;
    if (into > 850) await this.#options.wait(1_010 - into);
  }

  #hasLeader(slot: Slot): boolean {
    const server = this.#model.server(slot);
    return server !== undefined && this.#model.world.raftOf(server).leaderOf(server) !== "0";
  }

  /** A real member applies what others were asked to do a moment later; the model's at once. */
  async #catchUp(slot: Slot): Promise<void> {
    if (!this.#behind.has(slot) || !this.#hasLeader(slot)) return;
    this.#behind.delete(slot);
    const { real } = this.#options;
    if (!this.#model.server(slot)?.isLearner) {
      await real.call(slot, PROBE, PATIENT_MS);
      return;
    }
    const wanted = String(this.#model.server(slot)?.dir.state.revision);
    for (let i = 0; i < 200; i++) {
      const status = await real.call(slot, { kind: "status" }, PATIENT_MS);
      if (status.ok && status.value["revision"] === wanted) return;
      await this.#options.wait(10);
    }
  }

  #compare(text: string, real: Outcome, model: Outcome): void {
    if (this.#agrees(real, model)) {
      if (real.ok && model.ok && "hash" in real.value) this.#compareHash(text, real.value, model.value);
      return;
    }
    this.#differs(`${text}\n  real:  ${JSON.stringify(real)}\n  model: ${JSON.stringify(model)}`);
  }

  /** The numbers are each side's own; but members that agree in the model agree in truth. */
  #compareHash(
    text: string,
    real: Readonly<Record<string, unknown>>,
    model: Readonly<Record<string, unknown>>,
  ): void {
    const key = `${String(model["hash"])} ${String(model["compactRevision"])}`;
    const known = this.#hashes.get(key) ?? real["hash"];
    this.#hashes.set(key, known);
    if (known !== real["hash"]) this.#differs(`${text}: a hash that differs from another member's`);
  }

  /** The model comes to rest, and the real side has to come to the same. */
  async #settle(): Promise<void> {
    await this.#model.calm();
    const wanted = await this.#views(this.#model);
    const end = this.#options.now() + (this.#options.patienceMs ?? PATIENCE_MS);
    for (;;) {
      const found = await this.#views(this.#options.real);
      const differing = this.#ground.slots.filter(
        ({ name }) => !isDeepStrictEqual(found.views[name], wanted.views[name]),
      );
      if (differing.length === 0 && found.leads !== "several") {
        this.#align(found.leads, wanted.leads);
        this.#terms = found.terms;
        this.#behind.clear();
        return;
      }
      if (this.#options.now() > end) {
        const lines: string[] = [];
        for (const slot of differing) {
          const [real, model] = [found, wanted].map(({ views }) => JSON.stringify(views[slot.name]));
          const words = await this.#options.real.lastWords(slot);
          lines.push(`  ${slot.name} real:  ${real}\n  ${slot.name} model: ${model}\n    ${words}`);
        }
        this.#differs(`did not come to the same rest (${found.leads})\n${lines.join("\n")}`);
      }
      await this.#options.wait(30);
    }
  }

  async #views(side: Side): Promise<{ views: Record<string, SlotView>; leads: string; terms: string }> {
    const seen = [];
    // One after the other: the model's clock has one hand only.
    for (const slot of this.#ground.slots) seen.push({ slot, ...(await look(side, slot)) });
    const byId = new Map(seen.filter(({ id }) => id !== "").map(({ id, slot }) => [id, slot.name]));
    const leaders = new Set(
      seen
        .filter(({ leader }) => leader !== "" && leader !== "0")
        .map(({ leader }) => byId.get(leader) ?? "gone"),
    );
    const leads = leaders.size > 1 || leaders.has("gone") ? "several" : ([...leaders][0] ?? "none");
    const views = seen.map(({ slot, view }) => [slot.name, JSON.parse(JSON.stringify(view)) as SlotView]);
    const terms = seen.map(({ term, leader }) => `${term} ${leader}`).join(", ");
    return { views: Object.fromEntries(views) as Record<string, SlotView>, leads, terms };
  }

  /** Who leads is chance: the model follows. */
  #align(real: string, model: string): void {
    if (real === model) return;
    const slot = this.#ground.slots.find(({ name }) => name === real);
    if (!slot || !this.#model.lead(slot))
      this.#differs(`${real} leads, which cannot be in the model (${model} does)`);
  }

  #told(text: string): void {
    this.#steps.push(text);
    this.#options.onStep?.(text);
  }

  #differs(text: string): never {
    this.report.disagreements++;
    const before = this.#steps
      .filter((step) => !/"(put|range|status|list|hash|delete|txn)"/.test(step))
      .slice(-12);
    const { founders, token, version } = this.#ground;
    const head = `etcd ${version}, ${token}, ${founders.length} founders, call ${this.report.calls}`;
    this.#options.onDifference(`${head}\n  after ${before.join("\n        ")}\n${text}`);
    throw new Apart(text);
  }
}

/** Who gives up first, the caller or the member, is a race. */
function waitsInVain(outcome: Outcome): boolean {
  return !outcome.ok && ["deadline", "request-timed-out", "no-leader", "unavailable"].includes(outcome.error);
}

/** Without what is each side's own. */
function withoutOwn(outcome: Outcome): unknown {
  if (!outcome.ok) return { code: outcome.code, error: outcome.error };
  const { hash: _hash, term: _term, ...rest } = outcome.value;
  return JSON.parse(JSON.stringify(rest)) as unknown;
}

/** A read through the quorum: the member has applied all that was committed before. */
const PROBE: Call = {
  kind: "range",
  key: "a",
  end: "",
  revision: 0,
  limit: 0,
  serializable: false,
  only: "count",
};

/** The second in which the real side gave this ID; without one, the time of the call. */
function wallOf(call: Call, answer: Outcome, before: number, after: number): number {
  if (call.kind !== "add" || !answer.ok) return before;
  const id = String(answer.value["member"]).split(" ")[0];
  for (let second = Math.floor(before / 1_000); second <= Math.floor(after / 1_000); second++)
    if (memberIdOf(call.urls, "", second) === id) return second * 1_000;
  return before;
}
