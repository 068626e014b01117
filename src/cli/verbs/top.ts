/** `quorate top`: the busiest clusters, live on a terminal. */
import { sleep } from "../../seams/clock.ts";
import { formatted, styleOf, tableWidthOf } from "../output.ts";
import { keyOf, sampleOf, topLines, type Sample } from "../screen/top.ts";
import { chosenCluster, noCluster } from "../target/choose.ts";
import { clusterVerb } from "../verb.ts";
import { CLUSTER } from "../verb-data.ts";

export const verb = clusterVerb(
  {
    name: "top",
    summary: "show the busiest and largest clusters, live on a terminal",
    about:
      "Everything comes from the clusters' status, which the operator refreshes. WRITES/S is how fast the revision grows, FULL the database against its quota, FREE the share of the file that a defragmentation would free, LAG the follower that is furthest behind. Without a terminal it looks twice and prints once.",
    arguments: [{ ...CLUSTER, help: "only this cluster" }],
    flags: {
      interval: { kind: "duration", value: "duration", default: "2s", help: "time between two looks" },
    },
    groups: ["everywhere", "output", "target"],
    examples: [
      { does: "All clusters, live", line: "top -A" },
      { does: "Once, over ten seconds, for a script", line: "top demo --interval 10s -o json" },
    ],
  },
  async ({ flags, args }, io, target) => {
    const style = styleOf(io, flags);
    const live = io.isTTY && (flags.output === "table" || flags.output === "wide");
    let before = new Map<string, Sample>();
    for (let looks = 1; ; looks++) {
      const clusters =
        args.cluster === undefined ? await target.clusters() : [await chosenCluster(target, args.cluster)];
      if (clusters.length === 0) throw noCluster(target);
      const now = io.clock.now();
      const samples = new Map(clusters.map((cluster) => [keyOf(cluster), sampleOf(cluster, now)]));
      if (live || looks > 1) {
        const view = {
          clusters,
          before,
          now,
          namespaces: target.namespace === undefined,
          width: tableWidthOf(io),
        };
        const data = clusters.map((cluster) => ({ name: keyOf(cluster), ...samples.get(keyOf(cluster)) }));
        const text = await formatted({ data, text: () => topLines(view, style).join("\n") }, flags.output);
        io.stdout.write(live ? `\x1b[H\x1b[2J\x1b[3J${text}` : text);
      }
      if (!live && looks > 1) return;
      before = samples;
      try {
        await sleep(io.clock, flags.interval, io.signal);
      } catch {
        return; // Ctrl-C is how it ends.
      }
    }
  },
);
