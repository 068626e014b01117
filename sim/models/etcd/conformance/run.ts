/**
 * Conformance of the model etcd: random calls and lives, the same for real processes and for the model's, all answers
 * compared. Calls are made from settled states: first the model comes to rest, then the real side has to show the same.
 */
import { isDeepStrictEqual } from "node:util";
import { SeededRandom } from "../../../engine/random.ts";
import { agree, PROBE, isTimeout, wallOf, withoutLeader } from "./agree.ts";
import type { Call, Outcome } from "./calls.ts";
import { isTimed, nextCall, stirs, type PlannedCall } from "./choose.ts";
import { disaster, type DisasterRun } from "./disaster.ts";
import { Apart, Unsettled } from "./ends.ts";
import { Hashes } from "./hashes.ts";
import { leaderOf, membersOf, serving, slotOf, type Ground } from "./ground.ts";
import { nextLife, revival, started, type Life } from "./life.ts";
import { ModelSide } from "./model-side.ts";
import type { EtcdReport, EtcdRun } from "./options.ts";
import { lookAtAll, type Side, type Slot, type SlotView } from "./side.ts";

/** R19: connections count after five seconds. Surely not yet, and surely. */
const YOUNG_MS = 3_500;
const RIPE_MS = 5_700;
const PATIENCE_MS = 60_000;
const PATIENT_MS = 10_000;
/** By then a process that has a leader serves. */
const SILENT_MS = 2_500;
/** For members that know no leader: what needs one waits for ever. */
const HASTY_MS = 700;
const MOST_WITHOUT_LEADER = 10;
const MOST_REVIVALS = 8;

type Views = Readonly<Record<string, SlotView>>;

export async function conformEtcd(options: EtcdRun): Promise<EtcdReport> {
  const run = new Run(options);
  while (run.report.calls < options.calls && !options.signal?.aborted) await run.round();
  await run.clear();
  return run.report;
}

class Run {
  readonly report = { calls: 0, lives: 0, disasters: 0, refused: 0, unsettled: 0, disagreements: 0 };
  readonly #options: EtcdRun;
  readonly #random: SeededRandom;
  readonly #model: ModelSide;
  #rounds = 0;
  #steps: string[] = [];
  #ground!: Ground;
  /** Since when something has been young, on each side's clock. */
  #lifeAt = { real: 0, model: 0 };
  #settledAt = 0;
  /** When something was last done to a process. */
  #livedAt = 0;
  #terms = "";
  #ripened = false;
  /** Slots that may not have applied the last change yet. */
  readonly #behind = new Set<Slot>();
  readonly #hashes = new Hashes();

  constructor(options: EtcdRun) {
    this.#options = options;
    this.#random = new SeededRandom(options.seed);
    this.#model = new ModelSide(this.#random.fork());
    while (this.#rounds + 1 < (options.round ?? 1)) {
      this.#random.fork();
      this.#rounds++;
    }
    if (options.progress) options.progress.report = this.report;
  }

