/**
 * Members on their way in. The record is the intent (H10); then etcd is told of a learner (R17); only then
 * may it start, on one volume, with the member list of that moment. One after another: the next is added when
 * the former serves. So no list goes stale before its member starts, and none names a member that never
 * started, for whose name etcd would ask for 30 s where names come with Pods (H7).
 */
import { act, hold, update } from "../steps/outcome.ts";
import type { Outcome } from "../action.ts";
import { HOLDS } from "../steps/hold-classes.ts";
import type { Rule } from "../rule.ts";
import { foreignMembers, foreignOf } from "../assess/foreign.ts";
import type { InitialPeer } from "../record.ts";
import { downgradeTarget } from "../assess/downgrade-target.ts";
import { sortPeers } from "../template/template.ts";
import { sameContent } from "../template/hash.ts";
import { exitOf } from "../assess/exit-causes.ts";
import { awaitVolume } from "../assess/newcomer.ts";
import { newcomersBlocked } from "../assess/unmade.ts";
import { batchIsOpen, hasRoomForLearner } from "../assess/size.ts";
import { peerURLOf } from "../config/flags.ts";
import { namesOf, unhealthyVoters, type MemberView, type View } from "../view.ts";

export const finishJoins: Rule = (view) => {
  if (!view.established) return [];
  const joiners = view.staying.filter(
    (member) => member.record.boot === "Join" && !member.record.joined && !member.deleting,
  );
  if (joiners.length === 0 || !view.hasQuorum) return [];
  // Once told of a downgrade, etcd lets no newcomer of either version in until it is done or cancelled (H13). The
  // rollout tells it again when the newcomer serves.
  if (downgradeTarget(view) !== undefined) {
    return [act("revert", "DowngradeBlocksJoin", { members: namesOf(joiners) }, { kind: "CancelDowngrade" })];
  }

  const known = joiners.filter((member) => member.entry);
  for (const joiner of known) {
    const outcomes = startJoiner(view, joiner);
    if (outcomes.length > 0) return outcomes;
  }
  // One that etcd was told of and does not list has been taken out: replace-broken sees to it.
  const [next] = joiners.filter((member) => !member.entry && member.record.memberID === undefined);
  if (!next || known.length > 0) return [];
  // More may join together with it: scale-out records them all before the first add.
  return batchIsOpen(view) ? [] : [addLearner(view, next)];
};

function addLearner(view: View, joiner: MemberView): Outcome {
  // etcd refuses any add, of a learner too, while a voter is down (R19, H14).
  const down = unhealthyVoters(view);
  if (down.length > 0) {
    return hold(HOLDS.needingAllVoters, "JoinAwaitsVoters", { member: joiner.name, down: namesOf(down) });
  }
  if (!hasRoomForLearner(view)) {
    const foreign = foreignMembers(view).find((entry) => entry.isLearner);
    if (foreign) {
      return hold(HOLDS.joinsAndDisruptions, "JoinBlockedByForeign", {
        member: joiner.name,
        foreign: foreignOf(view, foreign),
      });
    }
    return hold(HOLDS.joinsAndDisruptions, "JoinAwaitsLearner", { member: joiner.name });
  }
  // It would never start, and on 3.5 it would have the only place for a learner (H16).
  const blocked = newcomersBlocked(view);
  if (blocked) return blocked;
  return act(
    "join",
    "LearnerAdded",
    { member: joiner.name },
    { kind: "AddLearner", member: joiner.name, peerURL: peerURLOf(joiner.record) },
  );
}

function startJoiner(view: View, joiner: MemberView): readonly Outcome[] {
  const { record, volume, entry, workload } = joiner;
  if (record.volumeUID === undefined) {
    if (volume.state !== "ready") return [awaitVolume(joiner)];
    const start = { memberID: entry?.id, volumeUID: volume.uid, initialCluster: currentPeers(view) };
    return [act("join", "JoinerPermitted", { member: joiner.name }, update(joiner, "permit-start", start))];
  }
  // Another change of membership made its list stale before it started: it would exit for ever (H7).
  const peers = currentPeers(view);
  const stale = !sameContent(sortPeers(record.initialCluster), peers);
  const unstarted = entry?.name === "" || exitOf(joiner)?.cure === "peers";
  if (stale && unstarted) {
    return [
      act(
        "heal",
        "JoinerListStale",
        { member: joiner.name },
        update(joiner, "rebuild-list", { initialCluster: peers }),
      ),
    ];
  }
  if (!joiner.upToDate && workload.state !== "stopping") {
    return [
      act("heal", "JoinerOutdated", { member: joiner.name }, { kind: "StopWorkload", member: joiner.name }),
    ];
  }
  // Something is wrong with it; retemplate and replace-broken see to that.
  if (workload.state === "exited") return [];
  return [nudge(view, joiner) ?? starting(view, joiner)];
}

/** A joiner that serves does so within this time, unless it waits for an entry. */
const NUDGE_MS = 2_000;

/**
 * From 3.6 on a joiner begins with a snapshot, and where that is beyond the first 5000 entries it takes itself for
 * overloaded ("too many requests") until it has applied one entry more. Where nobody writes, none would come (H7).
 */
function nudge(view: View, joiner: MemberView): Outcome | undefined {
  const { workload } = joiner;
  if (workload.state !== "running" || joiner.answer.reachable || view.now < nextNudge(view, workload.since))
    return undefined;
  return act("join", "JoinerNudged", { member: joiner.name }, { kind: "NudgeLog" });
}

function nextNudge(view: View, since: number): number {
  return NUDGE_MS + Math.max(since, view.observation.etcd.nudgedAt ?? 0);
}

function starting(view: View, { name, workload, answer }: MemberView): Outcome {
  const nudged = workload.state === "running" && !answer.reachable;
  const until = nudged ? nextNudge(view, workload.since) : undefined;
  return hold(HOLDS.joinsAndDisruptions, "JoinerStarting", { member: name }, { until });
}

/** The list as etcd has it now, with our names for those that have not started and so have none. */
function currentPeers(view: View): InitialPeer[] {
  const entries = view.observation.etcd.list?.members ?? [];
  return sortPeers(
    entries.flatMap((entry) => {
      const recorded = view.members.find((member) => member.entry?.id === entry.id)?.name;
      return entry.peerURLs.map((peerURL) => ({
        name: entry.name || recorded || `unstarted-${entry.id}`,
        peerURL,
      }));
    }),
  );
}
