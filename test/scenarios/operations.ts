/** Every kind of operation on one cluster, two of them asked for at once, and one that has no target. */
import assert from "node:assert/strict";
import type { EtcdOperationSpec } from "../../src/api/etcd-operation.ts";
import { OPERATIONS, type OperationName } from "../../src/api/status-words.ts";
import { converged, namesOf, readBack, until, written, type Scenario } from "./platform.ts";

const ended = (name: string) => (one: string) =>
  one.startsWith(`${name} `) && /Succeeded|Failed|Rejected/.test(one);

export const operations: Scenario = {
  name: "operations",
  spec: { replicas: 3, version: "3.6.16", tls: { mode: "Managed" } },
  async run(platform) {
    const { members = [], clusterID } = await converged(platform, 3);
    await written(platform, "k", "v");
    const [first, second] = members.filter(({ role }) => role !== "Leader").map(({ name }) => name);
    assert.ok(first !== undefined && second !== undefined);
    const tasks: { readonly [Name in OperationName]: NonNullable<EtcdOperationSpec[Name]> } = {
      defragment: {},
      compact: { retain: 0 },
      moveLeader: { to: first },
      replaceMember: { name: second },
      restart: { members: [first] },
      // With quorum there is nothing to recover.
      recoverQuorum: { approve: "0123456789abcdef" },
      // Nobody approved it.
      restore: { source: { s3: { bucket: "backups", key: "demo.db" } } },
      rotateCertificates: {},
      collectReport: {},
    };
    const rejected = ["without-target", "recoverquorum", "restore"];
    for (const task of OPERATIONS) await platform.operate(task.toLowerCase(), { [task]: tasks[task] });
    await platform.operate("without-target", { restart: { members: ["nobody-1"] } });
    const names = [...OPERATIONS.map((task) => task.toLowerCase()), "without-target"];
    await until(platform, "every operation has ended", async () => {
      const all = await platform.operations();
      return names.every((name) => all.some(ended(name)));
    });
    assert.deepEqual(
      await platform.operations(),
      names.map((name) => `${name} ${rejected.includes(name) ? "Rejected" : "Succeeded"}`).toSorted(),
    );
    const after = await converged(platform, 3);
    assert.equal(after.clusterID, clusterID);
    assert.equal(namesOf(after).includes(second), false, "it was replaced");
    assert.equal(await readBack(platform, "k"), "v");
  },
};
