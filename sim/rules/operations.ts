/** Tasks that people ask for at random, and what must be true of every operation at any time and in the end. */
import type { OperationFacts } from "../../src/core/observation.ts";
import { isFinished } from "../../src/core/operations/status.ts";
import type { OperationTask } from "../../src/core/operations/task.ts";
import type { SeededRandom } from "../engine/random.ts";
import { Violation } from "../oracles/oracle.ts";

/** Of members that exist, and now and then of one that does not. */
export function randomTask(random: SeededRandom, members: readonly string[]): OperationTask {
  const member = members.length > 0 && random.chance(0.9) ? random.pick(members) : "demo-99";
  return random.pick<() => OperationTask>([
    () => ({ kind: "defragment" }),
    () => ({ kind: "defragment", members: [member] }),
    () => ({ kind: "compact", retain: random.pick([0, 5, 1_000_000]) }),
    () => ({ kind: "compact", revision: random.between(1, 200) }),
    () => ({ kind: "moveLeader" }),
    () => ({ kind: "moveLeader", to: member }),
    () => ({ kind: "replaceMember", name: member }),
    () => ({ kind: "recoverQuorum", approve: "0123456789abcdef" }),
    () => ({ kind: "restart" }),
    () => ({ kind: "restart", members: [member] }),
    () => ({ kind: "rotateCertificates" }),
    () => ({ kind: "rotateCertificates", ca: true }),
    () => ({ kind: "rotateCertificates", tokenKey: true }),
    () => ({ kind: "collectReport" }),
  ])();
}

/** One at a time. */
export function judgeOperations(operations: readonly OperationFacts[]): void {
  const running = operations.filter(({ status }) => status.phase === "Running");
  if (running.length > 1)
    throw new Violation("operations", `${running.map(({ name }) => name).join(" and ")} run at once`);
}

/** Of a cluster that is at rest: nothing waits for ever, and a rejected operation has done nothing. */
export function judgeEndedOperations(operations: readonly OperationFacts[]): void {
  const open = operations.find((operation) => !isFinished(operation));
  if (open)
    throw new Violation(
      "operations",
      `${open.name} (${open.task.kind}) is ${open.status.phase ?? "new"} at rest`,
    );
  const kept = operations.find(({ ttlSecondsAfterFinished: ttl }) => ttl !== undefined);
  if (kept)
    throw new Violation("operations", `${kept.name} has finished, and was not deleted after its time`);
  const acted = operations.find(
    ({ status }) => status.phase === "Rejected" && status.startedAt !== undefined,
  );
  if (acted) throw new Violation("operations", `${acted.name} was started and then rejected`);
}
