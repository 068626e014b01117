/** `quorate defrag`: returns free space of database files to the file system. */
import { headroom } from "../act/headroom.ts";
import { newOperation, runOperation } from "../act/operation.ts";
import { namesOf, subjectOf } from "../act/subject.ts";
import { confirm } from "../act/confirm.ts";
import { clusterVerb } from "../verb.ts";

export const verb = clusterVerb(
  {
    name: "defrag",
    summary: "defragment the databases of members, followers first and the leader last",
    about:
      "Creates an EtcdOperation. A member does not serve while it is defragmented: seconds for each GiB of data. The operator also does this by itself, as spec.maintenance says.",
    arguments: [
      {
        name: "names",
        help: "members to defragment, or the cluster for all of its voters",
        optional: true,
        many: true,
        complete: "member",
      },
    ],
    groups: ["confirm", "wait", "dry", "output", "target"],
    examples: [
      { does: "All voters of a cluster", line: "defrag demo" },
      { does: "One member", line: "defrag demo-2 --yes" },
    ],
  },
  async ({ flags, args }, io, target) => {
    const { cluster, named } = await subjectOf(target, args.names);
    const { name } = cluster.metadata;
    const members = namesOf(named);
    const what = `Defragmenting ${members.length === 0 ? `all voters of ${name}` : members.join(", ")}`;
    const operation = newOperation(io, cluster, "defrag", {
      defragment: members.length === 0 ? {} : { members },
    });
    if (!flags["dry-run"])
      await confirm(io, flags, {
        change: what,
        risk: `one member at a time does not serve; ${headroom(cluster)} now`,
      });
    await runOperation(io, flags, target, operation, what);
  },
);
