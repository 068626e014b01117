/** The operations of a schedule, asked for as a person would. */
import type { EtcdOperationSpec } from "../../src/api/etcd-operation.ts";
import { API_VERSION } from "../../src/api/metadata.ts";
import { etcdOperations, NAME, NAMESPACE } from "./environment.ts";
import type { Operate } from "./deeds.ts";
import type { OperatorSimulation } from "./simulation.ts";

const OPERATIONS = `/apis/${API_VERSION}/namespaces/${NAMESPACE}/etcdoperations`;

type Of<Do extends Operate["do"]> = Extract<Operate, { do: Do }>;

export function operate(sim: OperatorSimulation, deed: Operate): string | undefined {
  return deed.do === "operate" ? ask(sim, deed) : cancel(sim, deed);
}

function ask(sim: OperatorSimulation, deed: Of<"operate">): string | undefined {
  const members = sim.env.members().map(({ metadata }) => metadata.name);
  const picked = members[deed.pick % Math.max(1, members.length)];
  if (picked === undefined) return undefined;
  const name = `${deed.task.toLowerCase()}-${sim.operations.next()}`;
  const { task, wrong, ttlSeconds } = deed;
  const spec = {
    cluster: wrong === "cluster" ? "elsewhere" : NAME,
    [task]: asked(deed, wrong === "member" ? `${NAME}-9999` : picked),
    ...(ttlSeconds !== undefined && { ttlSecondsAfterFinished: ttlSeconds }),
  };
  const body = {
    apiVersion: API_VERSION,
    kind: "EtcdOperation",
    metadata: { name, namespace: NAMESPACE },
    spec,
  };
  const { status } = sim.user({ method: "POST", path: OPERATIONS, body });
  sim.operations.asked(name, sim.converged);
  return `${name}: ${status}`;
}

function asked({ task, all }: Of<"operate">, member: string): object {
  const tasks: { readonly [Name in typeof task]: NonNullable<EtcdOperationSpec[Name]> } = {
    defragment: all ? {} : { members: [member] },
    compact: all ? { retain: 5 } : { revision: 3 },
    moveLeader: all ? {} : { to: member },
    replaceMember: { name: member },
    recoverQuorum: { approve: "0123456789abcdef" },
    restore: { source: { s3: { bucket: "backups", key: "demo.db" } } },
    restart: all ? {} : { members: [member] },
    rotateCertificates: all ? { ca: true } : {},
    collectReport: {},
  };
  return tasks[task];
}

function cancel(sim: OperatorSimulation, { pick }: Of<"cancel">): string | undefined {
  const found = sim.env.server.list(etcdOperations);
  const name = found[pick % Math.max(1, found.length)]?.metadata.name;
  if (name === undefined) return undefined;
  const { status } = sim.user({ method: "DELETE", path: `${OPERATIONS}/${name}` });
  return `delete operation ${name}: ${status}`;
}
