/** `quorate shell`: a shell in which etcdctl finds the cluster, or a prompt of the built-in client. */
import { createInterface } from "node:readline/promises";
import path from "node:path";
import { CommandError } from "../exit.ts";
import { UsageError, type CliIo } from "../io.ts";
import { runAttached } from "../reach/program.ts";
import type { Reached } from "../reach/reached.ts";
import { chosenCluster } from "../target/choose.ts";
import { clusterVerb } from "../verb.ts";
import { CLUSTER } from "../verb-data.ts";
import { chosenProgram, PROGRAM_FLAGS } from "./etcdctl.ts";

export const verb = clusterVerb(
  {
    name: "shell",
    summary: "open a shell in which etcdctl reaches the cluster",
    about:
      "Sets ETCDCTL_ENDPOINTS, ETCDCTL_CACERT, ETCDCTL_CERT and ETCDCTL_KEY for your own shell ($SHELL). Port-forwards and files last until you leave it. Without an etcdctl on this machine, you get a prompt of the built-in client, which takes the same commands as `etcdctl`. Needs the same rights as `etcdctl`.",
    arguments: [CLUSTER],
    flags: PROGRAM_FLAGS,
    groups: ["target"],
    examples: [
      { does: "Work with the keys of demo", line: "shell demo" },
      { does: "A prompt without an etcdctl", line: "shell demo --built-in" },
    ],
  },
  async ({ flags, args }, io, target) => {
    const program = chosenProgram(flags, io);
    const cluster = await chosenCluster(target, args.cluster);
    const { reach } = await import("../reach/open.ts");
    const reached = await reach(target, cluster, io);
    try {
      return program === undefined ? await prompt(reached, io) : await subshell(program, reached, io);
    } finally {
      await reached.close();
    }
  },
);

async function subshell(program: string, reached: Reached, io: CliIo): Promise<number> {
  const shell = io.env["SHELL"] || "/bin/sh";
  const { PATH = "" } = io.env;
  const env = {
    ...io.env,
    ...(await reached.environment()),
    // Where --etcdctl names one, it is the one that the shell finds.
    PATH: `${path.dirname(program)}${path.delimiter}${PATH}`,
    QUORATE_CLUSTER: reached.name,
  };
  io.stderr.write(`In this shell, etcdctl reaches ${describe(reached)}. Leave it with exit.\n`);
  return await runAttached(shell, [], env, io, "SIGHUP");
}

function describe({ name, endpoints }: Reached): string {
  return `${name} (${endpoints.map((endpoint) => endpoint.name).join(", ")})`;
}

async function prompt(reached: Reached, io: CliIo): Promise<number> {
  const { runBuiltIn } = await import("../etcdctl/run.ts");
  io.stderr.write(
    `Connected to ${describe(reached)}. Commands as for etcdctl, such as: get /app/ --prefix. Leave with exit.\n`,
  );
  const lines = createInterface({ input: io.stdin, terminal: false });
  const end = () => lines.close();
  io.signal.addEventListener("abort", end, { once: true });
  const ask = () => {
    if (io.isTTY) io.stderr.write(`${reached.name}> `);
  };
  let code = 0;
  try {
    ask();
    for await (const line of lines) {
      const words = wordsOf(line);
      if (words.length === 1 && (words[0] === "exit" || words[0] === "quit")) break;
      if (words.length > 0) code = await oneLine(() => runBuiltIn(reached, words, io), io);
      ask();
    }
  } finally {
    io.signal.removeEventListener("abort", end);
    lines.close();
  }
  return code;
}

/** A mistake ends the line, not the session. */
async function oneLine(run: () => Promise<number>, io: CliIo): Promise<number> {
  try {
    return await run();
  } catch (error) {
    if (!(error instanceof UsageError) && !(error instanceof CommandError)) throw error;
    io.stderr.write(`${error.message}\n`);
    return 1;
  }
}

/** Words of a line, with quotes as in a shell: `put a "b c"`. */
export function wordsOf(line: string): string[] {
  const words = line.matchAll(/"((?:[^"\\]|\\.)*)"|'([^']*)'|(\S+)/g);
  return [...words].map(
    ([, double, single, bare]) => double?.replace(/\\(.)/g, "$1") ?? single ?? bare ?? "",
  );
}