  async clear(): Promise<void> {
    await Promise.all([this.#options.real.clear(), this.#model.clear()]);
    this.#behind.clear();
    this.#hashes.forget();
  }

  async round(): Promise<void> {
    await this.clear();
    this.#ripened = true;
    this.#steps = [];
    const random = this.#random.fork();
    const {
      slots,
      version,
      seed,
      calls,
      callsPerRound = 400,
      lives = 0.02,
      callsPerDisaster = Infinity,
    } = this.#options;
    const founders = slots.slice(0, random.pick([3, 3, 3, 1, 3, 2, 3, 5]));
    const token = `seed ${seed} round ${++this.#rounds}`;
    const extra = random.chance(0.5) ? { "max-learners": 2 } : {};
    this.#ground = { model: this.#model, slots, founders, token, version, extra };
    const end = Math.min(calls, this.report.calls + callsPerRound);
    try {
      await this.#found(founders);
      let [withoutLeader, revivals] = [0, 0];
      let disasterAt = this.report.calls + callsPerDisaster;
      while (this.report.calls < end && !this.#options.signal?.aborted) {
        if (leaderOf(this.#ground)) withoutLeader = 0;
        else if (++withoutLeader > MOST_WITHOUT_LEADER || serving(this.#ground).length === 0) {
          const life = revival(random, this.#ground);
          if (!life || ++revivals > MOST_REVIVALS) return;
          await this.#live(life);
          withoutLeader = 0;
          continue;
        }
        if (this.report.calls >= disasterAt && (await this.#disaster(random)))
          disasterAt = this.report.calls + callsPerDisaster;
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
      this.#reported(life.text);
      await Promise.all([life.run(this.#options.real), life.run(this.#model)]);
    }
    await this.#lived();
  }

  async #live(life: Life): Promise<void> {
    this.#reported(life.text);
    this.report.lives++;
    await Promise.all([life.run(this.#options.real), life.run(this.#model)]);
    await this.#lived();
  }

  async #disaster(random: SeededRandom): Promise<boolean> {
    const run: DisasterRun = {
      ground: () => this.#ground,
      live: (life) => this.#live(life),
      call: (planned) => this.#call(planned),
      caughtUp: (slot) => this.#catchUp(slot),
      begin: (ground, hashes) => {
        this.#ground = ground;
        if (hashes === "forgotten") this.#hashes.forget();
      },
    };
    const came = await disaster(this.report.disasters, random, run);
    if (came) this.report.disasters++;
    return came;
  }

  async #lived(): Promise<void> {
    // Young are all connections since the first of several lives.
    if (this.#ripened) this.#lifeAt = { real: this.#options.now(), model: this.#model.scheduler.now };
    this.#ripened = false;
    this.#livedAt = this.#options.now();
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
    this.#reported(text);
    const hasLeader = this.#hasLeader(slot);
    const timeoutMs = hasLeader ? PATIENT_MS : HASTY_MS;
    if (call.kind === "add") await this.#earlyInASecond();
    const before = now();
    let answer = await this.#ask(slot, call, timeoutMs);
    this.#model.wallMs = wallOf(call, answer, before, now());
    let modelled = await this.#model.call(slot, call, timeoutMs);
    // What needs no leader is answered at once, but for a busy machine; and it changes nothing to ask it again.
    if (!hasLeader && isTimeout(answer) && !isTimeout(modelled))
      answer = await this.#ask(slot, call, PATIENT_MS);
    if (call.kind === "hash" && !agree(answer, modelled) && this.#model.forgetHash(slot, call.revision))
      modelled = await this.#model.call(slot, call, timeoutMs);
    // Which leader a learner heard last is a race where the one that was stopped handed over first.
    if (!hasLeader && this.#model.server(slot)?.isLearner)
      [answer, modelled] = [withoutLeader(answer), withoutLeader(modelled)];
    if (!answer.ok) this.report.refused++;
    if (!hasLeader && isTimeout(answer) && isTimeout(modelled)) return;
    if (modelled.ok && this.#endsBeforeItAnswers(slot, call, answer)) return await this.#settle();
    if (!agree(answer, modelled) && (await this.#hasElected())) throw new Unsettled(text);
    this.#compare(slot, text, answer, modelled);
    for (const other of serving(this.#ground)) if (other !== slot) this.#behind.add(other);
    if (!answer.ok || !(stirs(call) || call.kind === "downgrade")) return;
    if (call.kind === "downgrade" && call.action === "VALIDATE") return;
    await this.#settle();
    if (call.kind === "remove") await this.#flush();
  }

  /**
   * That an entry is committed reaches the disk with the next entry. A member that is killed before has the removal of
   * another in its store but not in its raft, and waits for that one's vote: so there is a next entry at once.
   */
  async #flush(): Promise<void> {
    const slot = leaderOf(this.#ground);
    if (slot) await this.#call({ slot, call: { kind: "alarm", action: "GET", id: "0", alarm: "NOSPACE" } });
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

  /**
   * A member that is asked to remove itself answers, or its end comes first: both happen, within milliseconds. That it
   * was removed is what the sides then have to agree on.
   */
  #endsBeforeItAnswers(slot: Slot, call: Call, answer: Outcome): boolean {
    const itself = call.kind === "remove" && call.id === this.#model.disk.dirs.get(slot.name)?.memberID;
    return itself && !answer.ok && ["server-stopped", "unavailable"].includes(answer.error);
  }

  #isDowngrading(): boolean {
    const leader = leaderOf(this.#ground);
    return leader !== undefined && this.#model.server(leader)?.dir.state.downgrade !== undefined;
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

  #compare(slot: Slot, text: string, real: Outcome, model: Outcome): void {
    if (agree(real, model)) {
      if (real.ok && model.ok && this.#hashes.differ(real.value, model.value, this.#model.server(slot)))
        this.#differs(`${text}: a hash that differs from another member's`);
      return;
    }
    this.#differs(`${text}\n  real:  ${JSON.stringify(real)}\n  model: ${JSON.stringify(model)}`);
  }

  /** The model comes to rest, and the real side has to come to the same. */
  async #settle(): Promise<void> {
    await this.#model.calm();
    // The leader looks every few seconds whether the versions can move on.
    if (this.#isDowngrading()) await this.#model.pass(10_000);
    const wanted = await this.#views(this.#model);
    const end = this.#options.now() + (this.#options.patienceMs ?? PATIENCE_MS);
    // Looking costs more than waiting does: soon at first, then less and less often.
    for (let pause = 40; ; pause = Math.min(200, 1.4 * pause)) {
      const found = await this.#views(this.#options.real);
      const differing = this.#ground.slots.filter(
        ({ name }) => !isDeepStrictEqual(found.views[name], wanted.views[name]),
      );
      if (differing.length === 0 && found.leads !== "several" && !this.#mayStillSpeak(wanted.views)) {
        this.#align(found.leads, wanted.leads);
        this.#terms = found.terms;
        this.#behind.clear();
        return;
      }
      if (this.#options.now() > end) {
        if (await this.#wasTorn(differing, found.views, wanted.views)) throw new Unsettled("torn");
        const lines: string[] = [];
        for (const slot of differing) {
          const [real, model] = [found, wanted].map(({ views }) => JSON.stringify(views[slot.name]));
          const words = await this.#options.real.lastWords(slot);
          lines.push(`  ${slot.name} real:  ${real}\n  ${slot.name} model: ${model}\n    ${words}`);
        }
        this.#differs(`did not come to the same rest (${found.leads})\n${lines.join("\n")}`);
      }
      await this.#options.wait(pause);
    }
  }

  /**
   * How much of its first log a joiner had on disk when it was ended is a race: one that was removed meanwhile and had
   * nothing yet knows nobody who could tell it so.
   */
  async #wasTorn(differing: readonly Slot[], real: Views, model: Views): Promise<boolean> {
    for (const slot of differing) {
      if (real[slot.name]?.process !== "silent") return false;
      if (model[slot.name]?.process !== "ended: permanently-removed") return false;
      if (!(await this.#options.real.lastWords(slot)).includes("missing term information")) return false;
    }
    return differing.length > 0;
  }

  /** Silence says nothing at first: a process that boots is silent too, and one that is about to end. */
  #mayStillSpeak(wanted: Views): boolean {
    const silent = Object.values(wanted).some(({ process }) => process === "silent");
    return silent && this.#options.now() - this.#livedAt < SILENT_MS;
  }

  async #views(side: Side): Promise<{ views: Record<string, SlotView>; leads: string; terms: string }> {
    const seen = await lookAtAll(side, this.#ground.slots);
    const byId = new Map(seen.filter(({ id }) => id !== "").map(({ id, slot }) => [id, slot.name]));
    // Learners go on naming a leader that is no more.
    const leaders = new Set(
      seen
        .filter(({ leader, isLearner }) => leader !== "" && leader !== "0" && !isLearner)
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

  #reported(text: string): void {
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
