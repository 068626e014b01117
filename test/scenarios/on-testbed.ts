/** Scenarios on the testbed: the operator, a real API server, and the stand-in kubelet with real etcd processes. */
import { text } from "../../src/etcd/convert.ts";
import { eventually } from "../../testbed/eventually.ts";
import { faults } from "../../testbed/faults.ts";
import type { TestTestbed } from "../../testbed/for-tests.ts";
import { PATHS } from "../support/kube-paths.ts";
import { ClusterOnBed, type Running } from "../support/operator.ts";
import { told, type Scenario, type ScenarioPlatform } from "./platform.ts";

const MOMENT_MS = 100;
const CLIENT_MS = 2_000;

export async function onTestbed(
  scenario: Scenario,
  bed: TestTestbed,
  running: Running,
  name: string,
): Promise<ScenarioPlatform> {
  const cluster = new ClusterOnBed(bed, name, running);
  const fault = faults(bed.name);
  await cluster.create(scenario.spec);
  return {
    edit: (change) => cluster.edit(change),
    generation: async () => (await cluster.get()).metadata.generation ?? 0,
    status: () => cluster.status(),
    moment: () => new Promise((resolve) => setTimeout(resolve, MOMENT_MS)),
    kill: (member) => fault.kill("default", member),
    wipe: (member) => fault.loseVolume("default", member, "data"),
    async put(key, value) {
      await (await cluster.etcd()).kv.put(key, value, { timeoutMs: CLIENT_MS });
      await cluster.close();
    },
    async get(key) {
      const found = await (await cluster.etcd()).kv.get(key, { timeoutMs: CLIENT_MS });
      await cluster.close();
      return found && text(found.value);
    },
    operate: (operation, task) => cluster.ask(`${name}-${operation}`, task),
    async operations() {
      const own = (await cluster.list(PATHS.operations)).filter((one) => one.startsWith(`${name}-`));
      const found = await Promise.all(own.map((one) => cluster.operation(one)));
      return told(found).map((one) => one.slice(`${name}-`.length));
    },
    story: () => running.steps.slice(-20).join("\n"),
    async [Symbol.asyncDispose]() {
      await cluster.close();
      await cluster.delete();
      await eventually("its Pods are gone", async () => (await cluster.list(PATHS.pods)).length === 0, {
        withinMs: 60_000,
      });
    },
  };
}
