/** Snapshots, restores in place and approvals of a schedule, done as a person would. */
import { API_VERSION } from "../../src/api/metadata.ts";
import type { EtcdOperation } from "../../src/api/etcd-operation.ts";
import type { EtcdClusterStatus } from "../../src/api/etcd-cluster-status.ts";
import { OPERATIONS, planAskedFor, SOURCE } from "./approved.ts";
import { etcdOperations, etcdSnapshots, NAME, NAMESPACE } from "./environment.ts";
import type { DataDeed } from "./deeds.ts";
import type { OperatorSimulation } from "./simulation.ts";

const SNAPSHOTS = `/apis/${API_VERSION}/namespaces/${NAMESPACE}/etcdsnapshots`;
/** One whose process hangs ends by it. */
const DEADLINE_SECONDS = 60;

type Of<Do extends DataDeed["do"]> = Extract<DataDeed, { do: Do }>;

export function handle(sim: OperatorSimulation, deed: DataDeed): string | undefined {
  switch (deed.do) {
    case "snapshot":
      return take(sim, deed);
    case "drop-snapshot":
      return drop(sim, deed);
    case "restore":
      sim.env.fetches.faults.push(...deed.faults);
      return operation(sim, "restore", { restore: { source: SOURCE } });
    case "approve":
      return approve(sim);
  }
}

function take(sim: OperatorSimulation, { faults, verify, isDeleted }: Of<"snapshot">): string {
  const name = `snapshot-${sim.operations.next()}`;
  sim.env.snapshots.faults.push(...faults);
  const body = {
    apiVersion: API_VERSION,
    kind: "EtcdSnapshot",
    metadata: { name, namespace: NAMESPACE },
    spec: {
      cluster: NAME,
      destination: { s3: { bucket: "backups" } },
      verify,
      activeDeadlineSeconds: DEADLINE_SECONDS,
      ...(isDeleted && { deletionPolicy: "Delete" }),
    },
  };
  return `${name}: ${sim.user({ method: "POST", path: SNAPSHOTS, body }).status}`;
}

function drop(sim: OperatorSimulation, { pick }: Of<"drop-snapshot">): string | undefined {
  const found = sim.env.server.list(etcdSnapshots);
  const name = found[pick % Math.max(1, found.length)]?.metadata.name;
  if (name === undefined) return undefined;
  return `delete snapshot ${name}: ${sim.user({ method: "DELETE", path: `${SNAPSHOTS}/${name}` }).status}`;
}

/** The plan that was told last: of a restore that somebody asked for, or of a recovery. */
function approve(sim: OperatorSimulation): string | undefined {
  const { recovery } = (sim.env.cluster()?.["status"] ?? {}) as EtcdClusterStatus;
  if (recovery) {
    const nodesOff = (recovery.nodesOff ?? []).map(({ name }) => name);
    // Who makes sure that they are off finds out where one is only cut off.
    if (nodesOff.some((name) => sim.env.nodes.kubelet(name).power !== "off")) return undefined;
    const said = nodesOff.length > 0 ? { nodesOff } : {};
    return operation(sim, "recover", { recoverQuorum: { approve: recovery.plan, ...said } });
  }
  const asked = sim.env.server.list(etcdOperations) as unknown as EtcdOperation[];
  for (const { status } of asked.toReversed()) {
    const plan = planAskedFor(status ?? {});
    if (plan !== undefined) return operation(sim, "restore", { restore: { source: SOURCE, approve: plan } });
  }
  return undefined;
}

function operation(sim: OperatorSimulation, kind: string, task: object): string {
  const name = `${kind}-${sim.operations.next()}`;
  const body = {
    apiVersion: API_VERSION,
    kind: "EtcdOperation",
    metadata: { name, namespace: NAMESPACE },
    spec: { cluster: NAME, ...task },
  };
  const { status } = sim.user({ method: "POST", path: OPERATIONS, body });
  sim.operations.asked(name, sim.converged);
  return `${name}: ${status}`;
}
