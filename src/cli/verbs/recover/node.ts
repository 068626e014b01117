/** `quorate recover node`: what a machine holds of an etcd cluster, and a start from it, without an API server. */
import { realpath } from "node:fs/promises";
import path from "node:path";
import { IMAGE_REPOSITORY } from "../../../api/etcd-cluster-spec.ts";
import { MAX_LEARNERS } from "../../../core/assess/learner-limit.ts";
import { isFrom } from "../../../core/config/config-keys.ts";
import { releaseOf } from "../../../core/version/releases.ts";
import { minorOf, parseVersion } from "../../../core/version/version.ts";
import { findOnNode, type NodeFound } from "../../../recovery/node/found.ts";
import { memberPlan, snapshotPlan, type NodePlan } from "../../../recovery/node/plan.ts";
import { nodeWorkDir } from "../../../recovery/places.ts";
import { staticPod, type Serving, type ServingTLS } from "../../../recovery/node/serve.ts";
import { systemDisk } from "../../../seams/disk.ts";
import { commandOf } from "../../called.ts";
import { CommandError, EXIT } from "../../exit.ts";
import type { Flags } from "../../flag.ts";
import { UsageError, type CliIo } from "../../io.ts";
import { formatted } from "../../output.ts";
import { memberLines, planLines, snapshotLines } from "../../screen/node.ts";
import { plainVerb } from "../../verb.ts";
import { assertApart, assertUnused } from "./node-safety.ts";

const FLAGS = {
  plan: {
    kind: "text",
    value: "hash",
    help: "carry out this plan, which you have read; refused if it has changed",
  },
  manifests: {
    kind: "text",
    value: "directory",
    help: "start it as a static Pod: write its manifest there, where the kubelet looks (/etc/kubernetes/manifests)",
  },
  foreground: { kind: "switch", help: "start it as a process, until Ctrl-C" },
  "etcd-version": {
    kind: "text",
    value: "version",
    help: "etcd that the data is started with; needed for data of 3.5 and older, which does not tell",
  },
  to: {
    kind: "text",
    value: "directory",
    help: "where the new data goes, an empty directory; default: beside the old, in recovery/node-<plan>",
  },
  "listen-client": {
    kind: "text",
    value: "url",
    help: "where clients connect; https needs --cert-file and --key-file (default: http://127.0.0.1:2379)",
  },
  "listen-peer": {
    kind: "text",
    value: "url",
    help: "for members that join later (default: http://127.0.0.1:2380)",
  },
  "listen-metrics": {
    kind: "text",
    value: "url",
    help: "for health checks (default: http://127.0.0.1:2381)",
  },
  "cert-file": { kind: "text", value: "file", help: "server certificate" },
  "key-file": { kind: "text", value: "file", help: "its key" },
  "trusted-ca-file": {
    kind: "text",
    value: "file",
    help: "CA of the clients, which then need a certificate",
  },
  "image-repository": {
    kind: "text",
    value: "name",
    help: `of the static Pod (default: ${IMAGE_REPOSITORY})`,
  },
} as const satisfies Flags;

