/** `quorate recover node`: what a machine holds of an etcd cluster, and a start from it, without an API server. */
import { realpath } from "node:fs/promises";
import path from "node:path";
import { findOnNode, type NodeFound } from "../../../recovery/node/found.ts";
import { memberPlan, snapshotPlan, type NodePlan } from "../../../recovery/node/plan.ts";
import { nodeWorkDir } from "../../../recovery/places.ts";
import { systemDisk } from "../../../seams/disk.ts";
import { commandOf } from "../../called.ts";
import { CommandError, EXIT } from "../../exit.ts";
import { UsageError } from "../../io.ts";
import { formatted } from "../../output.ts";
import { memberLines, planLines, snapshotLines } from "../../screen/node.ts";
import { plainVerb } from "../../verb.ts";
import { FLAGS, lonelyPeerURL, servingOf, versionFor } from "./node-flags.ts";
import { assertApart, assertSamePlan, assertUnused } from "./node-safety.ts";
import { withSiblings } from "./node-siblings.ts";

export const verb = plainVerb(
  {
    name: "recover node",
    summary: "start an etcd from a member's directory or a snapshot on this machine",
    about:
      "For a machine whose Kubernetes cannot start because its etcd is gone: needs no API server. Shows what the path holds and the plan to start it; with --plan it carries out just this plan. Everything in the member's log becomes a snapshot, while its directory is only read; the snapshot is restored under a new cluster ID with its revision raised, and one etcd starts on it, as a static Pod or in the foreground. Calling it again with the same plan starts the same data again. With --siblings, called on every machine of a majority, the members start as they were instead, each in its own directory.",
    arguments: [
      {
        name: "path",
        help: "directory of a member (medium HostPath, or what etcd has as --data-dir), one above it, or a snapshot",
        complete: "file",
      },
    ],
    flags: FLAGS,
    groups: ["output"],
    examples: [
      { does: "What is here, and what would be done?", line: "recover node /var/lib/etcd" },
      {
        does: "Let the kubelet run it, with the certificates of kubeadm",
        line: "recover node /var/lib/etcd --plan 51f0a3c2d4e5b697 --manifests /etc/kubernetes/manifests --listen-client https://127.0.0.1:2379 --cert-file /etc/kubernetes/pki/etcd/server.crt --key-file /etc/kubernetes/pki/etcd/server.key --trusted-ca-file /etc/kubernetes/pki/etcd/ca.crt",
      },
      {
        does: "Start it with its siblings, which are started on their machines in the same way",
        line: "recover node /var/lib/quorate --siblings demo-2=10.0.0.12,demo-3=10.0.0.13 --plan 51f0a3c2d4e5b697 --manifests /etc/kubernetes/manifests --peer-cert-file /pki/peer.crt --peer-key-file /pki/peer.key --peer-trusted-ca-file /pki/ca.crt",
      },
      {
        does: "Run it here, from a snapshot",
        line: "recover node ./nightly.db --plan 0b5e7d4c9a8f1e23 --foreground",
      },
    ],
    exitCodes: [
      { code: EXIT.notFound, meaning: "there is neither a member's data nor a snapshot at the path" },
      {
        code: EXIT.conflict,
        meaning:
          "the plan is another one than --plan names, an etcd runs on the data, --to holds something else, or the data does not fit --siblings; nothing was done",
      },
    ],
  },
  async ({ args, flags }, io) => {
    if (flags.plan !== undefined && (flags.manifests !== undefined) === (flags.foreground === true))
      throw new UsageError("with --plan, say how to start it: --manifests <directory> or --foreground");
    const named = path.resolve(io.cwd, args.path);
    const given = await realpath(named).catch(() => named);
    const found = await findOnNode(given, { disk: systemDisk, random: io.random, signal: io.signal });
    if (found.kind === "member") await assertUnused(found.member.dataDir);
    if (flags.siblings.length > 0) return await withSiblings(io, found, args.path, flags);
    const plan = planOf(found, given, flags["etcd-version"]);
    const base = found.kind === "member" ? found.member.workBase : `${given}.recovery`;
    const workDir = flags.to === undefined ? nodeWorkDir(base, plan.hash) : path.resolve(io.cwd, flags.to);
    await assertApart(found.kind === "member" ? found.member.dataDir : given, workDir);
    if (flags.plan === undefined) {
      const approve = `${commandOf(io)} recover node ${args.path} --plan ${plan.hash} --foreground (or --manifests /etc/kubernetes/manifests)`;
      const lines =
        found.kind === "member"
          ? memberLines(found.member)
          : found.kind === "snapshot"
            ? snapshotLines(found.snapshot)
            : [];
      const text = () => [...lines, ...planLines(plan, workDir, approve)].join("\n");
      io.stdout.write(await formatted({ data: { ...found, plan }, text }, flags.output));
      return EXIT.done;
    }
    assertSamePlan(io, plan, flags.plan, args.path);
    const dataDir = path.join(workDir, "data");
    const serving = { ...servingOf(plan.name, dataDir, flags, io), peerURL: lonelyPeerURL(flags) };
    // It may be served already, by the static Pod of an earlier call.
    await assertUnused(dataDir);
    const { prepare, serve } = await import("./node-start.ts");
    await prepare(io, { plan, workDir, peerURL: serving.peerURL });
    return await serve(io, flags, { plan, workDir, serving });
  },
);

function planOf(found: NodeFound, given: string, asked: string | undefined): NodePlan {
  switch (found.kind) {
    case "nothing":
      throw new CommandError(
        EXIT.notFound,
        `there is neither a member's data (member/wal) nor a snapshot at ${given}. Pass the directory of a member, storage.hostPath, or a file of \`etcdctl snapshot save\`.`,
      );
    case "several":
      throw new UsageError(
        `there are several members below ${given}: name one of ${found.directories.join(", ")}. Which one has the newest log: recover inspect`,
      );
    case "snapshot":
      return snapshotPlan(found.snapshot, versionFor(asked, found.snapshot.version));
    case "member": {
      const { facts, dataDir } = found.member;
      if (facts.state !== "data")
        throw new CommandError(
          EXIT.failed,
          `etcd cannot start from ${dataDir}: ${facts.state === "empty" ? "its log is empty" : facts.why}. Use the directory of another member, or a snapshot.`,
        );
      return memberPlan(found.member, facts, versionFor(asked, facts.database.storageVersion));
    }
  }
}
