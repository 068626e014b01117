/** `quorate restart`: restarts members, one at a time and the leader last. */
import { rollingVerb } from "../act/rolling-verb.ts";

export const verb = rollingVerb({
  name: "restart",
  summary: "restart members one at a time, the leader last",
  about:
    "Each restart waits until the other voters have a quorum without the member. Members on Memory or Ephemeral storage, which would lose their data, are replaced instead.",
  all: "members",
  does: { verb: "restart", now: "Restarting" },
  risk: "is down",
  operation: (members) => ({ restart: members }),
});
