/**
 * Runs that learn from each other: a schedule that reached something new is kept, and most of the next ones are made
 * from those kept; of several the one is played that promises most. Beside them, as many runs drawn from nothing but
 * their seeds, to see what the guidance is worth.
 */
import { SeededRandom } from "../engine/random.ts";
import { Promises } from "./promises.ts";

/** One kind of runs: how its schedules are drawn, changed and played. */
export interface Game<S> {
  readonly draw: (seed: number) => S;
  readonly mutate: (schedule: S, other: S, random: SeededRandom) => S;
  readonly play: (schedule: S) => Promise<Reached>;
  /** What is done in it, by the words of its features, in order. */
  readonly causes: (schedule: S) => readonly string[];
}

export interface Reached {
  readonly features: ReadonlySet<string>;
  readonly violation: string | undefined;
  readonly events: number;
  readonly passes: number;
}

export interface Failed<S> {
  readonly found: string;
  readonly schedule: S;
}

export interface Outcome<S> {
  readonly runs: number;
  readonly events: number;
  readonly passes: number;
  readonly features: readonly string[];
  readonly failed: readonly Failed<S>[];
}

export interface Searched<S> {
  readonly guided: Outcome<S>;
  readonly plain: Outcome<S>;
  /** How many schedules were kept. */
  readonly corpus: number;
}

/** So many are drawn afresh although there are others to begin with. */
const AFRESH = 0.6;
const CANDIDATES = 12;
/** The last kept are tried most: what they reached is the least explored. */
const RECENT = 12;

class Sum<S> {
  runs = 0;
  events = 0;
  passes = 0;
  readonly #features = new Set<string>();
  readonly failed: Failed<S>[] = [];

  /** What in it was new. */
  add(schedule: S, { features, violation, events, passes }: Reached): readonly string[] {
    const fresh = [...features].filter((feature) => !this.#features.has(feature));
    this.runs++;
    this.events += events;
    this.passes += passes;
    for (const feature of fresh) this.#features.add(feature);
    if (violation !== undefined) this.failed.push({ found: violation, schedule });
    return fresh;
  }

  get outcome(): Outcome<S> {
    const { runs, events, passes, failed } = this;
    return { runs, events, passes, failed, features: [...this.#features].toSorted() };
  }
}

export async function search<S>(
  game: Game<S>,
  options: {
    readonly seed: number;
    readonly runs: number;
    readonly onRun?: (events: number, passes: number) => void;
  },
): Promise<Searched<S>> {
  const random = new SeededRandom(options.seed ^ 0x9d1ded);
  const [guided, plain] = [new Sum<S>(), new Sum<S>()];
  const corpus: S[] = [];
  const promises = new Promises();
  for (let run = 0; run < options.runs; run++) {
    const candidates = Array.from({ length: CANDIDATES }, () => next(game, corpus, random));
    const schedule = promises.best(candidates, game.causes);
    const reached = await game.play(schedule);
    options.onRun?.(reached.events, reached.passes);
    const fresh = guided.add(schedule, reached);
    promises.learn(game.causes(schedule), fresh);
    // One that fails is reported; what comes from it would most likely fail again.
    if (fresh.length > 0 && reached.violation === undefined) corpus.push(schedule);
  }
  for (let run = 0; run < options.runs; run++) {
    const schedule = game.draw(random.between(1, 2 ** 30));
    const reached = await game.play(schedule);
    options.onRun?.(reached.events, reached.passes);
    plain.add(schedule, reached);
  }
  return { guided: guided.outcome, plain: plain.outcome, corpus: corpus.length };
}

function next<S>(game: Game<S>, corpus: readonly S[], random: SeededRandom): S {
  if (corpus.length === 0 || random.chance(AFRESH)) return game.draw(random.between(1, 2 ** 30));
  const recent = random.chance(0.5) ? corpus.slice(-RECENT) : corpus;
  return game.mutate(random.pick(recent), random.pick(corpus), random);
}
