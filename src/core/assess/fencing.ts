/** Which members clients are sent to: voters that are not fenced. */
import { message, type Message } from "../messages/table.ts";
import { isOrWasVoter, namesOf, type View } from "../view.ts";
import { seemsHealthy } from "./out-of-reach.ts";

/** Why clients are sent nowhere, where that is because of fences; undefined where they find a member. */
export function shutOut(view: View): Message<"VotersFenced" | "UnfencedUnhealthy"> | undefined {
  const voters = view.members.filter((member) => isOrWasVoter(view, member));
  const fenced = voters.filter((member) => member.fenced);
  const open = voters.filter((member) => !member.fenced);
  if (fenced.length === 0 || open.some(seemsHealthy)) return undefined;
  return open.length === 0
    ? message("VotersFenced", { members: namesOf(fenced) })
    : message("UnfencedUnhealthy", { members: namesOf(open), fenced: namesOf(fenced) });
}
