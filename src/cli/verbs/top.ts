/** `quorate top`: the busiest clusters, live on a terminal. */
import { sleep } from "../../seams/clock.ts";
import type { CliIo } from "../io.ts";
import { formatted, styleOf, tableWidthOf, unlessLeft } from "../output.ts";
import { LiveScreen, roomOf } from "../screen/live.ts";
import { keyOf, sampleOf, topLines, type Sample } from "../screen/top.ts";
import { chosenCluster, noCluster } from "../target/choose.ts";
import type { ClusterObject } from "../target/target.ts";
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
      interval: { kind: "duration", value: "duration", default: "2s", help: "time between two refreshes" },
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
    const look = async (): Promise<Look> => {
      const clusters =
        args.cluster === undefined ? await target.clusters() : [await chosenCluster(target, args.cluster)];
      if (clusters.length === 0) throw noCluster(target);
      const now = io.clock.now();
      return { clusters, now, samples: new Map(clusters.map((one) => [keyOf(one), sampleOf(one, now)])) };
    };
    const lines = ({ clusters, now }: Look, before: Look | undefined, room?: number) =>
      topLines(
        {
          clusters,
          before: before?.samples ?? new Map<string, Sample>(),
          now,
          namespaces: target.namespace === undefined,
          width: tableWidthOf(io),
          ...(room !== undefined && { room }),
        },
        style,
      ).join("\n");
    const wait = () => sleep(io.clock, flags.interval, io.signal);
    if (!live) {
      const before = await look();
      await wait();
      const now = await look();
      const data = [...now.samples].map(([name, sample]) => ({ name, ...sample }));
      io.stdout.write(await formatted({ data, text: () => lines(now, before) }, flags.output));
      return;
    }
    const screen = new LiveScreen(io.stdout);
    let before: Look | undefined;
    let now = await unlessLeft(io, true, look);
    while (now !== undefined) {
      const room = roomOf(io.stdout);
      screen.draw(lines(now, before, room), { foot: now.trouble ?? "" });
      const seen: Look = now;
      now = await unlessLeft(io, true, async () => {
        await wait();
        return await look().catch((error: unknown) => stale(seen, error, io));
      });
      if (now?.trouble === undefined) before = seen;
    }
  },
);

interface Look {
  readonly clusters: readonly ClusterObject[];
  readonly now: number;
  /** By `namespace/name`. */
  readonly samples: ReadonlyMap<string, Sample>;
  /** Why this is not the state of now. */
  readonly trouble?: string;
}

/** What is known stays on the screen while nothing can be read: the next look may well succeed. */
function stale(seen: Look, error: unknown, { signal }: CliIo): Look {
  if (signal.aborted) throw error;
  const message = error instanceof Error ? error.message : String(error);
  const since = new Date(seen.now).toISOString().slice(11, 19);
  return { ...seen, trouble: `This is the state of ${since}; still trying: ${message}` };
}
