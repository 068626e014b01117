/** `quorate list`: all clusters, one line each. */
import { noCluster } from "../target/choose.ts";
import { show, styleOf, widthOf } from "../output.ts";
import { listLines } from "../screen/list.ts";
import { clusterVerb } from "../verb.ts";

export const verb = clusterVerb(
  {
    name: "list",
    summary: "list clusters with their version, health and phase",
    about: "The message is shown for clusters that are not healthy; -o wide shows it for all.",
    groups: ["everywhere", "output", "watch", "target"],
    examples: [
      { does: "Clusters of one namespace", line: "list -n prod" },
      { does: "Clusters of all namespaces, as they change", line: "list -A --watch" },
      { does: "Clusters on this machine", line: "list --local" },
    ],
  },
  async ({ flags }, io, target) => {
    const style = styleOf(io, flags);
    await show(io, flags, async () => {
      const clusters = await target.clusters();
      if (clusters.length === 0 && !flags.watch) throw noCluster(target);
      return {
        data: clusters,
        text: (format) =>
          listLines(
            {
              clusters,
              namespaces: target.namespace === undefined,
              wide: format === "wide",
              now: io.clock.now(),
              width: widthOf(io),
            },
            style,
          ).join("\n"),
      };
    });
  },
);
