/** `quorate leader move`: another member leads. */
import { newOperation, runOperation } from "../act/operation.ts";
import { subjectOf } from "../act/subject.ts";
import { UsageError } from "../io.ts";
import { clusterVerb, verbGroup } from "../verb.ts";

const move = clusterVerb(
  {
    name: "leader move",
    summary: "move leadership to another voting member",
    about:
      "Creates an EtcdOperation. Without a member, leadership goes to the most caught-up healthy voter that is not fenced. Clients notice nothing but a short delay.",
    arguments: [
      {
        name: "names",
        help: "the member that is to lead, or the cluster for the best one",
        optional: true,
        many: true,
        complete: "subject",
      },
    ],
    groups: ["wait", "dry", "output", "target"],
    examples: [
      { does: "To one member", line: "leader move demo-2" },
      { does: "Away from the present leader", line: "leader move demo" },
    ],
  },
  async ({ flags, args }, io, target) => {
    const { cluster, named } = await subjectOf(target, args.names);
    const [member, another] = named;
    if (another !== undefined) throw new UsageError("only one member can lead: name one");
    const to = member?.metadata.name;
    const what = `Moving leadership of ${cluster.metadata.name}${to === undefined ? "" : ` to ${to}`}`;
    const operation = newOperation(io, cluster, "move-leader", {
      moveLeader: to === undefined ? {} : { to },
    });
    await runOperation(io, flags, target, operation, what);
  },
);

export const verb = verbGroup(
  {
    name: "leader",
    summary: "move leadership",
    examples: [{ does: "To one member", line: "leader move demo-2" }],
  },
  { move: async () => await Promise.resolve(move) },
);
