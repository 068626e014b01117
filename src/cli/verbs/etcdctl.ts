/** `quorate etcdctl`: etcdctl, or our own client, on a cluster that need not be reachable from here by itself. */
import path from "node:path";
import { CommandError, EXIT } from "../exit.ts";
import { inPath, isProgram, runAttached } from "../reach/program.ts";
import { UsageError, type CliIo } from "../io.ts";
import { chosenCluster } from "../target/choose.ts";
import { clusterVerb } from "../verb.ts";
import { CLUSTER } from "../verb-data.ts";

export const PROGRAM_FLAGS = {
  etcdctl: { kind: "text", value: "file", help: "the etcdctl to run (default: the one in PATH)" },
  "built-in": { kind: "switch", help: "the built-in client, also if there is an etcdctl" },
} as const;

export const verb = clusterVerb(
  {
    name: "etcdctl",
    summary: "run etcdctl against a cluster, through port-forwards on Kubernetes",
    about:
      "Connects to each member through the API server, with the client certificate of the cluster. You need the rights to get the Secret named in status.clientSecret, and to get and create pods/portforward; nothing is executed in Pods. Certificates are checked in full. The key is written to a private directory that is removed at the end. Without an etcdctl on this machine, a built-in client knows get, put, del, member list, endpoint status, endpoint health and alarm list.",
    arguments: [CLUSTER],
    flags: PROGRAM_FLAGS,
    groups: ["target"],
    rest: "etcdctl arguments",
    examples: [
      { does: "The members as etcd sees them", line: "etcdctl demo -- member list -w table" },
      { does: "All keys under a prefix", line: "etcdctl demo -n prod -- get /app/ --prefix" },
      { does: "On this machine, without an etcdctl", line: "etcdctl --local --built-in -- endpoint health" },
    ],
  },
  async ({ flags, args, rest }, io, target) => {
    if (rest.length === 0)
      throw new UsageError(
        `no etcdctl command given. Put it after --: ${target.command} etcdctl -- member list`,
      );
    const program = chosenProgram(flags, io);
    const cluster = await chosenCluster(target, args.cluster);
    const { reach } = await import("../reach/open.ts");
    const reached = await reach(target, cluster, io);
    try {
      if (program === undefined) {
        const { runBuiltIn } = await import("../etcdctl/run.ts");
        return await runBuiltIn(reached, rest, io);
      }
      return await runAttached(program, rest, { ...io.env, ...(await reached.environment()) }, io);
    } finally {
      await reached.close();
    }
  },
);

/** The etcdctl to run; undefined for the built-in client. */
export function chosenProgram(
  flags: { readonly etcdctl: string | undefined; readonly "built-in": boolean },
  io: CliIo,
): string | undefined {
  if (flags.etcdctl !== undefined && flags["built-in"])
    throw new UsageError("--etcdctl and --built-in contradict each other: use one of the two");
  if (flags["built-in"]) return undefined;
  if (flags.etcdctl === undefined) return inPath("etcdctl", io.env);
  const file = path.resolve(io.cwd, flags.etcdctl);
  if (isProgram(file)) return file;
  throw new CommandError(EXIT.failed, `--etcdctl ${flags.etcdctl}: there is no program of this name`);
}
