/** `quorate defrag`: returns free space of database files to the file system. */
import { rollingVerb } from "../act/rolling-verb.ts";

export const verb = rollingVerb({
  name: "defrag",
  summary: "defragment the databases of members, followers first and the leader last",
  about:
    "A member does not serve while it is defragmented: seconds for each GiB of data. The operator also does this automatically, as spec.maintenance says.",
  all: "voters",
  does: { verb: "defragment", now: "Defragmenting" },
  risk: "does not serve",
  operation: (members) => ({ defragment: members }),
});
