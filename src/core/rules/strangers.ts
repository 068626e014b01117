/**
 * Entries in etcd's list that no record stands for. One that only this cluster can have made is a ghost
 * of ours (its record was lost) and is removed when that is safe. Any other was put there by somebody else:
 * it counts in every quorum, is told of, and is left alone (I9).
 */
import { act, hold } from "../outcome.ts";
import type { Outcome } from "../action.ts";
import type { Rule } from "../decide.ts";
import { survivesRemoval } from "../quorum.ts";
import type { EtcdMemberEntry } from "../observation.ts";

export const strangers: Rule = (view) => {
  if (!view.established || !view.observation.etcd.list?.linearizable) return [];
  const outcomes: Outcome[] = [];
  for (const entry of view.strangers) {
    if (!entry.ours) {
      outcomes.push(
        hold({
          classes: [],
          reason: "ForeignMember",
          message: `etcd lists ${label(entry)}, which this cluster did not add`,
          next: "Remove it with etcdctl member remove if it does not belong here.",
        }),
      );
      continue;
    }
    const safe = entry.isLearner || survivesRemoval(view.voters, view.healthyVoters);
    if (view.hasQuorum && safe) {
      outcomes.push(
        act("heal", `${label(entry)} has no record any more: a ghost of this cluster`, {
          kind: "RemoveFromEtcd",
          member: entry.name || entry.id,
          memberID: entry.id,
        }),
      );
    }
  }
  return outcomes;
};

function label(entry: EtcdMemberEntry): string {
  return `${entry.name || "an unstarted member"} (${entry.id}, ${entry.peerURLs.join(" ")})`;
}
