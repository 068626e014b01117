/**
 * The kinds beside EtcdCluster that people write, for the random calls: created and changed to what their examples say,
 * good and bad. A new kind needs a line here, and is missed by name until it has one.
 */
import { exampleAuthObject, roleExamples, userExamples } from "../../../../src/api/auth-examples.ts";
import { exampleOperation, operationExamples } from "../../../../src/api/operation-examples.ts";
import { exampleSchedule, scheduleExamples } from "../../../../src/api/schedule-examples.ts";
import { exampleSnapshot, snapshotExamples } from "../../../../src/api/snapshot-examples.ts";
import type { SeededRandom } from "../../../engine/random.ts";
import type { Kind } from "../kind.ts";
import { ours } from "../kinds/ours.ts";
import { json, type Json } from "../object.ts";
import { digits, some, type Payload } from "./payload.ts";

interface Dependent {
  readonly specs: readonly object[];
  /** Fields of its status, beside those that all of them have. */
  readonly status: (random: SeededRandom) => Json;
}

const specOf = (object: object): object => json((object as { spec?: unknown }).spec);
/** Good ones first: the first of all marks the end of a watch. */
const specsOf = <S>(
  examples: readonly { readonly spec: S; readonly refusedAt?: string }[],
  whole: (spec: S) => object,
) =>
  examples
    .toSorted((a, b) => Number(a.refusedAt !== undefined) - Number(b.refusedAt !== undefined))
    .map(({ spec }) => specOf(whole(spec)));

const DEPENDENTS: Readonly<Record<string, Dependent>> = {
  EtcdOperation: {
    specs: specsOf(operationExamples, (spec) => exampleOperation(spec)),
    status: (random) => ({
      phase: random.pick(["Pending", "Running", "Succeeded", "Whatever"]),
      members: ["demo-1", "demo-2"],
      steps: [{ at: "2030-01-07T12:00:00Z", message: digits(random), member: "demo-1" }],
      revision: random.pick([0, 7, -1]),
    }),
  },
  EtcdSnapshot: {
    specs: specsOf(snapshotExamples, (spec) => exampleSnapshot(spec)),
    status: (random) => ({
      phase: random.pick(["Pending", "Succeeded", "Deleting", "Whatever"]),
      uri: `s3://backups/${digits(random)}`,
      size: random.pick([0, 20_512, -1]),
    }),
  },
  EtcdSnapshotSchedule: {
    specs: specsOf(scheduleExamples, (spec) => exampleSchedule(spec)),
    status: (random) => ({ kept: random.pick([0, 3, -1]), next: "2030-01-07T12:00:00Z", active: "a-1" }),
  },
  EtcdUser: {
    specs: specsOf(userExamples, (spec) => exampleAuthObject("EtcdUser", spec)),
    status: () => ({ name: "orders" }),
  },
  EtcdRole: {
    specs: specsOf(roleExamples, (spec) => exampleAuthObject("EtcdRole", spec)),
    status: () => ({ name: "orders" }),
  },
};

function statusOf(random: SeededRandom, { status }: Dependent): Json {
  return {
    ...some(random, {
      observedGeneration: random.pick([-1, 1, 2]),
      reason: random.pick(["Because", "x".repeat(65)]),
      message: digits(random),
      ...status(random),
    }),
    conditions: ["Ready", "Stalled"]
      .filter(() => random.chance(0.5))
      .map((type) => ({
        type,
        status: random.pick(["True", "False"]),
        reason: "Because",
        message: digits(random),
        lastTransitionTime: "2030-01-07T12:00:00Z",
      })),
  };
}

function payloadOf(kind: Kind): Payload {
  const dependent = DEPENDENTS[kind.kind];
  if (dependent === undefined)
    throw new RangeError(
      `nothing is known of ${kind.kind}: add it to sim/models/kube/conformance/payloads-dependents.ts`,
    );
  const { specs } = dependent;
  const full = specs.filter((one) => !JSON.stringify(one).includes("{}"));
  const spec = (random: SeededRandom) => ({ spec: random.pick(specs) as Json });
  return {
    kind,
    names: ["orders", "demo-once"],
    whole: (random) => (random.chance(0.05) ? {} : spec(random)),
    change: spec,
    // Of a map that is applied empty after it was applied full, a real server makes null and refuses it as such.
    wanted: (random) => ({ spec: random.pick(full) as Json }),
    status: (random) => statusOf(random, dependent),
  };
}

/** The first two, made by the operator or made into members, have payloads of their own. */
export const dependentPayloads: readonly Payload[] = ours.slice(2).map(payloadOf);
