/** `quorate recover`: the word for all verbs about lost data and lost quorum. Each is loaded only when it is called. */
import { verbGroup } from "../verb.ts";

export const verb = verbGroup(
  {
    name: "recover",
    summary: "look at what members' data directories still hold",
    about: "Nothing is changed: files are only read, also those of an etcd that does not start any more.",
    examples: [
      { does: "Whose data is it, and how far does it reach?", line: "recover inspect /var/lib/etcd" },
    ],
  },
  {
    inspect: async () => (await import("./recover/inspect.ts")).verb,
  },
);
