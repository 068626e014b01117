/**
 * The status of a cluster that is not looked at: nothing of it can be understood, because it has no members yet or its
 * marks cannot be read, or each look ends in a fault of the operator's own. Why, and what to do; nothing else is claimed
 * of it (I6): what was true is unknown now. What runs goes on running. Pure.
 */
import type { EtcdClusterStatus } from "../../api/etcd-cluster-status.ts";
import type { Condition } from "../../api/metadata.ts";
import type { ApiError } from "../../api/validate.ts";
import { timestamp } from "../../core/status/conditions.ts";
import { fitCluster } from "./fit-status.ts";

type Blind = (previous: EtcdClusterStatus | undefined, generation: number, now: number) => EtcdClusterStatus;

export function invalidStatus(errors: readonly ApiError[]): Blind {
  const what = errors.map(({ path, message }) => `${path}: ${message}`).join("; ");
  const message = `the cluster cannot be understood, and nothing is changed: ${what}. Correct it; what runs goes on as it was`;
  return blind("InvalidSpec", message, "not looked at while the cluster cannot be understood");
}

export function faultStatus(error: unknown): Blind {
  const what = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  const message = `the operator cannot look at this cluster, by a fault of its own (${what}); what runs goes on as it was. Take the last edit back, and report the operator's log`;
  return blind("OperatorFault", message, "not looked at, by a fault of the operator's own");
}

function blind(reason: string, message: string, unknown: string): Blind {
  return (previous, generation, now) => {
    const before = previous?.conditions ?? [];
    const say = (type: string, status: Condition["status"], words: string): Condition => {
      const known = before.find((condition) => condition.type === type);
      return {
        type,
        status,
        reason,
        message: words,
        lastTransitionTime: known?.status === status ? known.lastTransitionTime : timestamp(now),
        observedGeneration: generation,
      };
    };
    const others = before.filter(({ type }) => type !== "Progressing");
    return fitCluster({
      ...previous,
      observedGeneration: generation,
      phase: `Needs attention: ${message}`,
      conditions: [
        ...others.map(({ type }) => say(type, "Unknown", unknown)),
        say("Progressing", "False", message),
      ],
      plan: [],
    });
  };
}
