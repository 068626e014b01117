/**
 * The long tiers of `npm run proof`, one line each. A tier is a tool that exits with 0 when it found nothing, and what
 * in its output is worth counting. To add one: a line here, and a paragraph in docs/proof.md.
 */

export interface Tier {
  /** For `--only`. */
  readonly id: string;
  readonly title: string;
  readonly args: readonly string[];
  readonly limitMs: number;
  /**
   * "beside": mostly waits for real servers, and runs while those before it compute. "alone": measures, after all
   * others.
   */
  readonly when?: "beside" | "alone";
  /** Where the counts stand in its output; the first group, summed over all matches. */
  readonly counts: Partial<Record<Column, RegExp>>;
}

export const COLUMNS = ["plans", "states", "seeds", "steps", "faults", "bugs found"] as const;
export type Column = (typeof COLUMNS)[number];

const MINUTE = 60_000;
const SEEDS = {
  seeds: /^(\d+) seeds/gm,
  steps: /(\d+) steps, \d+ crashes/g,
  faults: /(\d+) crashes/g,
  "bugs found": /seeds, (\d+) violations/g,
};
const RUNS = { seeds: /^(\d+) runs, /gm, "bugs found": /^\d+ runs, (\d+) violations/gm };
const PLANS = {
  plans: /^(\d+) plans, /gm,
  faults: /^(\d+) plans, /gm,
  "bugs found": /^\d+ plans, (\d+) fail/gm,
};
const SEARCH = {
  states: /^(\d+) states, /gm,
  steps: /^\d+ states, (\d+) transitions/gm,
  "bugs found": /transitions, (\d+) violations/g,
};

export const tiers: readonly Tier[] = [
  {
    id: "seeds",
    when: "alone",
    title: "random runs of the rules",
    args: ["sim/main.ts", "--seeds", "10000"],
    limitMs: 60 * MINUTE,
    counts: SEEDS,
  },
  {
    id: "observations",
    title: "properties of decide() on random observations",
    args: ["sim/rules/observations.ts", "--runs", "1000000"],
    limitMs: 60 * MINUTE,
    counts: { states: /^(\d+) observations, /gm, "bugs found": /observations, (\d+) violations/g },
  },
  {
    id: "seeds-machine",
    title: "random runs of the product on one machine",
    args: ["sim/main.ts", "--machine", "--seeds", "60"],
    limitMs: 10 * MINUTE,
    counts: SEEDS,
  },
  {
    id: "seeds-operator",
    title: "random runs of the operator on Kubernetes",
    args: ["sim/main.ts", "--operator", "--seeds", "2000"],
    limitMs: 90 * MINUTE,
    counts: SEEDS,
  },
  {
    id: "guided",
    title: "runs of the rules, guided by what they reach",
    args: ["sim/main.ts", "--guided", "--seeds", "1000"],
    limitMs: 60 * MINUTE,
    counts: RUNS,
  },
  {
    id: "guided-operator",
    title: "the same of the operator on Kubernetes",
    args: ["sim/main.ts", "--operator", "--guided", "--seeds", "500"],
    limitMs: 60 * MINUTE,
    counts: RUNS,
  },
  {
    id: "enumerate",
    title: "every effect of the rules, crashed and unanswered",
    args: ["sim/main.ts", "--enumerate"],
    limitMs: 10 * MINUTE,
    counts: PLANS,
  },
  {
    id: "enumerate-machine",
    title: "the same of the product on one machine, a sample",
    args: ["sim/main.ts", "--machine", "--enumerate", "--every", "8"],
    limitMs: 30 * MINUTE,
    counts: PLANS,
  },
  {
    id: "enumerate-operator",
    title: "the same of the operator on Kubernetes, and every cache",
    args: ["sim/main.ts", "--operator", "--enumerate"],
    limitMs: 90 * MINUTE,
    counts: PLANS,
  },
  {
    id: "schema",
    title: "every field of the spec, applied, reverted and edited midway",
    args: ["sim/schema/main.ts"],
    limitMs: 30 * MINUTE,
    counts: { plans: /^(\d+) plans, /gm, "bugs found": /covered, (\d+) failures/g },
  },
  {
    id: "exhaustive",
    title: "every state of up to 3 members",
    args: ["sim/rules/exhaustive/main.ts", "--members", "3"],
    limitMs: 15 * MINUTE,
    counts: SEARCH,
  },
  {
    id: "exhaustive-5",
    title: "states of up to 5 members, to a bound",
    args: ["sim/rules/exhaustive/main.ts", "--members", "5", "--seconds", "60"],
    limitMs: 15 * MINUTE,
    counts: SEARCH,
  },
  {
    id: "planted",
    title: "planted bugs",
    args: ["sim/proof/planted.ts"],
    limitMs: 60 * MINUTE,
    counts: { plans: /^(\d+) planted bugs/gm, "bugs found": /planted bugs, (\d+) caught/g },
  },
  {
    id: "mutation",
    title: "mutants of src/core",
    args: ["sim/proof/mutation.ts"],
    limitMs: 20 * MINUTE,
    counts: { plans: /^(\d+) mutants, /gm, "bugs found": /mutants, (\d+) killed/g },
  },
  {
    id: "conformance",
    when: "beside",
    title: "the model API server against the real one",
    args: ["test/conformance/main.ts", "--calls", "10000"],
    limitMs: 10 * MINUTE,
    counts: { steps: /^(\d+) calls/gm, "bugs found": /(\d+) disagreements/g },
  },
  {
    id: "conformance-etcd",
    when: "beside",
    title: "the model etcd against real ones",
    args: ["test/conformance/main.ts", "--etcd", "--calls", "10000"],
    limitMs: 15 * MINUTE,
    counts: {
      steps: /^etcd [\d.]+: (\d+) calls/gm,
      faults: /(\d+) lives/g,
      "bugs found": /(\d+) disagreements/g,
    },
  },
  {
    id: "crash",
    when: "beside",
    title: "the controller of real etcd, killed after every 12th effect",
    args: ["test/crash/main.ts", "--stride", "12"],
    limitMs: 30 * MINUTE,
    counts: {
      plans: /^(\d+) kills, /gm,
      faults: /^(\d+) kills, /gm,
      "bugs found": /^\d+ kills, (\d+) with another end/gm,
    },
  },
  {
    id: "linearizability",
    when: "alone",
    title: "recorded clients of real clusters under faults",
    args: ["test/linear/main.ts", "--minutes", "30"],
    limitMs: 50 * MINUTE,
    counts: {
      seeds: /^(\d+) li(?:fe|ves), seeds /gm,
      steps: /: (\d+) operations, \d+ per second/g,
      faults: /(\d+) × /g,
      "bugs found": /events; (\d+) violations/g,
    },
  },
];
