/**
 * Every effect of a scenario, one by one, with something going wrong at it. Each run must end as the one without a
 * fault does. Enumerated, not sampled; which faults there are, the world says.
 */

/** What became of one run of a scenario. */
export interface Played {
  /** What must not depend on when something went wrong. */
  readonly end: string;
  readonly effects: readonly string[];
  /** How many of them created the cluster, where the world tells. */
  readonly created?: number;
  readonly events: number;
  readonly passes: number;
}

/** A world in which scenarios can be played, with a fault or without. */
export interface World<Scenario, Plan> {
  readonly scenarios: readonly Scenario[];
  /** Throws when the scenario ends otherwise than it may. */
  play(scenario: Scenario, seed: number, plan?: Plan): Played | Promise<Played>;
  /** All plans by name; `every` takes only each n-th effect, for a quick look. */
  plans(scenario: Scenario, plain: Played, every: number): Iterable<readonly [string, Plan]>;
}

export interface Enumerated {
  readonly scenario: string;
  readonly effects: number;
  readonly plans: number;
  readonly events: number;
  readonly passes: number;
  readonly failures: readonly { readonly plan: string; readonly message: string }[];
}

/** `fault`: only plans with this in their name; `stop`: the first failure ends it. */
export async function enumerate<Scenario extends { readonly name: string }, Plan>(
  world: World<Scenario, Plan>,
  scenario: Scenario,
  seed: number,
  every = 1,
  { stop = false, fault = "" }: { readonly stop?: boolean; readonly fault?: string } = {},
): Promise<Enumerated> {
  const plain = await world.play(scenario, seed);
  const failures: { plan: string; message: string }[] = [];
  const sums = { plans: 0, events: plain.events, passes: plain.passes };
  for (const [name, plan] of world.plans(scenario, plain, every)) {
    if (stop && failures.length > 0) break;
    if (!name.includes(fault)) continue;
    sums.plans++;
    try {
      const { end, events, passes } = await world.play(scenario, seed, plan);
      sums.events += events;
      sums.passes += passes;
      if (end !== plain.end)
        failures.push({ plan: name, message: `ends as ${end}, without the fault as ${plain.end}` });
    } catch (error) {
      if (!(error instanceof Error)) throw error;
      failures.push({ plan: name, message: error.message });
    }
  }
  return { scenario: scenario.name, effects: plain.effects.length, ...sums, failures };
}

/** Numbers of effects, from 1: after which the controller dies, and whose answer is lost. */
export interface EffectFaults {
  readonly crashAfter?: ReadonlySet<number>;
  readonly loseReplyOf?: ReadonlySet<number>;
}

/** The controller dies after an effect, or does not hear of it where it has an answer. */
export function* crashesAndLostReplies(
  effects: readonly string[],
  every: number,
  dies: string,
  hasReply: (effect: string) => boolean = () => true,
): Generator<readonly [string, EffectFaults]> {
  for (let number = 1; number <= effects.length; number += every) {
    const name = effects[number - 1] ?? "";
    yield [`${dies} after effect ${number} (${name})`, { crashAfter: new Set([number]) }];
    if (hasReply(name))
      yield [`lost reply of effect ${number} (${name})`, { loseReplyOf: new Set([number]) }];
  }
}
