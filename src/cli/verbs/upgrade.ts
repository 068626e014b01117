/** `quorate upgrade`: another etcd version, by the path that etcd allows. */
import { remedyOf, sentenceOf } from "../../core/messages/table.ts";
import { versionStep, type VersionStep } from "../../core/version/upgrade.ts";
import { compareVersions, minorOf, version as versionOf } from "../../core/version/version.ts";
import { exactVersion } from "../../etcd/versions.ts";
import { changeCluster, respecified } from "../act/change.ts";
import { headroom } from "../act/headroom.ts";
import { printResult } from "../act/result.ts";
import { goalOf, settled, printWritten } from "../act/settled.ts";
import { CommandError, EXIT } from "../exit.ts";
import { UsageError } from "../io.ts";
import { confirm } from "../act/confirm.ts";
import { chosenCluster } from "../target/choose.ts";
import { clusterVerb } from "../verb.ts";
import { CLUSTER } from "../verb-data.ts";

export const verb = clusterVerb(
  {
    name: "upgrade",
    summary: "change the etcd version, one member and one minor version at a time",
    about:
      "The path is checked first, and nothing is changed if etcd does not support it. Minor versions are crossed one at a time by patches known to be safe. A lower version is a downgrade, which etcd supports by one minor version from 3.6 on.",
    arguments: [CLUSTER, { name: "version", help: "3.7.3, or 3.7 for its newest patch" }],
    groups: ["confirm", "wait", "dry", "output", "target"],
    examples: [
      { does: "The newest patch of 3.7", line: "upgrade demo 3.7" },
      { does: "The path, without changing anything", line: "upgrade demo 3.7 --dry-run" },
    ],
  },
  async ({ flags, args }, io, target) => {
    const wanted = exactVersion(args.version);
    if (wanted === undefined)
      throw new UsageError(
        `${args.version} is not an etcd version: write 3.7.3, or 3.7 for its newest patch`,
      );
    const cluster = await chosenCluster(target, args.cluster);
    const { name } = cluster.metadata;
    const running = (await target.members(cluster)).map(({ spec }) => spec.template.version);
    const members = running.length > 0 ? running : [cluster.spec.version];
    const path = pathTo(members, wanted);
    if ("refused" in path) throw new CommandError(EXIT.failed, `${name} stays as it is: ${path.refused}`);
    if (cluster.spec.version === wanted && members.every((one) => one === wanted))
      return await printResult(io, flags, `${name} runs etcd ${wanted} already`, cluster);
    const change = `Changing ${name} from etcd ${[...new Set(members)].join(", ")} to ${path.versions.join(", then ")}`;
    if (flags["dry-run"])
      return await printResult(io, flags, change, { spec: { version: wanted }, path: path.versions });
    await confirm(io, flags, {
      change,
      risk: `${path.note}members restart one at a time; ${headroom(cluster)} now`,
    });
    const { object } = await changeCluster(
      target,
      cluster,
      respecified("version", cluster.spec.version, wanted),
    );
    if (flags["no-wait"]) return await printWritten(io, flags, { target, cluster: object }, change);
    const end = await settled(io, flags, target, object, goalOf(object));
    const when = object.spec.replicas === 0 ? " when it wakes; its data is retained" : "";
    await printResult(io, flags, `${name} runs etcd ${wanted}${when}`, end);
  },
);

type Path = { readonly refused: string } | { readonly versions: readonly string[]; readonly note: string };

/** More minors than this never lie between two versions that are known. */
const MOST_STEPS = 10;

/** The versions that all members run one after another, as the operator will choose them. */
export function pathTo(members: readonly string[], wanted: string): Path {
  const versions: string[] = [];
  let now = members;
  for (let steps = 0; steps < MOST_STEPS; steps++) {
    const step: VersionStep = versionStep({ members: now, batchJoined: false }, wanted);
    if (step.kind === "refused") {
      const next = remedyOf(step.why);
      return { refused: `${sentenceOf(step.why)}${next === undefined ? "" : `. ${next}`}` };
    }
    if (step.kind === "enable-downgrade")
      return { versions: [...versions, step.to], note: "etcd first migrates its storage down; " };
    if (step.kind !== "run") break;
    versions.push(step.to);
    if (step.final) break;
    now = now.map(() => step.to);
  }
  const [lowest = wanted] = members.toSorted((a, b) => compareVersions(versionOf(a), versionOf(b)));
  const crosses = minorOf(lowest) !== minorOf(wanted);
  return { versions, note: crosses ? "minor versions are crossed, which cannot always be taken back; " : "" };
}
