/** `quorate approve`: lets a step go on that waits for a person, or lists what waits. */
import { ANNOTATIONS } from "../../operator/names.ts";
import { changeCluster } from "../act/change.ts";
import { confirm } from "../act/confirm.ts";
import { printResult } from "../act/result.ts";
import { CommandError, EXIT } from "../exit.ts";
import { chosenCluster, noSuch } from "../target/choose.ts";
import type { ClusterObject, Target } from "../target/target.ts";
import { clusterVerb } from "../verb.ts";
import { CLUSTER } from "../verb-data.ts";

/** These accept a loss of data. */
const ACCEPTS_LOSS = /^accept-data-/;

export const verb = clusterVerb(
  {
    name: "approve",
    summary: "approve a step that waits for a person, or list what waits",
    about:
      "An approval is the hash of a rollout (spec.update.strategy OnApproval) or of an edit of TLS that ends how clients connect, an upgrade without the snapshot before it, such as without-snapshot-3.7, a step for a member that the operator cannot reach, such as replace-demo-3, or data that was restored by hand and is older than what was seen before, such as accept-data-48211. Without an approval, the command lists what waits for one.",
    arguments: [
      CLUSTER,
      { name: "approval", help: "what to approve; may be left out to list what waits", optional: true },
    ],
    groups: ["confirm", "dry", "output", "target"],
    examples: [
      { does: "What waits for an approval", line: "approve demo" },
      { does: "Let a rollout begin", line: "approve demo 1f0c2a9b" },
    ],
  },
  async ({ flags, args }, io, target) => {
    const { cluster, approval } = await meant(target, args.cluster, args.approval);
    const { name } = cluster.metadata;
    const waiting = cluster.status?.approvals ?? [];
    if (approval === undefined) {
      const lines = waiting.map(
        ({ approval: word, message }) =>
          `${word}: ${message}\n  Approve it: ${target.command} approve ${name} ${word}${target.flags}`,
      );
      const text = lines.length === 0 ? `nothing of ${name} waits for an approval` : lines.join("\n");
      return await printResult(io, { output: flags.output, "dry-run": false }, text, waiting);
    }
    const words = waiting.map(({ approval: word }) => word);
    if (!words.includes(approval)) {
      if (words.length > 0) throw noSuch("approval", approval, words, `awaited by ${name}`);
      throw new CommandError(
        EXIT.failed,
        `nothing of ${name} waits for an approval, so ${approval} was not written. See what it waits for: ${target.command} why ${name}${target.flags}`,
      );
    }
    if (flags["dry-run"]) return await printResult(io, flags, `Approving ${approval} for ${name}`, waiting);
    if (ACCEPTS_LOSS.test(approval))
      await confirm(io, flags, {
        change: `Approving ${approval} for ${name}`,
        risk: "the data that is served now is kept, and what was written after it was taken is lost",
      });
    const { object } = await changeCluster(target, cluster, ({ metadata }) =>
      metadata.annotations?.[ANNOTATIONS.approve] === approval
        ? undefined
        : { annotations: { [ANNOTATIONS.approve]: approval } },
    );
    const watch = `${target.command} status ${name}${target.flags} --watch`;
    await printResult(io, flags, `${approval} is approved for ${name}. Watch it: ${watch}`, object);
  },
);

/** One word may be a cluster or an approval: it is a cluster where one is called so. */
async function meant(
  target: Target,
  first: string | undefined,
  second: string | undefined,
): Promise<{ readonly cluster: ClusterObject; readonly approval: string | undefined }> {
  if (second !== undefined || first === undefined)
    return { cluster: await chosenCluster(target, first), approval: second };
  const isCluster = (await target.clusters()).some(({ metadata }) => metadata.name === first);
  return isCluster
    ? { cluster: await target.cluster(first), approval: undefined }
    : { cluster: await chosenCluster(target, undefined), approval: first };
}
