/** `quorate report`: an archive for a bug report, without secrets. */
import { writeFile } from "node:fs/promises";
import path from "node:path";
import { CommandError, EXIT } from "../exit.ts";
import { collected } from "../report/collect.ts";
import { commonParts } from "../report/parts.ts";
import { tarGz } from "../report/tar.ts";
import { chosenCluster } from "../target/choose.ts";
import { clusterVerb } from "../verb.ts";
import { CLUSTER } from "../verb-data.ts";

export const verb = clusterVerb(
  {
    name: "report",
    summary: "collect a redacted archive about a cluster for a bug report",
    about:
      "Holds the cluster with its status, why it waits, members, operations, events, Pods, claims, Services, budgets, versions, and the end of the logs of members and of the operator. Secrets are never read. Values of environment variables, keys, tokens and passwords are replaced by [redacted]; look through the archive before you share it. Keys and values stored in etcd are not part of it. What you may not read is listed in not-collected.txt.",
    arguments: [CLUSTER],
    flags: {
      file: {
        kind: "text",
        short: "f",
        value: "file",
        help: "where to write it (default: <cluster>-report-<time>.tar.gz)",
      },
      lines: { kind: "number", value: "number", default: 2_000, help: "lines of each log" },
    },
    groups: ["target"],
    examples: [
      { does: "A report about demo in the current directory", line: "report demo -n prod" },
      { does: "To another file", line: "report demo -f /tmp/demo.tar.gz" },
    ],
  },
  async ({ flags, args }, io, target) => {
    const cluster = await chosenCluster(target, args.cluster);
    const { name } = cluster.metadata;
    const now = io.clock.now();
    const stamp = new Date(now).toISOString().slice(0, 19).replaceAll(/[-:]/g, "");
    const folder = `${name}-report-${stamp}`;
    const file = path.resolve(io.cwd, flags.file ?? `${folder}.tar.gz`);
    const [{ KubeTarget }, { LocalTarget }] = await Promise.all([
      import("../target/kube.ts"),
      import("../target/local.ts"),
    ]);
    const own =
      target instanceof KubeTarget
        ? await (await import("../report/kube-parts.ts")).kubeParts(target, cluster, flags.lines, io)
        : target instanceof LocalTarget
          ? await (await import("../report/local-parts.ts")).localParts(target, cluster, flags.lines)
          : [];
    const { files, missing } = await collected([...commonParts(target, cluster, io), ...own], io.signal);
    const archive = tarGz(
      files.map((one) => ({ ...one, path: `${folder}/${one.path}` })),
      now,
    );
    try {
      await writeFile(file, archive, { mode: 0o600, flag: "wx" });
    } catch (error) {
      const exists = (error as NodeJS.ErrnoException).code === "EEXIST";
      const next = exists ? "it exists already; name another one with --file" : (error as Error).message;
      throw new CommandError(EXIT.failed, `cannot write ${file}: ${next}`, { cause: error });
    }
    for (const { path: part, reason } of missing) io.stderr.write(`Not collected: ${part}: ${reason}\n`);
    io.stderr.write(
      "Secrets were not read, and what looks like a key or a password was replaced. Look through it before you share it.\n",
    );
    io.stdout.write(`${file}\n`);
  },
);
