/** `quorate events`: what happened to a cluster, its members, their Pods and volumes. */
import { show, styleOf, tableWidthOf } from "../output.ts";
import { eventLines } from "../screen/events.ts";
import { chosenCluster } from "../target/choose.ts";
import { clusterVerb } from "../verb.ts";
import { CLUSTER } from "../verb-data.ts";

export const verb = clusterVerb(
  {
    name: "events",
    summary: "show what happened to a cluster, its members, Pods and volumes, oldest first",
    about:
      "Kubernetes keeps events for an hour by default. On this machine they are the latest steps of the controller.",
    arguments: [CLUSTER],
    flags: {
      since: { kind: "duration", value: "duration", help: "only events of this last time, such as 10m" },
      warnings: { kind: "switch", help: "only warnings" },
    },
    groups: ["output", "watch", "target"],
    examples: [
      { does: "What happened to demo", line: "events demo" },
      { does: "What went wrong in the last ten minutes", line: "events demo --since 10m --warnings" },
    ],
  },
  async ({ flags, args }, io, target) => {
    const style = styleOf(io, flags);
    await show(
      io,
      flags,
      async () => {
        const cluster = await chosenCluster(target, args.cluster);
        const now = io.clock.now();
        const events = (await target.events(cluster)).filter(
          ({ at, type }) =>
            (flags.since === undefined || now - at <= flags.since) && (!flags.warnings || type === "Warning"),
        );
        return {
          data: events,
          kept: "last",
          text: (format) =>
            events.length === 0
              ? `No events of ${cluster.metadata.name}.`
              : eventLines(
                  events,
                  { now, width: format === "wide" ? Infinity : tableWidthOf(io) },
                  style,
                ).join("\n"),
        };
      },
      target,
    );
  },
);
