/** What a machine holds on the screen, and the plan to start it. */
import type { MemberFound, Owner, SnapshotFound } from "../../recovery/node/found.ts";
import type { NodePlan } from "../../recovery/node/plan.ts";
import type { SiblingPlan } from "../../recovery/node/siblings.ts";
import { directoryLines } from "./directories.ts";
import { rows } from "./rows.ts";
import { bytes } from "./words.ts";

export function memberLines({ dataDir, owner, facts }: MemberFound): string[] {
  const by = owner && ownerText(owner);
  return [
    ...(by === undefined ? [] : rows(["Named as", by])),
    ...directoryLines({ directory: dataDir, facts }),
  ];
}

function ownerText({ namespace, cluster, member }: Owner): string {
  return `${member} of EtcdCluster ${namespace}/${cluster}`;
}

export function snapshotLines({ file, sha256, size, revision, totalKeys, version }: SnapshotFound): string[] {
  return rows(
    ["Snapshot", file],
    ["State", "whole"],
    ["Size", bytes(size)],
    ["SHA-256", sha256],
    ["Revision", String(revision)],
    ["Keys", totalKeys === undefined ? undefined : String(totalKeys)],
    ["etcd", version],
  );
}

export function planLines(plan: NodePlan, workDir: string, approve: string): string[] {
  const { hash, version, name, revision, others } = plan;
  const { least, most } = revision;
  const risk =
    others.length === 0
      ? []
      : [
          `Writes that only ${others.join(", ")} had are lost for good. If the data of a majority of the members can still be found, look at all of it first, and start the one with the newest log (recover inspect).`,
        ];
  return [
    "",
    ...rows(
      ["Plan", hash],
      ["Starts", `${name}, alone, with etcd ${version}, under a new cluster ID`],
      [
        "Revision",
        `${least === most ? least : `${least} to ${most}`}, raised above every earlier restore so that watchers read again`,
      ],
      ["New data", `${workDir}/data`],
    ),
    "",
    ...risk,
    `What is here is only read. To carry out just this plan: ${approve}`,
  ];
}

export function siblingLines(plan: SiblingPlan, approve: string): string[] {
  const { hash, version, name, siblings, missing, dataDir } = plan;
  const places = siblings.map((one) => `${one.name} (${one.address ?? one.peerURL})`);
  return [
    "",
    ...rows(
      ["Plan", hash],
      ["Starts", `${name} as the member it was, with etcd ${version}, in ${dataDir}`],
      ["Siblings", places.join(", ")],
      ["Not started", missing.length === 0 ? undefined : missing.join(", ")],
    ),
    "",
    "Cluster, members and revisions stay what they were, and no write is lost. It serves when a majority of the voters was started in this way, each from its own directory. Do not start any of them alone as well: that would be another cluster.",
    `To carry out just this plan: ${approve}`,
  ];
}
