/**
 * What an operator may call a failure. That something is there already, or gone already, is what a try that was cut off
 * leads to: it has to be understood (H9, H10), and a user who reads of a failure would look for one.
 */
import type { Pass } from "../../src/control/loop.ts";
import { Violation } from "../oracles/oracle.ts";

const DONE_BEFORE = /\b(already exists|not found)\b/i;

export function checkFailures({ failure, problems }: Pick<Pass, "failure" | "problems">): void {
  const reported = [failure, ...problems]
    .map((one) => one?.message)
    .find((text) => text !== undefined && DONE_BEFORE.test(text));
  if (reported !== undefined) throw new Violation("H9", `reported as a failure: ${reported}`);
}
