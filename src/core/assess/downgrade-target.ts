/** The minor of a downgrade that etcd prepares or carries out, as a member on the higher minor tells it (H13). */
import { minorOf } from "../version/version.ts";
import type { View } from "../view.ts";

export function downgradeTarget(view: View): string | undefined {
  for (const { answer } of view.members) {
    if (answer.reachable && answer.downgrade?.enabled) return minorOf(answer.downgrade.target);
  }
  return undefined;
}
