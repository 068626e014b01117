/** What must hold of peer URLs, in the plainest words: nobody is added twice, and everybody can dial everybody. */
import assert from "node:assert/strict";
import type { Action } from "../action.ts";
import type { Observation } from "../observation.ts";

export const placeOf = (url: string) => url.replace(/^https?:/, "");

export function assertMayBeAdded({ members, etcd }: Observation, peerURL: string): void {
  const list = etcd.list?.members ?? [];
  const listed = list.flatMap(({ peerURLs }) => peerURLs).map(placeOf);
  assert.ok(!listed.includes(placeOf(peerURL)), "nobody is added twice");
  const old = members.some(({ record }) => /^3\.[45]\./.test(record.template.version));
  assert.ok(!old || !list.some(({ isLearner }) => isLearner), "H1: one learner at a time below 3.6");
}

export function assertDiallable(
  { members, etcd }: Observation,
  { memberID, peerURL }: Extract<Action, { kind: "UpdatePeerURL" }>,
): void {
  const entry = etcd.list?.members.find(({ id }) => id === memberID);
  assert.equal(etcd.list?.linearizable, true, "a URL is changed by quorum");
  assert.ok(entry && !entry.isLearner, "R9: a learner would be promoted");
  const [listed = "", ...more] = entry.peerURLs;
  assert.deepEqual([placeOf(listed), more], [placeOf(peerURL), []], "only its scheme changes");
  for (const { record } of members.filter((facts) => !facts.record.leaving)) {
    const { mode, peer } = record.template.tls;
    const isPlain = (peer?.mode ?? mode) === "Disabled";
    assert.ok(!isPlain || peerURL.startsWith("http:"), "R52: everybody can dial it");
  }
}
