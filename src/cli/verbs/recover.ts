/** `quorate recover`: the word for all verbs about lost data and lost quorum. Each is loaded only when it is called. */
import { verbGroup } from "../verb.ts";

export const verb = verbGroup(
  {
    name: "recover",
    summary: "recover from lost quorum, and look at what data directories still hold",
    examples: [
      { does: "Read the plan of a recovery, then decide", line: "recover quorum demo" },
      {
        does: "Start an etcd from what this machine holds, without an API server",
        line: "recover node /var/lib/etcd",
      },
      {
        does: "Which cluster and member wrote the data, and up to which revision?",
        line: "recover inspect /var/lib/etcd",
      },
    ],
  },
  {
    quorum: async () => (await import("./recover/quorum.ts")).verb,
    copy: async () => (await import("./recover/rescue.ts")).copy,
    save: async () => (await import("./recover/rescue.ts")).save,
    node: async () => (await import("./recover/node.ts")).verb,
    inspect: async () => (await import("./recover/inspect.ts")).verb,
  },
);
