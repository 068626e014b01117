/** What anybody can see of a member that only we cannot reach, in the plainest words. */
import assert from "node:assert/strict";
import type { MemberFacts, Observation } from "../observation.ts";

/** H16: whom only we do not see is taken out only for a reason that can be seen, or by a person's word. */
export function assertSeenFault(o: Observation, { record, volume, deleting }: MemberFacts): void {
  const isListed = o.etcd.list?.members.some(({ id }) => id === record.memberID) === true;
  const hasData =
    volume.state === "ready" && volume.uid === record.volumeUID && !isInMinority(o, record.name);
  if (isListed && hasData && !deleting)
    assert.equal(o.cluster.approved, `replace-${record.name}`, "H16: unreachable is not dead");
}

/** By the newest comparison: most others hold something else at the same revision. */
function isInMinority({ etcd }: Observation, name: string): boolean {
  const compared = Object.entries(etcd.hashes?.byMember ?? {});
  const own = compared.find(([member]) => member === name)?.[1].hash;
  const others = compared.filter(([, { hash }]) => own !== undefined && hash !== own);
  return others.length > compared.length / 2;
}
