/** The status of an observation, and worlds whose status is of interest. */
import assert from "node:assert/strict";
import { etcdClusterStatusSchema, type EtcdClusterStatus } from "../../api/etcd-cluster-status.ts";
import { decide } from "../decide.ts";
import type { Observation } from "../observation.ts";
import { statusOf, type GivenStatus } from "../status/status.ts";
import { exited, NOW } from "./cluster.ts";

export const IN_PLACE: GivenStatus = {
  certificates: { problems: [], expiry: { "demo-1": NOW + 86_400_000 } },
};

export function status(
  o: Observation,
  previous?: EtcdClusterStatus,
  given: GivenStatus = IN_PLACE,
): EtcdClusterStatus {
  const result = statusOf(o, decide(o), previous, given);
  assert.deepEqual(etcdClusterStatusSchema.parse(result), result, "the schema knows every field");
  return result;
}

export function of(result: EtcdClusterStatus, type: string) {
  const found = result.conditions?.find((known) => known.type === type);
  return found ?? assert.fail(`no condition ${type}`);
}

/** "True Quorum" for each condition. */
export function summary(result: EtcdClusterStatus): Record<string, string> {
  return Object.fromEntries((result.conditions ?? []).map((c) => [c.type, `${c.status} ${c.reason}`]));
}

export const down = (o: Observation, ...names: string[]) =>
  names.reduce((world, name) => exited(world, name), o);
export const alarm = (o: Observation, kind: "NOSPACE" | "CORRUPT", memberID = "0"): Observation => ({
  ...o,
  etcd: { ...o.etcd, alarms: [{ memberID, alarm: kind }] },
});
/** What is seen when no quorum answers: no list confirmed, no linearizable read. */
export const unquorate = (o: Observation): Observation => ({
  ...o,
  etcd: { ...o.etcd, list: o.etcd.list && { ...o.etcd.list, linearizable: false } },
  members: o.members.map((facts) =>
    facts.answer.reachable
      ? { ...facts, answer: { ...facts.answer, leaderID: "0", linearizable: false } }
      : facts,
  ),
});
export const silent = (o: Observation): Observation => ({ ...o, etcd: { ...o.etcd, list: undefined } });
export const filled = (o: Observation, used: number, file = used): Observation => ({
  ...o,
  members: o.members.map((facts) =>
    facts.answer.reachable
      ? {
          ...facts,
          answer: {
            ...facts.answer,
            dbSize: Math.floor(file * 2 ** 31),
            dbSizeInUse: Math.floor(used * 2 ** 31),
          },
        }
      : facts,
  ),
});
