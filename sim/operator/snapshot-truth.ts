/**
 * What the statuses of EtcdSnapshots say against what is in the store: each comes to an end, and one that succeeded is
 * there whole and once.
 */
import type { EtcdSnapshot } from "../../src/api/etcd-snapshot.ts";
import { etcdSnapshots, NAME } from "./environment.ts";
import type { OperatorSimulation } from "./simulation.ts";

const FINAL: ReadonlySet<string | undefined> = new Set(["Succeeded", "Failed", "Rejected"]);

function snapshotsOf({ env }: OperatorSimulation): EtcdSnapshot[] {
  const all = env.server.list(etcdSnapshots) as unknown as EtcdSnapshot[];
  return all.filter(({ spec }) => spec.cluster === NAME);
}

/** What is still under way. */
export function unfinishedSnapshots(sim: OperatorSimulation): string[] {
  return snapshotsOf(sim)
    .filter(({ metadata, status }) => {
      const { phase: verification } = status?.verification ?? {};
      const isVerified = verification !== "Pending" && verification !== "Running";
      return metadata.deletionTimestamp !== undefined || !FINAL.has(status?.phase) || !isVerified;
    })
    .map(({ metadata, status }) => `EtcdSnapshot ${metadata.name} is ${status?.phase} (${status?.reason})`);
}

export function wrongSnapshots(sim: OperatorSimulation): string[] {
  const { snapshots } = sim.env;
  const wrong: string[] = [];
  if (snapshots.most > 1) wrong.push(`${snapshots.most} snapshots were taken at once`);
  const whole = [...snapshots.store].flatMap(([object, { id, whole: has }]) => (has ? [{ object, id }] : []));
  const ids = whole.map(({ id }) => id);
  for (const id of new Set(ids))
    if (ids.filter((one) => one === id).length > 1) wrong.push(`${id} is in the store more than once`);
  for (const { metadata, status } of snapshotsOf(sim)) {
    if (status?.phase !== "Succeeded") continue;
    const isThere = whole.some(({ object }) => status.uri?.endsWith(`/${object}`));
    if (!isThere) wrong.push(`${metadata.name} has succeeded, and ${status.uri} is not in the store`);
  }
  return wrong;
}
