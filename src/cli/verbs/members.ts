/** `quorate members`: the members of a cluster, one line each. */
import { show, styleOf, tableWidthOf } from "../output.ts";
import { memberLines } from "../screen/members.ts";
import { chosenCluster } from "../target/choose.ts";
import { clusterVerb } from "../verb.ts";
import { CLUSTER } from "../verb-data.ts";

export const verb = clusterVerb(
  {
    name: "members",
    summary: "list the members of a cluster with role, lag, version, size, node and certificate",
    about:
      "LAG is how many entries of the log a member is behind the leader, CERT how many days its first certificate is still valid.",
    arguments: [CLUSTER],
    groups: ["output", "watch", "target"],
    examples: [
      { does: "The members of the only cluster in the namespace", line: "members" },
      { does: "With IDs, ages and peer URLs", line: "members demo -n prod -o wide" },
    ],
  },
  async ({ flags, args }, io, target) => {
    const style = styleOf(io, flags);
    await show(
      io,
      flags,
      async () => {
        const cluster = await chosenCluster(target, args.cluster);
        const members = await target.members(cluster);
        return {
          data: members,
          text: (format) => {
            const wide = format === "wide";
            return memberLines(
              { cluster, members, wide, now: io.clock.now(), width: tableWidthOf(io) },
              style,
            ).join("\n");
          },
        };
      },
      target,
    );
  },
);
