/** `quorate restart`: restarts members, one at a time and the leader last. */
import { headroom } from "../act/headroom.ts";
import { newOperation, runOperation } from "../act/operation.ts";
import { namesOf, subjectOf } from "../act/subject.ts";
import { confirm } from "../act/confirm.ts";
import { clusterVerb } from "../verb.ts";

export const verb = clusterVerb(
  {
    name: "restart",
    summary: "restart members one at a time, the leader last",
    about:
      "Creates an EtcdOperation. Each restart waits until the other voters have a quorum without the member. Members on Memory or Ephemeral storage, which would lose their data, are replaced instead.",
    arguments: [
      {
        name: "names",
        help: "members to restart, or the cluster for all of its members",
        optional: true,
        many: true,
        complete: "member",
      },
    ],
    groups: ["confirm", "wait", "dry", "output", "target"],
    examples: [
      { does: "All members of a cluster", line: "restart demo" },
      { does: "One member", line: "restart demo-2 --yes" },
    ],
  },
  async ({ flags, args }, io, target) => {
    const { cluster, named } = await subjectOf(target, args.names);
    const { name } = cluster.metadata;
    const members = namesOf(named);
    const what = `Restarting ${members.length === 0 ? `all members of ${name}` : members.join(", ")}`;
    const operation = newOperation(io, cluster, "restart", {
      restart: members.length === 0 ? {} : { members },
    });
    if (!flags["dry-run"])
      await confirm(io, flags, {
        change: what,
        risk: `one member at a time is down; ${headroom(cluster)} now`,
      });
    await runOperation(io, flags, target, operation, what);
  },
);
