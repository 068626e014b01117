/** Scenarios on this machine: the local platform with real etcd processes. */
import { text } from "../../src/etcd/convert.ts";
import { CLUSTER, LocalCluster } from "../support/local-cluster.ts";
import { told, type Scenario, type ScenarioPlatform } from "./platform.ts";

const MOMENT_MS = 100;
const CLIENT_MS = 2_000;

export async function onLocal(scenario: Scenario): Promise<ScenarioPlatform> {
  const local = await LocalCluster.create(scenario.spec);
  local.run();
  return {
    edit: (change) => local.edit(change),
    generation: async () => (await local.store.cluster())?.generation ?? 0,
    status: () => Promise.resolve(local.controller.loop.latest?.status ?? {}),
    moment: () => new Promise((resolve) => setTimeout(resolve, MOMENT_MS)),
    async kill(member) {
      await local.controller.platform.workloads.kill(member, "SIGKILL");
    },
    wipe: (member) => local.wipe(member),
    async put(key, value) {
      await (await local.client()).kv.put(key, value, { timeoutMs: CLIENT_MS });
    },
    async get(key) {
      const found = await (await local.client()).kv.get(key, { timeoutMs: CLIENT_MS });
      return found && text(found.value);
    },
    async operate(name, task) {
      const { platform, loop } = local.controller;
      await platform.operations.create(name, { cluster: CLUSTER, ...task });
      loop.wake();
    },
    operations: async () => told((await local.controller.platform.operations.list()).operations),
    story: () => local.story(),
    [Symbol.asyncDispose]: () => local[Symbol.asyncDispose](),
  };
}
