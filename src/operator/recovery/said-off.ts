/**
 * The last look before data is given up on a person's word that nodes are off. A watch may be behind by minutes: the API
 * server itself is asked whether one of them has reported since. Where Nodes may not be read, the Pods have to do.
 */
import { Conflict } from "../../control/platform.ts";
import type { OperationFacts } from "../../core/observation.ts";
import type { KubeClient } from "../../kube/client.ts";
import { isReason } from "../../kube/errors.ts";
import { findOne } from "../apply/keep.ts";
import { hasReportedSince } from "../observe/node-facts.ts";
import { nodes } from "../resources.ts";

/** Throws where one does not hold any more; the next pass sees it as it is. */
export async function checkSaidOff(client: KubeClient, operations: readonly OperationFacts[]): Promise<void> {
  for (const { name, task, status, createdAt } of operations) {
    if (status.phase !== "Running" || !("nodesOff" in task)) continue;
    for (const node of task.nodesOff ?? []) {
      if (!(await reportsSince(client, node, createdAt))) continue;
      throw new Conflict(`node ${node} reports, and EtcdOperation ${name} says that it is off`);
    }
  }
}

async function reportsSince(client: KubeClient, name: string, at: number): Promise<boolean> {
  try {
    return hasReportedSince(await findOne(client, nodes, { name }), at);
  } catch (error) {
    if (isReason(error, "Forbidden")) return false;
    throw error;
  }
}
