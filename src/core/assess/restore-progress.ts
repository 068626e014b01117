/** How far a restore in place is, by the status of its operation. */
import type { OperationFacts } from "../observation.ts";

/** When it noted that the snapshot is at hand, which is before any member is stopped; undefined before. */
export function fetchedAt({ status }: OperationFacts): number | undefined {
  // The only step without a member.
  const step = status.steps?.find(({ member }) => member === undefined);
  return step && Date.parse(step.at);
}
