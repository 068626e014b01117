/** What a report is made of: each part is read by itself, so that one that fails or is denied costs only itself. */
import process from "node:process";
import manifest from "../../../package.json" with { type: "json" };
import { eventLines } from "../screen/events.ts";
import { statusLines } from "../screen/status.ts";
import { styleFor } from "../screen/style.ts";
import { whyLines } from "../screen/why.ts";
import type { ClusterObject, Target } from "../target/target.ts";
import type { CliIo } from "../io.ts";

export interface Part {
  /** In the archive. */
  readonly path: string;
  /** An object is written as YAML; undefined where there is nothing. */
  readonly read: () => Promise<string | object | undefined>;
}

const WIDTH = 120;
const PLAIN = styleFor(false);

/** What every platform has. */
export function commonParts(target: Target, cluster: ClusterObject, io: CliIo): readonly Part[] {
  const now = io.clock.now();
  return [
    {
      path: "versions.yaml",
      read: () =>
        Promise.resolve({
          command: manifest.version,
          node: process.version,
          system: `${process.platform} ${process.arch}`,
          collectedAt: new Date(now).toISOString(),
        }),
    },
    {
      path: "status.txt",
      read: async () => {
        const [members, operations, remarks] = await Promise.all([
          target.members(cluster),
          target.operations(cluster),
          target.remarks(cluster),
        ]);
        const view = { cluster, members, operations, remarks, now, width: WIDTH, wide: true };
        return lines(statusLines(view, PLAIN));
      },
    },
    { path: "why.txt", read: async () => lines(whyLines(await target.why(cluster), WIDTH, PLAIN)) },
    { path: "cluster.yaml", read: () => Promise.resolve(cluster) },
    { path: "members.yaml", read: async () => ({ items: await target.members(cluster) }) },
    { path: "operations.yaml", read: async () => ({ items: await target.operations(cluster) }) },
    {
      path: "events.txt",
      read: async () => lines(eventLines(await target.events(cluster), { now, width: Infinity }, PLAIN)),
    },
  ];
}

function lines(all: readonly string[]): string {
  return all.map((line) => `${line}\n`).join("");
}
