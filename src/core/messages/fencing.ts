/** Messages of fenced members. */
import { step, wait, type Names } from "./message.ts";
import { list, plural } from "./words.ts";

export const FENCING = {
  LeaderFenced: step({
    say: ({ member, next }: { member: string; next: string }) =>
      `${member} leads and is fenced: moving leadership to ${next}`,
    example: { member: "demo-1", next: "demo-2" },
  }),
  VotersFenced: wait("VotersFenced", {
    say: ({ members }: { members: Names }) =>
      `clients have no endpoint: every voter is fenced (${list(members)})`,
    next: () => "Unfence at least one of them.",
    example: { members: ["demo-1", "demo-2", "demo-3"] },
  }),
  UnfencedUnhealthy: wait("VotersFenced", {
    say: ({ members, fenced }: { members: Names; fenced: Names }) =>
      `clients have no endpoint until ${list(members)} ${plural(members, "is", "are")} healthy: the other voters are fenced (${list(fenced)})`,
    example: { members: ["demo-2"], fenced: ["demo-1", "demo-3"] },
  }),
} as const;
