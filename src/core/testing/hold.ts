/** A made-up wait, for tests of those who show one. */
import type { Hold } from "../action.ts";

export function aHold(more: Partial<Hold> = {}): Hold {
  const { next, approval } = more;
  return {
    rule: "some-rule",
    classes: "all",
    reason: "QuorumLost",
    code: "QuorumLost",
    params: {},
    message: "lost",
    needsPerson: next !== undefined,
    ...more,
    next,
    approval,
  };
}
