/**
 * The EtcdOperations during which an operator is killed after any of its effects, one after the other on one cluster of
 * three: what each is asked for, and how its end is told from a half-done one.
 */
import assert from "node:assert/strict";
import type { Secret } from "kubernetes-types/core/v1.d.ts";
import type { EtcdOperationSpec, EtcdOperationStatus } from "../../src/api/etcd-operation.ts";
import type { OperationName } from "../../src/api/status-words.ts";
import { memberSecretName } from "../../src/operator/names.ts";
import type { TestTestbed } from "../../testbed/for-tests.ts";
import { eventually } from "../../testbed/eventually.ts";
import { PATHS } from "./kube-paths.ts";
import { PATIENCE_MS, type ClusterOnBed } from "./operator.ts";

/**
 * `recoverQuorum` and `restore` end with another cluster: the operator is killed during them in the simulator
 * (`sim/operator/recover.test.ts`, `sim/operator/restore-in-place.test.ts`), after every effect by `npm run sim:enumerate`.
 */
type Task = Exclude<OperationName, "recoverQuorum" | "restore">;

/** What was there before, which says what to ask for and what has to have changed. */
interface Before {
  readonly task: Partial<EtcdOperationSpec>;
  readonly names: readonly string[];
  readonly pods: readonly string[];
  readonly certificates: readonly (string | undefined)[];
}

interface CrashTask {
  /** Effects after which the operator dies in a sample; of all others, it dies after every effect with `--all`. */
  readonly points: readonly number[];
  readonly task: (cluster: ClusterOnBed) => Promise<Partial<EtcdOperationSpec>>;
  readonly judge: (now: {
    readonly cluster: ClusterOnBed;
    readonly status: EtcdOperationStatus;
    readonly before: Before;
    readonly after: Omit<Before, "task">;
  }) => Promise<void> | void;
}

const TASKS: Readonly<Record<Task, CrashTask>> = {
  restart: {
    points: [5],
    task: () => Promise.resolve({ restart: {} }),
    judge({ status, before, after }) {
      assert.deepEqual(visited(status), before.names);
      assert.ok(after.pods.every((uid) => !before.pods.includes(uid)));
    },
  },
  defragment: {
    points: [3],
    task: () => Promise.resolve({ defragment: {} }),
    judge({ status, before, after }) {
      assert.deepEqual(visited(status), before.names);
      assert.deepEqual(after.pods, before.pods);
    },
  },
  compact: {
    points: [],
    async task(cluster) {
      const { kv } = await cluster.etcd();
      for (const value of ["one", "two", "three"]) await kv.put("history", value);
      return { compact: { retain: 1 } };
    },
    async judge({ cluster, status }) {
      const { kv } = await cluster.etcd();
      await assert.rejects(kv.get("history", { revision: BigInt((status.revision ?? 0) - 1) }), /compacted/);
    },
  },
  moveLeader: {
    points: [],
    task: async (cluster) => ({ moveLeader: { to: await follower(cluster) } }),
    async judge({ cluster, before }) {
      const { to = "" } = before.task.moveLeader ?? {};
      const leads = async () => (await cluster.status()).leader === to;
      await eventually(`${to} leads`, leads, { withinMs: PATIENCE_MS });
    },
  },
  replaceMember: {
    points: [],
    task: async (cluster) => ({ replaceMember: { name: await follower(cluster) } }),
    judge({ before, after }) {
      const { name = "" } = before.task.replaceMember ?? {};
      assert.equal(after.names.length, before.names.length);
      assert.deepEqual(
        before.names.filter((one) => !after.names.includes(one)),
        [name],
      );
    },
  },
  rotateCertificates: {
    points: [],
    task: () => Promise.resolve({ rotateCertificates: {} }),
    judge({ status, before, after }) {
      assert.deepEqual(visited(status), before.names);
      assert.ok(after.certificates.every((one) => one !== undefined && !before.certificates.includes(one)));
      assert.deepEqual(after.pods, before.pods);
    },
  },
  collectReport: {
    points: [],
    task: () => Promise.resolve({ collectReport: {} }),
    judge({ status, before }) {
      const { members } = JSON.parse(status.report ?? "{}") as { members: { name: string }[] };
      assert.deepEqual(members.map(({ name }) => name).toSorted(), before.names);
    },
  },
};

export const crashTasks = Object.entries(TASKS);

/** Members, their Pods and their certificates. */
export async function present(bed: TestTestbed, cluster: ClusterOnBed): Promise<Omit<Before, "task">> {
  const names = (await cluster.list(PATHS.members)).toSorted();
  const pods = (await cluster.pods()).map(({ metadata }) => metadata?.uid ?? "").toSorted();
  const certificates = await Promise.all(
    names.map(async (name) => {
      const { data } = await bed.client.get<Secret>(`${PATHS.secrets}/${memberSecretName(name)}`);
      return data?.["server.pem"];
    }),
  );
  return { names, pods, certificates };
}

function visited({ steps = [] }: EtcdOperationStatus): string[] {
  return steps.flatMap(({ member }) => member ?? []).toSorted();
}

async function follower(cluster: ClusterOnBed): Promise<string> {
  const { leader, members = [] } = await cluster.status();
  return members.map(({ name }) => name).find((name) => name !== leader) ?? "";
}
