/** `quorate plan`: the steps that a change would take, without making it. */
import { CommandError, EXIT } from "../exit.ts";
import { show, styleOf, tableWidthOf } from "../output.ts";
import { planLines } from "../screen/plan.ts";
import { chosenCluster } from "../target/choose.ts";
import type { ClusterObject, Target } from "../target/target.ts";
import { clusterVerb } from "../verb.ts";
import { CLUSTER } from "../verb-data.ts";

export const verb = clusterVerb(
  {
    name: "plan",
    summary: "show the steps that a change would take, with quorum headroom and risk, without making it",
    about:
      "Without a change it shows the remaining steps of the present one. MAY FAIL is how many voters can fail during the step before quorum is lost. It is computed by the operator's own rules, applied to their predicted effects.",
    arguments: [CLUSTER],
    flags: {
      file: { kind: "text", short: "f", value: "file", help: "EtcdCluster manifest; - reads standard input" },
      replicas: { kind: "number", value: "n", help: "number of voting members; 0 hibernates" },
      version: { kind: "text", value: "version", help: "etcd version: 3.6.16, or 3.6 for its newest patch" },
    },
    groups: ["output", "target"],
    examples: [
      { does: "What would an upgrade do?", line: "plan demo --version 3.7" },
      { does: "What would this manifest change?", line: "plan -f cluster.yaml" },
      { does: "What is still to come?", line: "plan demo" },
    ],
  },
  async ({ flags, args }, io, target) => {
    const { file, version } = flags;
    const replicas = flags.replicas === undefined ? undefined : String(flags.replicas);
    const { readChange } = await import("../local/change.ts");
    const { change, name } = await readChange({ file, replicas, version }, io);
    const style = styleOf(io, flags);
    await show(io, { output: flags.output, watch: false }, async () => {
      const cluster = await subjectOf(target, args.cluster, name);
      const plan = await target.plan(cluster, change);
      return {
        data: plan,
        text: (format) => planLines(plan, format === "wide" ? Infinity : tableWidthOf(io), style).join("\n"),
      };
    });
  },
);

/** The cluster of a manifest need not exist yet. */
async function subjectOf(
  target: Target,
  given: string | undefined,
  inManifest: string | undefined,
): Promise<ClusterObject | undefined> {
  if (inManifest === undefined) return await chosenCluster(target, given);
  try {
    return await target.cluster(given ?? inManifest);
  } catch (error) {
    const isNew = error instanceof CommandError && error.code === EXIT.notFound && given === undefined;
    if (isNew && (await target.clusters()).every(({ metadata }) => metadata.name !== inManifest))
      return undefined;
    throw error;
  }
}
