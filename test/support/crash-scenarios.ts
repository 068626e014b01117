/**
 * Scenarios in which the controller is killed: a cluster as it was, a change, and what must be there in the
 * end whatever happened in between. One life of a controller after the other works on the same directory.
 */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { readdirSync } from "node:fs";
import process from "node:process";
import { fileURLToPath } from "node:url";
import type { EtcdClusterSpecInput } from "../../src/api/etcd-cluster-spec.ts";
import { systemDisk } from "../../src/seams/disk.ts";
import { systemProcesses } from "../../src/seams/processes.ts";
import { eventually } from "../../testbed/eventually.ts";
import { LocalCluster } from "./local-cluster.ts";
import { membersUnder } from "./quorate.ts";

const PROGRAM = fileURLToPath(new URL("./crashing-controller.ts", import.meta.url));
/** A life that neither dies nor converges in this time hangs. */
const LONGEST_LIFE_MS = 150_000;

export interface CrashScenario {
  readonly name: string;
  /** Undefined: nothing is there yet, and the change is the creation. */
  readonly before?: EtcdClusterSpecInput;
  /** The spec as it should be in the end. */
  readonly after: EtcdClusterSpecInput;
  /** Something else than an edit that happens while no controller runs. */
  readonly fault?: (local: LocalCluster) => Promise<void>;
}

const base = { version: "3.6.16", tls: { mode: "Disabled" as const } };

export const scenarios: readonly CrashScenario[] = [
  { name: "create", after: { ...base, replicas: 3 } },
  { name: "scale out", before: { ...base, replicas: 1 }, after: { ...base, replicas: 3 } },
  { name: "scale in", before: { ...base, replicas: 3 }, after: { ...base, replicas: 1 } },
  {
    name: "replace",
    before: { ...base, replicas: 3 },
    after: { ...base, replicas: 3 },
    fault: async (local) => {
      const [victim = ""] = await local.names();
      for (const identity of await systemProcesses.find(`--config-file=${local.files.configOf(victim)}`)) {
        process.kill(identity.pid, "SIGKILL");
        while (await systemProcesses.isAlive(identity))
          await new Promise((resolve) => setTimeout(resolve, 10));
      }
      await systemDisk.remove(local.files.volume(victim).data);
    },
  },
  {
    name: "upgrade",
    before: { ...base, replicas: 3 },
    after: { ...base, replicas: 3, version: "3.7.3", update: { canary: false } },
  },
  { name: "hibernate", before: { ...base, replicas: 3 }, after: { ...base, replicas: 0 } },
];

/** What one life of a controller came to. */
export type Life =
  | { readonly died: true; readonly after: string }
  | { readonly died: false; readonly effects: number };

export async function live(dir: string, crashAfter: number): Promise<Life> {
  const child = spawn(process.execPath, [PROGRAM, dir, String(crashAfter)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  let output = "";
  child.stdout.setEncoding("utf8").on("data", (chunk: string) => (output += chunk));
  const timer = setTimeout(() => child.kill("SIGABRT"), LONGEST_LIFE_MS);
  const signal = await new Promise<NodeJS.Signals | null>((resolve) => {
    child.once("close", (_code, name) => resolve(name));
  });
  clearTimeout(timer);
  const converged = /converged after (\d+) effects/.exec(output)?.[1];
  if (converged !== undefined) return { died: false, effects: Number(converged) };
  if (signal !== "SIGKILL") throw new Error(`the controller ended by ${signal ?? "itself"}: ${output}`);
  return { died: true, after: output.trim() };
}

/** A cluster at the beginning of the scenario, with no controller; its members run on. */
export async function prepare(scenario: CrashScenario): Promise<LocalCluster> {
  const local = scenario.before
    ? await LocalCluster.start(scenario.before)
    : await LocalCluster.create(scenario.after);
  if (scenario.before) await (await local.client()).kv.put("kept", "yes");
  if (scenario.before) await local.edit(scenario.after);
  await local.crash();
  await scenario.fault?.(local);
  return local;
}

export interface EndState {
  readonly members: readonly string[];
  readonly files: Readonly<Record<string, readonly string[]>>;
}

/** Lets a controller finish undisturbed, checks that all is well, and says what is there. */
export async function finish(local: LocalCluster, scenario: CrashScenario): Promise<EndState> {
  await local.open();
  local.run();
  await local.settled();
  // Once more after a moment's rest: nothing may still be moving.
  const view = await local.until("at rest", (_view, { decision }) => decision.converged);
  if (scenario.before && scenario.after.replicas !== 0) {
    const kept = await (await local.client()).kv.get("kept");
    assert.equal(kept && Buffer.from(kept.value).toString(), "yes", "an acknowledged write is there");
  }
  // Who stays follows from who leads, which is chance: names become places in their order.
  const place = new Map(view.members.map(({ name }, index) => [name, `member ${index + 1}`]));
  const list = (name: string) =>
    readdirSync(`${local.files.dir}/${name}`)
      .toSorted()
      .map((file) => file.replace(/^demo-\d+/, (member) => place.get(member) ?? member));
  return {
    members: view.members.map(
      ({ name, record, isVoter, healthy }) =>
        `${place.get(name)} ${record.template.version} ${record.joined ? "joined" : "new"} ${record.run ? "run" : "asleep"} ${isVoter ? "voter" : "-"} ${healthy ? "healthy" : "-"}`,
    ),
    files: Object.fromEntries(["members", "volumes", "config", "run"].map((name) => [name, list(name)])),
  };
}

/** Ends everything that any life of any controller has started. */
export async function cleanUp(local: LocalCluster): Promise<void> {
  await local.crash();
  for (const identity of await membersUnder(local.files.dir)) {
    const member = await systemProcesses.adopt(identity);
    member?.signal("SIGKILL");
  }
  // Not before they have ended: they may still write into the directory.
  await eventually("its members have ended", async () => (await membersUnder(local.files.dir)).length === 0);
  await local[Symbol.asyncDispose]();
}
