/** `--node-off`: nodes of which the user says that they are off, for a recovery or a restore in place. */
import { list, plural } from "../../core/messages/words.ts";
import { CommandError, EXIT } from "../exit.ts";
import type { Flags } from "../flag.ts";

export const NODE_OFF_FLAG = {
  "node-off": {
    kind: "list",
    value: "node",
    help: "a silent node that you have made sure is off; Quorate does not wait for the member there to stop",
  },
} as const satisfies Flags;

/** Nothing is asked of the user that the plan does not need, and nothing is taken for said that was not. */
export function checkNodesOff(named: readonly string[], toBeOff: readonly string[], call: string): void {
  const missing = toBeOff.filter((name) => !named.includes(name));
  const extra = named.filter((name) => !toBeOff.includes(name));
  if (missing.length > 0)
    throw new CommandError(
      EXIT.conflict,
      `this plan needs ${list(toBeOff)} to be off, which the operator cannot see. If you have made sure of it, name ${plural(toBeOff, "it", "them")}: ${call}${toBeOff.map((name) => ` --node-off ${name}`).join("")}`,
    );
  if (extra.length > 0)
    throw new CommandError(
      EXIT.conflict,
      `the plan does not need ${list(extra)} to be off. Without ${plural(extra, "it", "them")}: ${call}${toBeOff.map((name) => ` --node-off ${name}`).join("")}`,
    );
}

/** As a part of what is at stake. */
export function riskOf(nodesOff: readonly string[]): string {
  return nodesOff.length === 0
    ? ""
    : `; if a member still runs on ${list(nodesOff)}, what clients write there is lost`;
}
