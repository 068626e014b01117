/**
 * A scenario as text, one command a line, and what the operator decided below it: readable by a person, and
 * a changed decision shows as a changed line. The form is that of data-driven tests: commands, `----`, output.
 *
 *   create replicas=3 version=3.6.16     (given …: the same, without telling how)
 *   edit replicas=5 options.quotaBackendBytes=16Mi
 *   wipe demo-1 | kill demo-2 | freeze … (see faults.ts)
 *   operate defragment members=["demo-2"] | operate moveLeader to=demo-3 | cancel operation-01
 *   put <key> <bytes> [times] | delete <prefix> | raise NOSPACE|CORRUPT is left to etcd itself
 *   wait 30s | settle
 */
import type { EtcdClusterSpecInput } from "../../src/api/etcd-cluster-spec.ts";
import { parseDuration } from "../../src/api/duration.ts";
import type { EtcdOperationSpec } from "../../src/api/etcd-operation.ts";
import { taskOf } from "../../src/core/operations/task.ts";
import { faultNames, inflict, type FaultName } from "./faults.ts";
import { Refusal } from "../models/etcd/refusal.ts";
import { Simulation, type StepLine } from "./simulation.ts";

interface Block {
  readonly comment: readonly string[];
  readonly commands: readonly string[];
}

/** Blocks are separated by blank lines; what follows `----` is output and is made anew. */
export function parseScript(text: string): Block[] {
  return text
    .split(/\n{2,}/)
    .map((part) => part.split("\n").filter((line) => line !== ""))
    .filter((lines) => lines.length > 0)
    .map((lines) => {
      const end = lines.indexOf("----");
      const input = end < 0 ? lines : lines.slice(0, end);
      return {
        comment: input.filter((line) => line.startsWith("#")),
        commands: input.filter((line) => !line.startsWith("#")),
      };
    });
}

/** Runs a script and returns it with its output. */
export function runScript(text: string): string {
  const parts: string[] = [];
  let sim: Simulation | undefined;
  for (const block of parseScript(text)) {
    const lines: string[] = [];
    const say = (line: StepLine) => lines.push(formatLine(line));
    for (const command of block.commands) {
      sim = perform(sim, command, (started) => started.listen(say));
      sim.listen(say);
    }
    const output = sim && block.commands.length > 0 ? ["----", ...lines, ...summary(sim)] : [];
    parts.push([...block.comment, ...block.commands, ...output].join("\n"));
  }
  return `${parts.join("\n\n")}\n`;
}

function perform(
  sim: Simulation | undefined,
  command: string,
  onStart: (sim: Simulation) => void,
): Simulation {
  const [verb = "", ...args] = command.split(/\s+/);
  if (verb === "create" || verb === "given") {
    const started = new Simulation(assignments(args) as EtcdClusterSpecInput, { seed: undefined });
    if (verb === "create") onStart(started);
    started.settle();
    return started;
  }
  if (!sim) throw new Error(`${command}: begin with create or given`);
  const [first = ""] = args;
  if (verb === "edit") sim.edit(deepMerge(sim.spec, assignments(args)) as Partial<EtcdClusterSpecInput>);
  else if (verb === "wait") sim.pass(parseDuration(first) ?? 0);
  else if (verb === "settle") sim.settle();
  else if (verb === "operate")
    sim.operate(taskOf({ cluster: "demo", [first]: assignments(args.slice(1)) } as EtcdOperationSpec));
  else if (verb === "cancel") sim.objects.operations.delete(first);
  else if (verb === "put") put(sim, first, Number(args[1]), Number(args[2] ?? 1));
  else if (verb === "delete") remove(sim, first);
  else if ((faultNames as readonly string[]).includes(verb)) inflict(sim, verb as FaultName, first);
  else throw new Error(`${command}: unknown command`);
  return sim;
}

function servingVoter(sim: Simulation) {
  const server = sim.world.network
    .all()
    .find((one) => one.serving && one.runs && !one.isLearner && !one.frozen);
  if (!server) throw new Error("no member serves");
  return server;
}

function put(sim: Simulation, key: string, bytes: number, times: number): void {
  for (let i = 0; i < times; i++) {
    try {
      sim.keys.put(servingVoter(sim), key.replace("%", String(i)), bytes);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      return;
    }
  }
}

function remove(sim: Simulation, prefix: string): void {
  sim.keys.delete(servingVoter(sim), prefix, `${prefix}~`);
}

/** `a.b=1` → `{a: {b: 1}}`; values are JSON where they are, else text. */
function assignments(args: readonly string[]): Record<string, unknown> {
  const out: Record<string, unknown> = {};
  for (const arg of args) {
    const cut = arg.indexOf("=");
    const path = arg.slice(0, cut).split(".");
    let at = out;
    for (const key of path.slice(0, -1)) at = (at[key] ??= {}) as Record<string, unknown>;
    at[path.at(-1) ?? ""] = value(arg.slice(cut + 1));
  }
  return out;
}

function value(text: string): unknown {
  if (/^\d+\.\d+\.\d+$/.test(text)) return text;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}

function deepMerge(into: unknown, from: unknown): unknown {
  if (!isObject(into) || !isObject(from)) return from;
  const out: Record<string, unknown> = { ...into };
  for (const [key, inner] of Object.entries(from)) out[key] = deepMerge(out[key], inner);
  return out;
}

function isObject(candidate: unknown): candidate is Record<string, unknown> {
  return candidate !== null && typeof candidate === "object" && !Array.isArray(candidate);
}

export function formatLine({ at, rule, step, reason, failure }: StepLine): string {
  const time = `${(at / 1000).toFixed(1)}s`.padStart(8);
  return `${time}  ${rule.padEnd(16)} ${step}: ${reason}${failure === undefined ? "" : ` – failed: ${failure}`}`;
}

/** Where the cluster stands after a block. */
export function summary(sim: Simulation): string[] {
  const members = [...sim.objects.records.values()].map((record) => {
    const server = sim.pods.server(record.name);
    const role = server?.runs ? (server.isLearner ? "learner" : "voter") : sim.pods.facts(record.name).state;
    return `${record.name} ${role} ${record.template.version}`;
  });
  const holds = (sim.decision?.holds ?? []).map(
    (hold) => `  waits: ${hold.reason}: ${hold.message}${hold.next ? ` → ${hold.next}` : ""}`,
  );
  const operations = [...sim.objects.operations.values()].map(
    ({ name, status }) => `  ${name}: ${status.phase} ${status.reason}: ${status.message}`,
  );
  return [
    `= ${sim.converged ? "converged" : "waiting"}: ${members.join(", ") || "no members"}`,
    ...holds,
    ...operations,
  ];
}
