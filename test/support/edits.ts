/**
 * Edits of a running cluster, for tests of what becomes of them: look while the edit is there, put it back, and see
 * that the cluster is where it was.
 */
import assert from "node:assert/strict";
import { eventually } from "../../testbed/eventually.ts";
import type { TestTestbed } from "../../testbed/for-tests.ts";
import type { SpecChange } from "./hostile-specs.ts";
import { PATHS } from "./kube-paths.ts";
import { type ClusterOnBed } from "./operator.ts";

export const at = (cluster: ClusterOnBed, rest = "") => `${PATHS.clusters}/${cluster.name}${rest}`;

/** Edits, looks, and puts the whole spec back as it was: a merge patch would leave what was added. */
export async function tried(
  bed: TestTestbed,
  cluster: ClusterOnBed,
  change: SpecChange,
  look: () => Promise<void>,
): Promise<void> {
  const { spec } = await cluster.get();
  try {
    await cluster.edit(change);
    await look();
  } finally {
    await eventually("the spec is put back", async () => {
      const { status: _status, ...now } = await cluster.get();
      return await bed.client.replace(at(cluster), { ...now, spec });
    });
    await cluster.converged(spec.replicas);
  }
}

/** What the API server says against it; empty when it agrees. */
export async function refusal(call: Promise<unknown>): Promise<string> {
  return await call.then(
    () => "",
    (error: unknown) => (error as Error).message,
  );
}

/** Waits until the condition of the newest spec says this. */
export async function reported(
  cluster: ClusterOnBed,
  type: string,
  reason: string,
  says: RegExp,
): Promise<void> {
  await eventually(
    `${cluster.name}: ${type} is ${reason} and says ${says}`,
    async () => {
      const { metadata, status } = await cluster.get();
      const found = status?.conditions?.find((condition) => condition.type === type);
      const isNew = found?.observedGeneration === metadata.generation;
      if (found?.reason === reason && isNew && says.test(found.message)) return true;
      throw new Error(`${found?.status}/${found?.reason}: ${found?.message}`);
    },
    { withinMs: 60_000 },
  );
}

export async function podUIDs(cluster: ClusterOnBed): Promise<string[]> {
  const pods = await cluster.pods();
  return pods.map(({ metadata }) => metadata?.uid ?? "").toSorted();
}

/** What the events of a cluster with this reason say. */
export async function eventNotes(bed: TestTestbed, cluster: ClusterOnBed, reason: string): Promise<string[]> {
  const { items } = await bed.client.get<{
    items: { reason: string; note: string; regarding: { name: string } }[];
  }>("/apis/events.k8s.io/v1/namespaces/default/events");
  return items
    .filter((event) => event.reason === reason && event.regarding.name === cluster.name)
    .map(({ note }) => note)
    .toSorted();
}

/** A claim that was deleted is gone when the server's controller has let go of it, a moment after its member. */
export async function claimsLeft(cluster: ClusterOnBed, sizes: readonly string[]): Promise<void> {
  await eventually(`${cluster.name} has claims of ${sizes.join()} and no other`, async () => {
    const claims = await cluster.claims();
    assert.deepEqual(
      claims.map(({ spec }) => spec?.resources?.requests?.["storage"]),
      sizes,
    );
    return true;
  });
}

/** A client can write, right now. */
export async function serves(cluster: ClusterOnBed): Promise<void> {
  const client = await cluster.etcd();
  await eventually(
    `${cluster.name} takes a write`,
    async () => {
      await client.kv.put("row", `${process.hrtime.bigint()}`, { timeoutMs: 2_000 });
      return true;
    },
    { withinMs: 60_000 },
  );
  // Of a member that answered too late for one look, the next one tells otherwise.
  await eventually(`${cluster.name} is said to have quorum`, async () => {
    const [quorate] = (await cluster.condition("Quorate")).split("/");
    assert.equal(quorate, "True");
    return true;
  });
  await cluster.close();
}
