/**
 * `npm run testbed -- …`: the command line of the testbed.
 */
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { tail } from "./converge.ts";
import { ensureKubernetes } from "./kubernetes-build.ts";
import { enter, loadArchive, NODE_VERBS, nodeVerb } from "./nodes/verbs.ts";
import { bedPaths } from "./paths.ts";
import { progressLine } from "./progress.ts";
import { listBeds } from "./state.ts";
import { DEFAULT_NAME, down, open, status, up } from "./testbed.ts";

const USAGE = `A real Kubernetes without Docker, for tests.

  npm run testbed -- up [--nodes 0] [--kubelet process]   start it, or start what is not running
  npm run testbed -- up --nodes 1..3                      the same with real nodes (needs root)
  npm run testbed -- up --use <kubeconfig> [--context c]  use a cluster you have; it is never changed
  npm run testbed -- down [--keep-data]                   end it and delete what it kept
  npm run testbed -- status                               what runs
  npm run testbed -- kubeconfig                           print the path of its kubeconfig
  npm run testbed -- logs [program]                       the end of the logs
  npm run testbed -- kubectl …                            kubectl, talking to it

With real nodes:
  npm run testbed -- enter <command…>                     run it where Pods and cluster names can be dialled
  npm run testbed -- image load <tar>                     put an image on every node
  npm run testbed -- node <what> <n>                      ${NODE_VERBS.join(", ")}

  --name <name>             which testbed (default: ${DEFAULT_NAME}); several can run side by side
  --kubelet process         run Pods as processes of this machine (a stand-in, for speed)
  --process-nodes <n>       how many nodes the stand-in presents (default: 3)
  --detection quick|standard  how soon a lost node is noticed (default: quick, 8 s)
  --dns-denial <seconds>    how long DNS remembers that a name is unknown, with real nodes (default: 5)`;

async function main(argv: string[]): Promise<number> {
  const at = argv.findIndex((word) => word === "kubectl" || word === "enter");
  const { values, positionals } = parseArgs({
    args: at === -1 ? argv : argv.slice(0, at + 1),
    allowPositionals: true,
    options: {
      name: { type: "string", default: DEFAULT_NAME },
      nodes: { type: "string" },
      kubelet: { type: "string" },
      "process-nodes": { type: "string" },
      detection: { type: "string" },
      "dns-denial": { type: "string" },
      use: { type: "string" },
      context: { type: "string" },
      "keep-data": { type: "boolean", default: false },
      help: { type: "boolean", short: "h", default: false },
    },
  });
  const name = values.name;
  const verb = positionals[0];
  if (values.help || !verb) {
    console.log(USAGE);
    return values.help ? 0 : 64;
  }
  const line = progressLine(process.stderr);
  switch (verb) {
    case "up": {
      const nodes = count("--nodes", values.nodes, 0, 3);
      const processNodes = count("--process-nodes", values["process-nodes"], 1, 9);
      const kubelet = oneOf("--kubelet", values.kubelet, ["none", "process"] as const);
      const detection = oneOf("--detection", values.detection, ["quick", "standard"] as const);
      const dnsDenialSeconds = count("--dns-denial", values["dns-denial"], 0, 30);
      const bed = await up({
        name,
        progress: line.say,
        ...(nodes !== undefined && { nodes }),
        ...(processNodes !== undefined && { processNodes }),
        ...(kubelet && { kubelet }),
        ...(detection && { detection }),
        ...(dnsDenialSeconds !== undefined && { dnsDenialSeconds }),
        ...(values.use && { use: values.use }),
        ...(values.context && { context: values.context }),
      });
      bed.client.close();
      line.end(`testbed ${name} is up: ${bed.access.server}`);
      console.log(`export KUBECONFIG=${bed.kubeconfig}`);
      return 0;
    }
    case "down":
      await down(name, { keepData: values["keep-data"], progress: line.say });
      line.end(`testbed ${name} is down`);
      return 0;
    case "status":
      return await printStatus(name);
    case "kubeconfig": {
      const bed = open(name);
      bed.client.close();
      console.log(bed.kubeconfig);
      return 0;
    }
    case "logs":
      return printLogs(name, positionals[1]);
    case "kubectl": {
      const bed = open(name);
      bed.client.close();
      const { bin } = await ensureKubernetes(line.say);
      const args = ["--kubeconfig", bed.kubeconfig, ...argv.slice(at + 1)];
      return spawnSync(join(bin, "kubectl"), args, { stdio: "inherit" }).status ?? 1;
    }
    case "enter":
      return await enter(name, argv.slice(at + 1));
    case "image": {
      const file = positionals[2];
      if (positionals[1] !== "load" || !file) throw new Error("image load <tar>: which archive?");
      await loadArchive(name, file, line.say);
      line.end(`${file} is loaded`);
      return 0;
    }
    case "node": {
      const what = oneOf("node", positionals[1], NODE_VERBS);
      const n = count("node <n>", positionals[2], 1, 3);
      if (!what || !n) throw new Error(`node ${NODE_VERBS.join("|")} <n>`);
      await nodeVerb(name, what, n, line.say);
      line.end(`node ${n}: ${what} done`);
      return 0;
    }
    default:
      console.error(`no such command: ${verb}\n\n${USAGE}`);
      return 64;
  }
}

async function printStatus(name: string): Promise<number> {
  const now = await status(name);
  if (!now.exists) {
    const others = listBeds();
    console.log(`testbed ${name}: none${others.length > 0 ? ` (there are: ${others.join(", ")})` : ""}`);
    return 1;
  }
  console.log(`testbed ${name}: ${now.ready ? `ready, ${now.version} at ${now.server}` : "not ready"}`);
  if (now.settings) console.log(`settings: ${now.settings}`);
  for (const { node, state } of now.nodes) console.log(`${node}: ${state}`);
  for (const { role, pid } of now.processes) console.log(`${String(pid).padStart(8)}  ${role}`);
  return now.ready ? 0 : 1;
}

function printLogs(name: string, program: string | undefined): number {
  const { logs } = bedPaths(name);
  const files = existsSync(logs) ? readdirSync(logs).sort() : [];
  const wanted = program ? files.filter((file) => file === `${program}.log`) : files;
  if (wanted.length === 0) {
    console.error(`no log${program ? ` of ${program}` : ""}; there are: ${files.join(", ") || "none"}`);
    return 1;
  }
  for (const file of wanted) {
    if (wanted.length > 1) console.log(`==> ${join(logs, file)} <==`);
    console.log(tail(join(logs, file), program ? 1 << 20 : 2000).trimEnd());
  }
  return 0;
}

function count(flag: string, text: string | undefined, min: number, max: number): number | undefined {
  if (text === undefined) return undefined;
  const value = Number(text);
  if (Number.isInteger(value) && value >= min && value <= max) return value;
  throw new Error(`${flag} is a number from ${min} to ${max}, not "${text}"`);
}

function oneOf<T extends string>(
  flag: string,
  text: string | undefined,
  allowed: readonly T[],
): T | undefined {
  if (text === undefined) return undefined;
  const found = allowed.find((value) => value === text);
  if (found) return found;
  throw new Error(`${flag} is one of ${allowed.join(", ")}, not "${text}"`);
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  console.error(`testbed: ${(error as Error).message}`);
  process.exitCode = 1;
}
