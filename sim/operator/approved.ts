/** What only a person can begin: restores in place and recoveries, approved by the hash of the plan that is told. */
import type { EtcdClusterStatus } from "../../src/api/etcd-cluster-status.ts";
import type { EtcdOperation } from "../../src/api/etcd-operation.ts";
import { API_VERSION } from "../../src/api/metadata.ts";
import { LABELS } from "../../src/operator/names.ts";
import { pods } from "../models/kube/kinds/pod.ts";
import type { KubeJson } from "../models/kube/object.ts";
import { Violation } from "../oracles/oracle.ts";
import { etcdOperations, NAME, NAMESPACE } from "./environment.ts";
import type { OperatorSimulation } from "./simulation.ts";

export const OPERATIONS = `/apis/${API_VERSION}/namespaces/${NAMESPACE}/etcdoperations`;
export const SOURCE = { s3: { bucket: "backups", key: "demo.db", credentialsSecret: "store" } };
const PLAN_WITHIN_MS = 300_000;

/** `task`: the field of the spec that says what is to be done. */
export function ask(sim: OperatorSimulation, name: string, task: object): void {
  const metadata = { name, namespace: NAMESPACE };
  const body = { apiVersion: API_VERSION, kind: "EtcdOperation", metadata, spec: { cluster: NAME, ...task } };
  const { status, body: answer } = sim.user({ method: "POST", path: OPERATIONS, body });
  if (status !== 201) throw new RangeError(`refused: ${JSON.stringify(answer)}`);
  sim.operations.asked(name, sim.converged);
}

export function operationStatus({ env }: OperatorSimulation, name: string): EtcdOperation["status"] {
  const found = env.server.get(etcdOperations, `${NAMESPACE}/${name}`);
  return (found as unknown as EtcdOperation | undefined)?.status;
}

/** Asked without an approval, the answer has the hash that approves it. */
export async function restorePlan(
  sim: OperatorSimulation,
  restore: object = { source: SOURCE },
): Promise<string> {
  ask(sim, "plan", { restore });
  await sim.settle();
  const { reason, message = "" } = operationStatus(sim, "plan") ?? {};
  const plan = planAskedFor({ reason, message });
  if (plan === undefined)
    throw new Violation("end state", `no plan of a restore is told: ${reason} (${message})`);
  sim.user({ method: "DELETE", path: `${OPERATIONS}/plan` });
  await sim.settle();
  return plan;
}

/** As a person would: the message is the one place that says which hash to approve. */
export function planAskedFor({ reason, message }: { reason?: string; message?: string }): string | undefined {
  return reason === "ApprovalNeeded" ? /approve: ([0-9a-f]{16})/.exec(message ?? "")?.[1] : undefined;
}

export async function approveRestore(sim: OperatorSimulation, name = "restore"): Promise<void> {
  ask(sim, name, { restore: { source: SOURCE, approve: await restorePlan(sim) } });
}

/** Two of three members lose what they had, at once. */
export function loseQuorum(sim: OperatorSimulation): void {
  sim.harm();
  const { env } = sim;
  for (const name of ["demo-2", "demo-3"]) {
    const server = env.pods.server(name);
    if (!server) throw new RangeError(`${name} does not run`);
    env.world.signal(server, "SIGKILL");
    // With HostPath there is no claim: the directory is on its node.
    env.disks.wipe(env.diskOf(name) ?? server.config.dataDir.replace(/\/data$/, ""));
  }
}

export async function recoveryPlan(sim: OperatorSimulation): Promise<string> {
  const status = () => sim.env.cluster()?.["status"] as EtcdClusterStatus | undefined;
  for (let waitedMs = 0; waitedMs < PLAN_WITHIN_MS; waitedMs += 1_000) {
    const plan = status()?.recovery?.plan;
    if (plan !== undefined) return plan;
    await sim.pass(1_000);
  }
  throw new Violation("convergence", `no plan: ${status()?.message}\n${sim.lines.slice(-20).join("\n")}`);
}

export function approveRecovery(sim: OperatorSimulation, plan: string, name = "recover"): void {
  ask(sim, name, { recoverQuorum: { approve: plan } });
}

/** Pods that read, fetched or rescued something, and are to go when that is done. Those of snapshots go with their Jobs. */
export function helpers({ env }: OperatorSimulation): KubeJson[] {
  const ofJob = ({ metadata }: KubeJson) => metadata.ownerReferences?.some(({ kind }) => kind === "Job");
  return env.server
    .list(pods)
    .filter((pod) => pod.metadata.labels?.[LABELS.task] !== undefined && !ofJob(pod));
}
