/** A run of the rules under a schedule: the same life and the same judgement as those of random-run.ts. */
import { inflict, type FaultName } from "../rules/faults.ts";
import { Refusal } from "../models/etcd/refusal.ts";
import { Violation } from "../oracles/oracle.ts";
import type { ProductRun } from "../driver/product-run.ts";
import { DESTRUCTIVE, lived } from "../rules/random-run.ts";
import { Simulation } from "../rules/simulation.ts";
import { causeOf, type Features } from "./features.ts";
import type { RulesDeed, RulesEffectFault, RulesSchedule } from "./rules-schedule.ts";

/** These too leave less than there was, for good. */
const LASTING: readonly FaultName[] = [...DESTRUCTIVE, "forget-record", "remove-member"];
const PATIENCE_MS = 600_000;

export function playRules(schedule: RulesSchedule, features?: Features): Promise<ProductRun> {
  const { seed, spec, settled, effects, moves } = schedule;
  const numbers = (kind: RulesEffectFault) =>
    new Set(effects.flatMap(([number, fault]) => (fault === kind ? [number] : [])));
  const sim = new Simulation(spec, {
    seed,
    faults: { crashAfter: numbers("crash-after"), loseReplyOf: numbers("reply-lost") },
    ...(features && { onPass: (decision, observation) => features.note({ decision, observation }) }),
  });
  return lived(seed, sim, spec, function* (say) {
    if (settled) yield { settle: undefined };
    for (const { waitMs, rest, ...deed } of moves) {
      features?.under(causeOf(deed));
      say(`${perform(sim, deed)} ← ${JSON.stringify(deed)}`);
      yield rest ? { rest: PATIENCE_MS } : { pass: waitMs };
    }
  });
}

function perform(sim: Simulation, deed: RulesDeed): string {
  if (deed.do === "edit") return edit(sim, deed);
  const { fault, pick, reckless } = deed;
  const names = [...sim.objects.records.keys()];
  const member = names[pick % Math.max(1, names.length)];
  if (member === undefined) return "nothing";
  const { voters, healthy } = sim.oracle.truth();
  const spare = voters >= 3 && healthy.size === voters && sim.objects.established;
  if (LASTING.includes(fault) && !spare && reckless !== true) return "nothing";
  inflict(sim, fault, member);
  return `${fault} ${member}`;
}

function edit(sim: Simulation, { change }: Extract<RulesDeed, { do: "edit" }>): string {
  // More than one learner is nothing that 3.5 could have.
  const most = sim.spec.version < "3.6" ? 1 : 2;
  const { learners } = change;
  const wish = learners === undefined ? change : { ...change, learners: Math.min(learners, most) };
  try {
    sim.edit(wish);
    return "edit";
  } catch (error) {
    if (error instanceof Violation || error instanceof Refusal) throw error;
    return "invalid";
  }
}
