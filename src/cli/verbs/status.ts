/** `quorate status`: one screen about one cluster. */
import { show, styleOf, widthOf } from "../output.ts";
import { statusLines } from "../screen/status.ts";
import { chosenCluster } from "../target/choose.ts";
import { clusterVerb } from "../verb.ts";
import { CLUSTER } from "../verb-data.ts";

export const verb = clusterVerb(
  {
    name: "status",
    summary: "show one cluster: health, leader, size, members, what happens next and why",
    about:
      "The database is the largest of all members, against the quota at which etcd refuses writes. Conditions are shown where they are not as they should be.",
    arguments: [CLUSTER],
    groups: ["output", "watch", "target"],
    examples: [
      { does: "The only cluster of the namespace", line: "status" },
      { does: "One cluster, as it changes", line: "status demo -n prod --watch" },
      { does: "A cluster on this machine", line: "status --local" },
    ],
  },
  async ({ flags, args }, io, target) => {
    const style = styleOf(io, flags);
    await show(
      io,
      flags,
      async () => {
        const cluster = await chosenCluster(target, args.cluster);
        const [members, operations, remarks] = await Promise.all([
          target.members(cluster),
          target.operations(cluster),
          target.remarks(cluster),
        ]);
        const view = { cluster, members, operations, remarks, now: io.clock.now(), width: widthOf(io) };
        return {
          data: { cluster, members, operations },
          text: (format) => statusLines({ ...view, wide: format === "wide" }, style).join("\n"),
        };
      },
      target,
    );
  },
);
