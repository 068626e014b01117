/**
 * What holds for decide() on anything it can be shown: it is total and deterministic, and takes one safe step at a time.
 * The unit tests try each on a thousand observations, `npm run sim:observations` all of them on many more.
 */
import assert from "node:assert/strict";
import { CLUSTER_CONDITIONS } from "../../api/status-words.ts";
import { decide } from "../decide.ts";
import type { Observation } from "../observation.ts";
import { statusOf } from "../status/status.ts";
import { assertInvariants } from "./naive-invariants.ts";

export interface DecideProperty {
  readonly title: string;
  /** Throws where it does not hold. */
  readonly check: (o: Observation) => void;
}

function freeze<T>(value: T): T {
  if (value !== null && typeof value === "object" && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const part of Object.values(value)) freeze(part);
  }
  return value;
}

export const decideProperties: readonly DecideProperty[] = [
  {
    title: "decide is total, changes nothing it is shown, and answers the same twice",
    check: (o) => {
      freeze(o);
      assert.deepEqual(decide(o), decide(structuredClone(o)));
    },
  },
  {
    title:
      "a step is taken only if no earlier hold names its class; converged means nothing to do or wait for",
    check: (o) => {
      const { act, holds, heldBack, converged } = decide(o);
      const held = (stepClass: string) =>
        holds.some(
          (hold) => hold.classes === "all" || (hold.classes as readonly string[]).includes(stepClass),
        );
      if (act) assert.ok(!held(act.class) && !converged);
      for (const kept of heldBack) assert.ok(held(kept.class));
      if (converged) assert.equal(heldBack.length, 0);
      for (const hold of holds) assert.ok(hold.message.length > 0);
    },
  },
  {
    title: "a wait ends in the future: one that is over already would be asked about again and again",
    check: (o) => {
      const { act, holds, lookAgainAt } = decide(o);
      for (const { reason, until } of holds) assert.ok(until === undefined || until > o.now, reason);
      if (act) return;
      const untils = holds.flatMap(({ until }) => until ?? []);
      assert.equal(lookAgainAt, untils.length === 0 ? undefined : Math.min(...untils));
    },
  },
  {
    title: "no step breaks an invariant (I1–I5, I9), whatever was seen",
    check: (o) => {
      const { act } = decide(o);
      if (act) assertInvariants(o, act.action);
    },
  },
  {
    title: "what is held back would be safe too, as far as can be seen now (I1, I4, I5)",
    check: (o) => {
      if (
        o.platform.fenced ||
        o.cluster.spec.paused ||
        o.platform.clashes.some(({ concerns }) => concerns === "cluster")
      )
        return;
      for (const { action } of decide(o).heldBack) assertInvariants(o, action);
    },
  },
  {
    title:
      "the status of anything can be reported: Available only with quorum, Ready only when nothing is left to do (I6)",
    check: (o) => {
      const { conditions = [] } = statusOf(o, decide(o), undefined);
      const is = (type: string) => conditions.find((known) => known.type === type)?.status;
      if (is("Available") === "True") assert.equal(is("Quorate"), "True");
      if (is("Quorate") === "True") assert.ok(o.etcd.list?.linearizable);
      if (is("Ready") === "True") {
        assert.equal(is("Available"), "True");
        assert.equal(is("Quorate"), "True");
        assert.equal(is("Degraded"), "False");
        assert.deepEqual([is("Reconciling"), is("Stalled")], ["False", "False"]);
      }
      assert.ok(is("Reconciling") !== "True" || is("Stalled") !== "True", "kstatus reads the first it finds");
      assert.ok(conditions.every((known) => known.observedGeneration === o.cluster.generation));
      // Told where there is something to tell of.
      const always = (type: string) => type !== "AuthReady" && type !== "BackedUp";
      assert.deepEqual(conditions.map(({ type }) => type).filter(always), CLUSTER_CONDITIONS.filter(always));
    },
  },
];
