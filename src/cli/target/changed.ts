/** Whether a cluster is still the one that a change was decided on: its status may differ, its spec may not. */
import { CommandError, EXIT } from "../exit.ts";
import type { ClusterObject } from "./target.ts";

export function checkUnchanged(present: ClusterObject | undefined, seen: ClusterObject | undefined): void {
  const [now, then] = [present, seen].map((object) => object?.metadata);
  if (now?.uid !== then?.uid || now?.generation !== then?.generation)
    throw new CommandError(
      EXIT.conflict,
      "the cluster was changed in the meantime, and nothing was written. Run the command again",
    );
}
