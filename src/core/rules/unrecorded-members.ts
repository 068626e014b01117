/**
 * Entries in etcd's list that no record stands for. One that only this cluster can have made is a ghost
 * of ours (its record was lost) and is removed when that is safe. Any other was put there by somebody else:
 * it counts in every quorum, is reported, and is left alone (I9).
 */
import { act, hold } from "../steps/outcome.ts";
import type { Outcome } from "../action.ts";
import { HOLDS } from "../steps/hold-classes.ts";
import type { Rule } from "../rule.ts";
import { foreignMembers, foreignOf, listed } from "../assess/foreign.ts";
import { survivesRemoval } from "../quorum.ts";

export const unrecordedMembers: Rule = (view) => {
  if (!view.established || !view.observation.etcd.list?.linearizable) return [];
  const outcomes: Outcome[] = foreignMembers(view).map((entry) =>
    hold(HOLDS.nothing, "ForeignMember", { foreign: foreignOf(view, entry) }),
  );
  for (const entry of view.unrecorded) {
    if (!entry.ours) continue;
    // Absent from a cache is not gone: it counts in every quorum, and its place is not given to another.
    if (entry.recordUnconfirmed) {
      outcomes.push(hold(HOLDS.membershipAndDisruptions, "RecordUnconfirmed", { listed: listed(entry) }));
      continue;
    }
    const safe = entry.isLearner || survivesRemoval(view.voters, view.healthyVoters);
    if (view.hasQuorum && safe) {
      outcomes.push(
        act(
          "heal",
          "GhostRemoved",
          { listed: listed(entry) },
          { kind: "RemoveFromEtcd", member: entry.name || entry.id, memberID: entry.id },
        ),
      );
    }
  }
  return outcomes;
};
