/** What must hold before the data of a cluster is given up for a copy: I10. */
import assert from "node:assert/strict";
import type { MemberFacts, Observation } from "../observation.ts";

/** Only by an approved operation is given up what lost members had, or what was written since a snapshot. */
export function assertApproved({ operations }: Observation, plan: string | undefined): void {
  const isApproved = operations.some(
    ({ task, status }) =>
      (task.kind === "recoverQuorum" || task.kind === "restore") &&
      task.approve === plan &&
      status.phase === "Running",
  );
  assert.ok(isApproved, "I10: a person approved exactly this plan");
}

/**
 * An approved recovery ends what is left of the members, and records it first: judged there. Whether one answers or others
 * vouch for it makes no difference then.
 */
export function isGivenUp({ operations }: Observation, { record }: MemberFacts): boolean {
  const isApproved = operations.some(
    ({ task, status }) =>
      task.kind === "recoverQuorum" && task.approve !== undefined && status.phase === "Running",
  );
  return isApproved && !record.run;
}

/** What is deleted by us has a verdict: nobody's request gets lost. */
export function assertEnded({ operations }: Observation, uid: string): void {
  const { phase } = operations.find((operation) => operation.uid === uid)?.status ?? {};
  assert.ok(["Succeeded", "Failed", "Rejected"].includes(phase ?? ""), "only what has ended is deleted");
}

/** Nobody runs, and nobody is started again. */
export function assertAllEnded(o: Observation): void {
  for (const facts of o.members) {
    const { record, workload } = facts;
    const isOver = workload.state === "absent" || workload.state === "exited";
    assert.ok(isOver || isVouchedOff(o, facts), "I10: nobody runs");
    assert.ok(!record.run, "I10: nobody is to run");
  }
}

/** Its end was awaited, a person said that its node is off, and nothing was heard from there since. */
function isVouchedOff({ operations, members }: Observation, { workload, node }: MemberFacts): boolean {
  if (workload.state !== "stopping" || !workload.overdue || node?.kubelet !== "silent") return false;
  const there = members.filter((other) => other.node?.name === node.name);
  return operations.some(
    ({ task, status, createdAt }) =>
      (task.kind === "recoverQuorum" || task.kind === "restore") &&
      status.phase === "Running" &&
      task.nodesOff?.includes(node.name) === true &&
      there.every((other) => isSilentSince(createdAt, other)),
  );
}

/** As far as anything tells: its kubelet, the member itself, its process, and its peers. */
function isSilentSince(at: number, { node, answer, alive, seenByPeers }: MemberFacts): boolean {
  const isHeard = answer.reachable || alive === true || seenByPeers === true;
  return node?.kubelet === "silent" && node.since <= at && !isHeard;
}

/** What must be so when a recovery is approved without a person. */
export function assertNothingGivenUp({ cluster }: Observation, voters: readonly MemberFacts[]): void {
  assert.equal(cluster.spec.recovery?.quorumLoss, "Automatic", "nobody asked for it");
  const isEmpty = ({ volume, directory, workload, record }: MemberFacts) =>
    volume.state === "ready" &&
    volume.uid === record.volumeUID &&
    (directory?.state === "empty" ||
      (workload.state === "exited" && ["data-missing", "already-bootstrapped"].includes(workload.cause)));
  const isKept = ({ directory }: MemberFacts) => directory?.state === "data";
  assert.ok(
    voters.every((one) => isEmpty(one) || isKept(one)),
    "data is given up that may still be somewhere",
  );
}
