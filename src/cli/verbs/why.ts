/** `quorate why`: what a cluster is doing or waiting for, and what to do about it. */
import { show, styleOf, widthOf } from "../output.ts";
import { whyLines } from "../screen/why.ts";
import { chosenCluster } from "../target/choose.ts";
import { clusterVerb } from "../verb.ts";
import { CLUSTER } from "../verb-data.ts";

export const verb = clusterVerb(
  {
    name: "why",
    summary: "explain what a cluster is doing or waiting for, and what you can do",
    about: "Reasons are stable words, each described in docs/reasons.md.",
    arguments: [CLUSTER],
    groups: ["output", "watch", "target"],
    examples: [
      { does: "Why does nothing happen?", line: "why demo" },
      { does: "For a script", line: "why demo -o json" },
    ],
  },
  async ({ flags, args }, io, target) => {
    const style = styleOf(io, flags);
    await show(
      io,
      flags,
      async () => {
        const cluster = await chosenCluster(target, args.cluster);
        const [why, remarks] = await Promise.all([target.why(cluster), target.remarks(cluster)]);
        return {
          data: why,
          text: () =>
            [...whyLines(why, widthOf(io), style), ...remarks.flatMap((remark) => ["", remark])].join("\n"),
        };
      },
      target,
    );
  },
);
