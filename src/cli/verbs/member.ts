/** `quorate member`: what is done to single members. */
import { verbGroup } from "../verb.ts";

export const verb = verbGroup(
  {
    name: "member",
    summary: "replace, fence or unfence a member, or erase the data of a removed one",
    examples: [
      { does: "A new member for one whose disk is suspect", line: "member replace demo-2" },
      { does: "Clients and leadership away from a member that stays", line: "member fence demo-2" },
    ],
  },
  {
    replace: async () => (await import("./member-replace.ts")).verb,
    fence: async () => (await import("./member-fence.ts")).fence,
    unfence: async () => (await import("./member-fence.ts")).unfence,
    erase: async () => (await import("./member-erase.ts")).verb,
  },
);
