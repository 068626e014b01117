/** The operations of `quorate local` on a cluster that a test drives, as its controller carries them out. */
import type { EtcdOperation, EtcdOperationSpec } from "../../src/api/etcd-operation.ts";
import { API_VERSION } from "../../src/api/metadata.ts";
import { operations } from "../../src/local/operations.ts";
import type { Subject } from "../../src/local/verb.ts";
import { systemDisk } from "../../src/seams/disk.ts";
import { CLUSTER, type LocalCluster } from "./local-cluster.ts";

export function subjectOf(local: LocalCluster): Subject {
  const { platform, loop, transcript } = local.controller;
  return {
    layout: local.files,
    disk: systemDisk,
    platform,
    look: async () => {
      if (loop.latest === undefined) await local.pass();
      if (loop.latest === undefined) throw new Error("nothing was seen yet");
      return loop.latest;
    },
    wake: () => loop.wake(),
    transcript: () => transcript.last(100),
    down: () => Promise.reject(new Error("a test ends its cluster itself")),
  };
}

export const FINAL = new Set(["Succeeded", "Failed", "Rejected"]);
const ENDS_WITHIN_MS = 120_000;

/** Asks as the control socket does. */
export async function ask(
  local: LocalCluster,
  name: string,
  task: Partial<EtcdOperationSpec>,
): Promise<void> {
  await operations.createOperation(subjectOf(local), {
    apiVersion: API_VERSION,
    kind: "EtcdOperation",
    metadata: { name },
    spec: { cluster: CLUSTER, ...task },
  });
}

export async function find(local: LocalCluster, name: string): Promise<EtcdOperation | undefined> {
  const found = await local.controller.platform.operations.list();
  return found.operations.find(({ metadata }) => metadata.name === name);
}

/** Waits, while the controller works, until it has ended. */
export async function ended(
  local: LocalCluster,
  name: string,
  withinMs = ENDS_WITHIN_MS,
): Promise<NonNullable<EtcdOperation["status"]>> {
  await local.until(
    `${name} ends`,
    async () => FINAL.has((await find(local, name))?.status?.phase ?? ""),
    withinMs,
  );
  return (await find(local, name))?.status ?? {};
}

export { operations };
