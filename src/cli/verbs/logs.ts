/** `quorate logs`: the logs of all members as one, in order of time. */
import { UsageError } from "../io.ts";
import { styleOf } from "../output.ts";
import { isAtLeast, LOG_LEVELS, logText, parseEtcdLog } from "../screen/log-line.ts";
import { chosenCluster, noSuch } from "../target/choose.ts";
import { clusterVerb } from "../verb.ts";
import { CLUSTER } from "../verb-data.ts";

export const verb = clusterVerb(
  {
    name: "logs",
    summary: "show the logs of a cluster's members as one, in order of time",
    about:
      "etcd's JSON is shown as text; -o wide adds the place in the source, -o json prints one object per line. Lines that are not JSON, such as a panic, are always shown.",
    arguments: [CLUSTER],
    flags: {
      follow: { kind: "switch", short: "f", help: "show new lines until Ctrl-C, also of members that join" },
      member: { kind: "list", short: "m", value: "member", help: "only these members" },
      since: { kind: "duration", value: "duration", help: "only lines of this last time, such as 10m" },
      lines: {
        kind: "number",
        value: "n",
        help: "the last lines of each member (default: 50, or all with --since)",
      },
      previous: {
        kind: "switch",
        short: "p",
        help: "lines of the containers before their last restart (Kubernetes)",
      },
      level: {
        kind: "choice",
        choices: LOG_LEVELS,
        default: "info",
        help: "only lines of this level and above",
      },
    },
    groups: ["output", "target"],
    examples: [
      { does: "The last lines of all members", line: "logs demo" },
      { does: "Warnings of two members, as they come", line: "logs demo -m demo-1,demo-2 --level warn -f" },
      { does: "The last half hour", line: "logs demo --since 30m" },
      { does: "Why a container of demo-2 ended", line: "logs demo -m demo-2 --previous" },
    ],
  },
  async ({ flags, args }, io, target) => {
    if (flags.previous && flags.follow)
      throw new UsageError(
        "--previous and --follow exclude each other: a container that ended writes no more",
      );
    if (flags.previous && target.kind === "local")
      throw new UsageError(
        "--previous is for containers; on this machine a member's log has the lines of all its processes: leave it out",
      );
    const cluster = await chosenCluster(target, args.cluster);
    const membersNow = async () => (await target.members(cluster)).map(({ metadata }) => metadata.name);
    const names = await membersNow();
    const unknown = flags.member.find((name) => !names.includes(name));
    if (unknown !== undefined) throw noSuch("member", unknown, names, `in cluster ${cluster.metadata.name}`);
    const members = flags.member.length > 0 ? flags.member : names;
    const style = styleOf(io, flags);
    let nameWidth = Math.max(0, ...members.map(({ length }) => length));
    const lines = flags.lines ?? (flags.since === undefined ? 50 : undefined);
    const wishes = {
      members,
      follow: flags.follow,
      ...(flags.follow && flags.member.length === 0 && { membersNow }),
      previous: flags.previous,
      ...(flags.since !== undefined && { sinceMs: flags.since }),
      ...(lines !== undefined && { lines }),
    };
    const structured = flags.output === "json" || flags.output === "yaml";
    for await (const line of target.logs(cluster, wishes, io.signal)) {
      if (!isAtLeast(line.text, flags.level)) continue;
      if (structured) {
        const { member, at, text } = line;
        const entry = {
          member,
          ...(at !== undefined && { at: new Date(at).toISOString() }),
          ...asData(text),
        };
        io.stdout.write(`${flags.output === "yaml" ? "--- " : ""}${JSON.stringify(entry)}\n`);
      } else {
        nameWidth = Math.max(nameWidth, line.member.length);
        io.stdout.write(`${logText(line, { nameWidth, wide: flags.output === "wide" }, style)}\n`);
      }
    }
  },
);

function asData(text: string): object {
  const log = parseEtcdLog(text);
  return log === undefined ? { text } : { level: log.level, message: log.message, fields: log.fields };
}
