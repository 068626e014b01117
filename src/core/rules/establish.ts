/**
 * The latch of I3. As soon as the cluster is seen to exist that fact is recorded outside status; from then
 * on nobody starts with `initial-cluster-state: new`, and each member that is seen serving is switched to
 * start with itself only (H3), so that an emptied directory cannot start over.
 */
import type { Outcome } from "../action.ts";
import { act, hold, update } from "../steps/outcome.ts";
import { HOLDS } from "../steps/hold-classes.ts";
import type { Rule } from "../rule.ts";
import { isEstablished, restoreHash } from "../record.ts";
import { namesOf, type MemberView, type View } from "../view.ts";

export const establish: Rule = (view) => {
  const { cluster, etcd } = view.observation;
  const { list } = etcd;
  if (!list) return [];
  if (!isEstablished(cluster.uid, cluster.marks)) {
    // One founder that follows a leader proves that a quorum of founders has bootstrapped.
    const witness = view.staying.find(
      (member) => (member.record.boot === "New" || member.record.joined) && serves(member),
    );
    if (!witness) return [];
    return [
      act(
        "record",
        "ClusterSeen",
        { member: witness.name },
        {
          kind: "MarkCluster",
          purpose: "establish",
          change: { established: { token: view.token, clusterID: list.clusterID, ...restoredBy(witness) } },
        },
      ),
    ];
  }
  const fresh = view.staying.find(
    (member) => !member.record.joined && serves(member) && isOfThisCluster(view, member),
  );
  if (!fresh?.entry) return openToClients(view);
  return [
    act(
      "record",
      "MemberSeen",
      { member: fresh.name },
      update(fresh, "latch-joined", { joined: true, memberID: fresh.entry.id }),
    ),
  ];
};

function restoredBy({ record }: MemberView): { restored?: string } {
  const restored = restoreHash(record.restore);
  return restored === undefined ? {} : { restored };
}

/** How soon a platform may have confirmed. */
const CONFIRMED_MS = 250;

/** Until then a wiped directory might start over, with nothing in it (H3): no client may have written before. */
function openToClients(view: View): readonly Outcome[] {
  if (view.open || !view.hasQuorum) return [];
  const waiting = view.staying.filter(({ unconfirmed }) => unconfirmed);
  return [
    hold(
      HOLDS.allButHealing,
      "ClientsWait",
      { members: namesOf(waiting) },
      { until: view.now + CONFIRMED_MS },
    ),
  ];
}

function serves(member: MemberView): boolean {
  const { answer, entry } = member;
  return (
    entry !== undefined &&
    entry.name !== "" &&
    answer.reachable &&
    answer.memberID === entry.id &&
    answer.leaderID !== "0"
  );
}

function isOfThisCluster(view: View, member: MemberView): boolean {
  return (
    member.answer.reachable &&
    member.answer.clusterID === view.observation.cluster.marks.established?.clusterID
  );
}
