/**
 * etcd's list says by which URL a member is reached, and only MemberUpdate changes that (R9). When a record asks for the
 * other scheme, etcd is told first and the member restarts then: others dial it anew once it listens so, and until then
 * keep the connections that they have. Only the scheme is ours to change: where a member is stays for life.
 */
import { isSamePeer, peerURLOf } from "../config/flags.ts";
import { act } from "../steps/outcome.ts";
import type { Rule } from "../rule.ts";

export const peerURLs: Rule = (view) => {
  if (!view.established || !view.hasQuorum) return [];
  for (const { name, record, entry } of view.staying) {
    // On a learner it is a promotion before 3.5.31 and 3.6.12 (R9): one is replaced instead.
    if (!entry || entry.isLearner || !record.joined) continue;
    const peerURL = peerURLOf(record);
    const [listed = peerURL, ...more] = entry.peerURLs;
    if (listed === peerURL || more.length > 0 || !isSamePeer(listed, peerURL)) continue;
    const action = { kind: "UpdatePeerURL", member: name, memberID: entry.id, peerURL } as const;
    return [act("revert", "PeerURLUpdated", { member: name, peerURL }, action)];
  }
  return [];
};
