/**
 * Entries in etcd's list that no record stands for. One that only this cluster can have made is a ghost
 * of ours (its record was lost) and is removed when that is safe. Any other was put there by somebody else:
 * it counts in every quorum, is told of, and is left alone (I9).
 */
import { act, hold } from "../outcome.ts";
import type { Outcome } from "../action.ts";
import type { Rule } from "../rule.ts";
import { describeForeign, foreignMembers, labelOf, removeForeign } from "../assess/foreign.ts";
import { survivesRemoval } from "../quorum.ts";

export const strangers: Rule = (view) => {
  if (!view.established || !view.observation.etcd.list?.linearizable) return [];
  const outcomes: Outcome[] = foreignMembers(view).map((entry) =>
    hold({
      classes: [],
      reason: "ForeignMember",
      message: describeForeign(view, entry),
      next: removeForeign(entry),
    }),
  );
  for (const entry of view.strangers) {
    if (!entry.ours) continue;
    // Absent from a cache is not gone: it counts in every quorum, and its place is not given to another.
    if (entry.recordUnconfirmed) {
      outcomes.push(
        hold({
          classes: ["join", "shrink", "roll", "maintain"],
          reason: "RecordUnconfirmed",
          message: `etcd lists ${labelOf(entry)}, but its record was not found; waiting for the API server to confirm that it was deleted`,
        }),
      );
      continue;
    }
    const safe = entry.isLearner || survivesRemoval(view.voters, view.healthyVoters);
    if (view.hasQuorum && safe) {
      outcomes.push(
        act("heal", `${labelOf(entry)} has no record any more: a ghost of this cluster`, {
          kind: "RemoveFromEtcd",
          member: entry.name || entry.id,
          memberID: entry.id,
        }),
      );
    }
  }
  return outcomes;
};
