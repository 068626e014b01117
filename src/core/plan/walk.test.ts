/**
 * Random walks: a cluster that is created, edited and broken in any order, with decide() at work in between. On
 * every pass the step taken is safe, and in the end the cluster is as its spec says, or says what it needs.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { EtcdClusterSpecInput } from "../../api/etcd-cluster-spec.ts";
import type { Decision } from "../action.ts";
import { decide } from "../decide.ts";
import { canonical } from "../template/hash.ts";
import type { Observation } from "../observation.ts";
import { describeStep } from "../messages/step-names.ts";
import { predict } from "./predict.ts";
import { settle } from "./settle.ts";
import { asked, change, edit, exited } from "../testing/cluster.ts";
import { assertInvariants, look } from "../testing/naive-invariants.ts";

const RUNS = { numRuns: Number(process.env["PROPERTY_RUNS"] ?? 100) };
const MOST_PASSES = 600;
const DAY_MS = 86_400_000;

type Event =
  | { readonly kind: "edit"; readonly input: Partial<EtcdClusterSpecInput> }
  | { readonly kind: "kill" | "wipe" | "break" | "drop" | "forget"; readonly member: number }
  | { readonly kind: "passes"; readonly count: number };

const edits: fc.Arbitrary<Partial<EtcdClusterSpecInput>> = fc.oneof(
  fc.record({ replicas: fc.integer({ min: 0, max: 5 }) }),
  fc.record({ version: fc.constantFrom("3.5.35", "3.6.16", "3.7.3") }),
  fc.record({ learners: fc.integer({ min: 0, max: 1 }) }),
  fc.constant({ options: { logLevel: "Debug" as const } }),
  fc.constant({ storage: { className: "fast" } }),
);
const events: fc.Arbitrary<Event> = fc.oneof(
  fc.record({ kind: fc.constant("edit" as const), input: edits }),
  fc.record({
    kind: fc.constantFrom(
      "kill" as const,
      "wipe" as const,
      "break" as const,
      "drop" as const,
      "forget" as const,
    ),
    member: fc.nat(4),
  }),
  fc.record({ kind: fc.constant("passes" as const), count: fc.integer({ min: 1, max: 12 }) }),
);

function happen(o: Observation, event: Event): Observation {
  if (event.kind === "edit") return edit(o, event.input);
  if (event.kind === "passes") return o;
  const name = o.members[event.member % Math.max(1, o.members.length)]?.record.name;
  if (name === undefined) return o;
  switch (event.kind) {
    case "kill":
      return exited(o, name);
    case "wipe":
      return exited(o, name, "data-missing");
    case "break": {
      // Where no majority is left to learn from, only a person knows the right configuration.
      const broken = exited(o, name, "bad-configuration", { restarts: 2 });
      const { healthyVoters, voters } = look(broken);
      return healthyVoters() > voters.length / 2 ? broken : o;
    }
    case "drop":
      return change(o, name, { deleting: true });
    case "forget":
      // The controller was restarted: what it only remembered is gone.
      return { ...o, etcd: { ...o.etcd, hashes: undefined, compacted: undefined, defragmentedAt: {} } };
  }
}

/** One pass: a safe step, or time goes by. */
function pass(o: Observation, decision: Decision, log: string[]): Observation {
  if (decision.act) {
    log.push(describeStep(decision.act));
    assertInvariants(o, decision.act.action);
    return predict(o, decision.act.action);
  }
  return settle({ ...o, now: Math.max(o.now + 1000, decision.lookAgainAt ?? 0) });
}

/** At rest, or waiting for a person; without quorum also for members that only the world can bring back. */
function ended(o: Observation, { act, converged, holds }: Decision): boolean {
  if (act) return false;
  if (converged || holds.some((hold) => hold.next !== undefined && hold.classes.length > 0)) return true;
  const { healthyVoters, voters } = look(o);
  const quorumIsGone = healthyVoters() <= voters.length / 2;
  const muchLater = { ...o, now: o.now + DAY_MS };
  return quorumIsGone && decide(muchLater).act === undefined && canonical(settle(o)) === canonical(o);
}

type Walk = { readonly version: string; readonly replicas: number; readonly events: Event[] };

/** One broken and leaving, another without data: nobody can bring the quorum back but the world. */
const QUORUM_LOST: Walk = {
  version: "3.5.35",
  replicas: 4,
  events: [
    { kind: "passes", count: 1 },
    { kind: "kill", member: 0 },
    { kind: "break", member: 0 },
    { kind: "edit", input: { learners: 0 } },
    { kind: "break", member: 1 },
    { kind: "wipe", member: 1 },
  ],
};

test("whatever is edited and broken, every step is safe and the cluster comes to rest", () => {
  const walk: fc.Arbitrary<Walk> = fc.record({
    version: fc.constantFrom("3.5.35", "3.6.16", "3.7.3"),
    replicas: fc.integer({ min: 1, max: 5 }),
    events: fc.array(events, { maxLength: 8 }),
  });
  fc.assert(
    fc.property(walk, ({ version, replicas, events: happenings }) => {
      const log: string[] = [];
      try {
        let world = settle(asked({ version, replicas }));
        for (let i = 0; i < 10; i++) world = pass(world, decide(world), log);
        for (const event of happenings) {
          log.push(`— ${JSON.stringify(event)}`);
          world = happen(world, event);
          const count = event.kind === "passes" ? event.count : 1;
          for (let i = 0; i < count; i++) world = pass(world, decide(world), log);
        }
        log.push("— and then");
        let decision = decide(world);
        for (let passes = 0; !ended(world, decision); passes++) {
          assert.ok(passes < MOST_PASSES, `no rest: ${JSON.stringify(decision.holds)}`);
          world = pass(world, decision, log);
          decision = decide(world);
        }
        if (decision.converged && world.cluster.spec.replicas > 0) assertAsAsked(world);
      } catch (cause) {
        throw new Error(`${(cause as Error).message}\n${log.slice(-60).join("\n")}`, { cause });
      }
    }),
    { ...RUNS, examples: [[QUORUM_LOST]] },
  );
});

function assertAsAsked(o: Observation): void {
  const { spec } = o.cluster;
  const list = o.etcd.list?.members ?? [];
  assert.equal(list.filter((entry) => !entry.isLearner).length, spec.replicas, "as many voters as asked for");
  assert.equal(list.filter((entry) => entry.isLearner).length, spec.learners, "and learners");
  for (const { record } of o.members) {
    assert.equal(record.template.version, spec.version);
    assert.ok(record.joined && !record.leaving && !record.retiring);
    assert.equal(record.template.storage.className, spec.storage.className);
  }
}