export const verb = plainVerb(
  {
    name: "recover node",
    summary: "start an etcd alone from a member's directory or a snapshot on this machine",
    about:
      "For a machine whose Kubernetes cannot start because its etcd is gone: needs no API server. Shows what the path holds and the plan to start it; with --plan it carries out just this plan. Everything in the member's log becomes a snapshot, while its directory is only read; the snapshot is restored under a new cluster ID with its revision raised, and one etcd starts on it, as a static Pod or in the foreground. Calling it again with the same plan starts the same data again.",
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
        does: "Run it here, from a snapshot",
        line: "recover node ./nightly.db --plan 0b5e7d4c9a8f1e23 --foreground",
      },
    ],
    exitCodes: [
      { code: EXIT.notFound, meaning: "there is neither a member's data nor a snapshot at the path" },
      {
        code: EXIT.conflict,
        meaning:
          "the plan is another one than --plan names, an etcd runs on the data, or --to holds something else; nothing was done",
      },
    ],
  },
  async ({ args, flags }, io) => {
    const isStart = flags.plan !== undefined;
    if (isStart && (flags.manifests !== undefined) === (flags.foreground === true))
      throw new UsageError("with --plan, say how to start it: --manifests <directory> or --foreground");
    const named = path.resolve(io.cwd, args.path);
    const given = await realpath(named).catch(() => named);
    const found = await findOnNode(given, { disk: systemDisk, random: io.random, signal: io.signal });
    if (found.kind === "member") await assertUnused(found.member.dataDir);
    const plan = planOf(found, given, flags["etcd-version"]);
    const base = found.kind === "member" ? found.member.workBase : `${given}.recovery`;
    const workDir = flags.to === undefined ? nodeWorkDir(base, plan.hash) : path.resolve(io.cwd, flags.to);
    await assertApart(found.kind === "member" ? found.member.dataDir : given, workDir);
    if (!isStart) {
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
    if (flags.plan !== plan.hash)
      throw new CommandError(
        EXIT.conflict,
        `the plan is ${plan.hash} now, not ${flags.plan}; nothing was done. Read it again: ${commandOf(io)} recover node ${args.path}`,
      );
    const dataDir = path.join(workDir, "data");
    const serving = servingOf(plan, dataDir, flags, io);
    // It may be served already, by the static Pod of an earlier call.
    await assertUnused(dataDir);
    const { prepare, serveInForeground } = await import("./node-start.ts");
    const extra = isFrom(plan.version, "3.6") ? [`--max-learners=${MAX_LEARNERS}`] : [];
    await prepare(io, { plan, workDir, peerURL: serving.peerURL, flags: extra });
    if (flags.manifests === undefined)
      return await serveInForeground(io, { plan, workDir, serving, flags: extra });
    const repository = flags["image-repository"] ?? IMAGE_REPOSITORY;
    const pod = staticPod(serving, { image: `${repository}:v${plan.version}`, plan: plan.hash });
    const file = path.join(path.resolve(io.cwd, flags.manifests), `${plan.name}-recovered.yaml`);
    const { stringify } = await import("yaml");
    if (!(await systemDisk.create(file, stringify(pod, { lineWidth: 0 }))))
      throw new CommandError(
        EXIT.conflict,
        `${file} exists already: remove it if its etcd is not wanted any more`,
      );
    io.stdout.write(`Wrote ${file}. The kubelet starts etcd at ${serving.clientURL}.\n`);
    return EXIT.done;
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
        `there are several members below ${given}: name one of ${found.directories.join(", ")}. Which one knows most: recover inspect`,
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

/** The newest known release of the minor that wrote the data. */
function versionFor(asked: string | undefined, wrote: string | undefined): string {
  if (asked !== undefined) {
    if (!parseVersion(asked))
      throw new UsageError(`--etcd-version must be a release like 3.6.16, not ${asked}`);
    return asked.replace(/^v/, "");
  }
  const good = wrote === undefined ? undefined : releaseOf(minorOf(wrote))?.knownGood;
  if (good === undefined)
    throw new UsageError(
      "the data does not tell which etcd wrote it, as that of 3.5 and older: name its version with --etcd-version, like 3.5.35",
    );
  return good;
}

type Values = Readonly<Partial<Record<keyof typeof FLAGS, string | boolean>>>;

function servingOf(plan: NodePlan, dataDir: string, flags: Values, io: CliIo): Serving {
  const text = (flag: keyof typeof FLAGS) => flags[flag] as string | undefined;
  const file = (flag: keyof typeof FLAGS) => {
    const value = text(flag);
    return value === undefined ? undefined : path.resolve(io.cwd, value);
  };
  const clientURL = urlOf("listen-client", text("listen-client") ?? "http://127.0.0.1:2379");
  const [cert, key, ca] = [file("cert-file"), file("key-file"), file("trusted-ca-file")];
  const isSecure = clientURL.startsWith("https:");
  if (isSecure !== (cert !== undefined && key !== undefined))
    throw new UsageError(
      "--cert-file and --key-file go with --listen-client https://…: pass all of them, or none",
    );
  if (!isSecure && (ca !== undefined || !isLoopback(clientURL)))
    throw new UsageError(
      `without TLS anybody who reaches ${clientURL} could read and write everything: use https with certificates, or http on 127.0.0.1`,
    );
  const tls: ServingTLS | undefined = cert !== undefined && key !== undefined ? { cert, key, ca } : undefined;
  const peerURL = urlOf("listen-peer", text("listen-peer") ?? "http://127.0.0.1:2380");
  if (!isLoopback(peerURL))
    throw new UsageError(
      "--listen-peer must be on 127.0.0.1: nobody joins before the cluster has a place of its own",
    );
  const metricsURL = urlOf("listen-metrics", text("listen-metrics") ?? "http://127.0.0.1:2381");
  return { name: plan.name, dataDir, clientURL, peerURL, metricsURL, ...(tls && { tls }) };
}

function urlOf(flag: string, text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !/^https?:$/.test(url.protocol) || url.port === "")
    throw new UsageError(`--${flag} must be a URL with a port, like https://127.0.0.1:2379, not ${text}`);
  return url.origin;
}

function isLoopback(url: string): boolean {
  const { hostname } = new URL(url);
  return hostname === "localhost" || hostname === "[::1]" || hostname.startsWith("127.");
}
