/** `quorate list`: all clusters, one line each. */
import { noCluster } from "../target/choose.ts";
import { show, styleOf, tableWidthOf } from "../output.ts";
import { listLines } from "../screen/list.ts";
import { clusterVerb } from "../verb.ts";

export const verb = clusterVerb(
  {
    name: "list",
    summary: "list clusters with their version, health and phase",
    about: "The message is shown for clusters that are not healthy; -o wide shows it for all.",
    flags: { unhealthy: { kind: "switch", help: "only clusters that are not healthy" } },
    groups: ["everywhere", "output", "watch", "target"],
    examples: [
      { does: "Clusters of one namespace", line: "list -n prod" },
      { does: "Clusters of all namespaces, as they change", line: "list -A --watch" },
      { does: "Clusters that need attention", line: "list -A --unhealthy" },
      { does: "Clusters on this machine", line: "list --local" },
    ],
  },
  async ({ flags }, io, target) => {
    const style = styleOf(io, flags);
    await show(
      io,
      flags,
      async () => {
        const all = await target.clusters();
        if (all.length === 0 && !flags.watch) throw noCluster(target);
        const clusters = flags.unhealthy ? all.filter(({ status }) => status?.phase !== "Healthy") : all;
        return {
          data: clusters,
          text: (format, room) =>
            clusters.length === 0 && all.length > 0
              ? `All ${all.length} clusters are healthy.`
              : listLines(
                  {
                    clusters,
                    namespaces: target.namespace === undefined,
                    wide: format === "wide",
                    now: io.clock.now(),
                    width: tableWidthOf(io),
                    ...(room !== undefined && { room }),
                  },
                  style,
                ).join("\n"),
        };
      },
      target,
    );
  },
);
