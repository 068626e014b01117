/**
 * Every effect of a scenario, one by one: the operator dies right after it, or the answer to it is lost.
 * The run must end as the one without a fault does. Enumerated, not sampled.
 */
import type { EtcdClusterSpecInput } from "../../src/api/etcd-cluster-spec.ts";
import { endState, faultsOf, type EndState } from "../oracles/end-state.ts";
import { inflict, type FaultName } from "./faults.ts";
import { Violation } from "../oracles/oracle.ts";
import { mustStayQuiet } from "../oracles/quiet.ts";
import { Simulation } from "./simulation.ts";

export type Move =
  | { readonly edit: Partial<EtcdClusterSpecInput> }
  | { readonly fault: FaultName; readonly member?: string };

export interface Scenario {
  readonly name: string;
  readonly spec: EtcdClusterSpecInput;
  readonly moves: readonly Move[];
}

export const scenarios: readonly Scenario[] = [
  { name: "create 3", spec: { replicas: 3, version: "3.6.16" }, moves: [] },
  { name: "scale out 1 to 3", spec: { replicas: 1, version: "3.6.16" }, moves: [{ edit: { replicas: 3 } }] },
  {
    name: "scale out 1 to 3 on 3.5",
    spec: { replicas: 1, version: "3.5.35" },
    moves: [{ edit: { replicas: 3 } }],
  },
  { name: "scale in 5 to 1", spec: { replicas: 5, version: "3.7.3" }, moves: [{ edit: { replicas: 1 } }] },
  {
    name: "replace a wiped member",
    spec: { replicas: 3, version: "3.6.16" },
    moves: [{ fault: "wipe", member: "demo-2" }],
  },
  {
    name: "replace a lost volume",
    spec: { replicas: 3, version: "3.5.35" },
    moves: [{ fault: "lose-volume", member: "demo-1" }],
  },
  {
    name: "upgrade 3.5 to 3.7",
    spec: { replicas: 3, version: "3.5.35" },
    moves: [{ edit: { version: "3.7.3" } }],
  },
  {
    name: "downgrade 3.7 to 3.6",
    spec: { replicas: 3, version: "3.7.3" },
    moves: [{ edit: { version: "3.6.16" } }],
  },
  {
    name: "hibernate and wake",
    spec: { replicas: 3, version: "3.6.16" },
    moves: [{ edit: { replicas: 0 } }, { edit: { replicas: 3 } }],
  },
  {
    name: "a bad option and its correction",
    spec: { replicas: 3, version: "3.6.16" },
    moves: [
      { edit: { options: { extraArgs: { "tls-min-version": "bogus" } } } },
      { edit: { options: { extraArgs: { "tls-min-version": "TLS1.3" } } } },
    ],
  },
  {
    name: "change the storage class",
    spec: { replicas: 3, version: "3.6.16" },
    moves: [{ edit: { storage: { className: "fast" } } }],
  },
  {
    name: "a standing learner on 3.5",
    spec: { replicas: 3, learners: 1, version: "3.5.35" },
    moves: [{ edit: { replicas: 5 } }],
  },
];

export interface Plan {
  readonly crashAfter?: number;
  readonly loseReplyOf?: number;
}

export function play(scenario: Scenario, seed: number, plan: Plan = {}): { sim: Simulation; end: EndState } {
  const sim = new Simulation(scenario.spec, {
    seed,
    faults: {
      ...(plan.crashAfter === undefined ? {} : { crashAfter: new Set([plan.crashAfter]) }),
      ...(plan.loseReplyOf === undefined ? {} : { loseReplyOf: new Set([plan.loseReplyOf]) }),
    },
  });
  sim.settle();
  for (const move of scenario.moves) {
    if ("edit" in move) sim.edit(move.edit);
    else inflict(sim, move.fault, move.member);
    sim.settle();
  }
  const wrong = faultsOf(sim);
  if (wrong.length > 0) throw new Violation("end state", wrong.join("; "));
  if (sim.converged) mustStayQuiet(sim);
  return { sim, end: endState(sim) };
}

export interface Enumerated {
  readonly scenario: string;
  readonly effects: number;
  readonly plans: number;
  readonly events: number;
  readonly passes: number;
  readonly failures: readonly { readonly plan: string; readonly message: string }[];
}

/** All plans of a scenario; `every` takes only each n-th effect, for a quick look. */
export function enumerate(scenario: Scenario, seed: number, every = 1): Enumerated {
  const plain = play(scenario, seed);
  const effects = plain.sim.effects.names;
  const failures: { plan: string; message: string }[] = [];
  const sums = { plans: 0, events: plain.sim.scheduler.ran, passes: plain.sim.operator.passes };
  for (let number = 1; number <= effects.length; number += every) {
    for (const kind of ["crashAfter", "loseReplyOf"] as const) {
      sums.plans++;
      const words = `${kind === "crashAfter" ? "crash after" : "lost reply of"} effect ${number} (${effects[number - 1]})`;
      try {
        const { sim, end } = play(scenario, seed, { [kind]: number });
        sums.events += sim.scheduler.ran;
        sums.passes += sim.operator.passes;
        const [a, b] = [JSON.stringify(plain.end), JSON.stringify(end)];
        if (a !== b) failures.push({ plan: words, message: `ends as ${b}, without the fault as ${a}` });
      } catch (error) {
        if (!(error instanceof Error)) throw error;
        failures.push({ plan: words, message: error.message });
      }
    }
  }
  return { scenario: scenario.name, effects: effects.length, ...sums, failures };
}
