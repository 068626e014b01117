/**
 * A status that the resource definition takes: words from elsewhere (an image that cannot be pulled, an error of
 * etcd) may be longer than its fields, and a status that is refused as a whole tells nobody anything. Pure.
 */
import type { EtcdClusterStatus } from "../../api/etcd-cluster-status.ts";
import type { EtcdMemberStatus } from "../../api/etcd-member.ts";
import type { Condition } from "../../api/metadata.ts";

const LONGEST_SENTENCE = 1_024;
const LONGEST_MESSAGE = 32_768;
const MOST_WARNINGS = 32;

export function fitCluster(status: EtcdClusterStatus): EtcdClusterStatus {
  const { message, conditions, plan, warnings } = status;
  return {
    ...status,
    ...(message !== undefined && { message: cut(message, LONGEST_SENTENCE) }),
    ...(conditions && { conditions: conditions.map(fitCondition) }),
    ...(plan && {
      plan: plan.map((step) => ({
        ...step,
        text: cut(step.text, LONGEST_SENTENCE),
        ...(step.waitingFor !== undefined && { waitingFor: cut(step.waitingFor, LONGEST_SENTENCE) }),
      })),
    }),
    ...(warnings && {
      warnings: warnings.slice(0, MOST_WARNINGS).map((warning) => cut(warning, LONGEST_SENTENCE)),
    }),
  };
}

export function fitMember(status: EtcdMemberStatus): EtcdMemberStatus {
  const { message, conditions } = status;
  return {
    ...status,
    ...(message !== undefined && { message: cut(message, LONGEST_SENTENCE) }),
    ...(conditions && { conditions: conditions.map(fitCondition) }),
  };
}

function fitCondition(condition: Condition): Condition {
  return { ...condition, message: cut(condition.message, LONGEST_MESSAGE) };
}

/** Counted in characters, as the API server does; a pair of surrogates is one. */
function cut(text: string, longest: number): string {
  if (text.length <= longest) return text;
  const characters = Array.from(text);
  return characters.length <= longest ? text : `${characters.slice(0, longest - 1).join("")}…`;
}
