/** `quorate apply`: a manifest of an EtcdCluster, checked, applied and waited for. */
import type { EtcdCluster } from "../../api/etcd-cluster.ts";
import { headroom, tolerates } from "../act/headroom.ts";
import { printResult, warn } from "../act/result.ts";
import { isHibernated, isPaused, isReady, settled, printWritten } from "../act/settled.ts";
import { UsageError } from "../io.ts";
import { confirm } from "../act/confirm.ts";
import type { ClusterObject, Target } from "../target/target.ts";
import { clusterVerb } from "../verb.ts";

export const verb = clusterVerb(
  {
    name: "apply",
    summary: "apply an EtcdCluster manifest, and wait until the cluster matches it",
    about:
      "The manifest is checked in full before anything is written, and errors name the line. Fields that the manifest does not have return to their defaults. On a machine the cluster has to exist: local up creates it.",
    flags: {
      file: {
        kind: "text",
        short: "f",
        value: "file",
        help: "manifest of an EtcdCluster; - reads standard input",
      },
    },
    groups: ["confirm", "wait", "dry", "output", "target"],
    examples: [
      { does: "Apply a manifest", line: "apply -f cluster.yaml" },
      { does: "Check it, and show what would change", line: "apply -f cluster.yaml --dry-run" },
    ],
  },
  async ({ flags }, io, target) => {
    if (flags.file === undefined) throw new UsageError("missing: -f <file>; - reads standard input");
    const { readChange } = await import("../local/change.ts");
    const { parseCluster } = await import("../../api/parse-cluster.ts");
    const { change } = await readChange({ file: flags.file }, io);
    const manifest = change && "manifest" in change ? change.manifest : undefined;
    const parsed = parseCluster(manifest);
    if (!parsed.ok) throw new UsageError(`-f ${flags.file}: not an EtcdCluster`);
    const wanted = parsed.cluster;
    const { name } = wanted.metadata;
    checkNamespace(wanted, target);
    const present = (await target.clusters()).find(({ metadata }) => metadata.name === name);
    const risks = present ? risksOf(present, wanted) : [];
    const what = present ? `Changing ${name}` : `Creating ${name}`;
    if (flags["dry-run"]) {
      const how = risks.length > 0 ? `: ${risks.join("; ")}` : "";
      return await printResult(io, flags, `${what}${how}`, wanted);
    }
    if (present && risks.length > 0)
      await confirm(io, flags, { change: what, risk: `${risks.join("; ")}; ${headroom(present)} now` });
    const { cluster, done, warnings } = await target.applyCluster(manifest, present);
    warn(io, warnings);
    if (done === "unchanged") return await printResult(io, flags, `${name} ${done}`, cluster);
    if (flags["no-wait"]) return await printWritten(io, flags, { target, cluster }, `${name} ${done}`);
    const goal = cluster.spec.paused ? isPaused : cluster.spec.replicas === 0 ? isHibernated : isReady;
    const end = await settled(io, flags, target, cluster, goal);
    await printResult(io, flags, `${name} ${done}: ${end.status?.message ?? ""}`.trimEnd(), end);
  },
);

/** What is there is looked up, shown and waited for in one namespace, so it has to be the manifest's. */
function checkNamespace({ metadata }: Pick<EtcdCluster, "metadata">, target: Target): void {
  const { namespace } = metadata;
  if (target.kind === "kubernetes" && namespace !== undefined && namespace !== target.namespace)
    throw new UsageError(`the manifest is for namespace ${namespace}: add -n ${namespace}`);
}

/** What of a change can hurt. */
export function risksOf(present: ClusterObject, wanted: Pick<EtcdCluster, "spec">): string[] {
  const [before, after] = [present.spec, wanted.spec];
  const risks: string[] = [];
  if (after.replicas === 0 && before.replicas > 0) risks.push("all members stop; the data is retained");
  else if (after.replicas < before.replicas)
    risks.push(
      `${before.replicas - after.replicas} of ${before.replicas} voting members are removed, and ${tolerates(after.replicas)} then`,
    );
  if (after.version !== before.version)
    risks.push(`etcd is changed from ${before.version} to ${after.version}; members restart one at a time`);
  const medium = before.storage?.medium;
  if (medium !== undefined && after.storage.medium !== medium)
    risks.push(
      `the storage medium is changed from ${medium} to ${after.storage.medium}; all members are replaced`,
    );
  return risks;
}
