/** Scenarios of the rules: the operator dies right after an effect, or the answer to it is lost. */
import type { EtcdClusterSpecInput } from "../../src/api/etcd-cluster-spec.ts";
import { OPERATIONS, type OperationName } from "../../src/api/status-words.ts";
import type { OperationFacts } from "../../src/core/observation.ts";
import type { OperationTask, TaskOf } from "../../src/core/operations/task.ts";
import { crashesAndLostReplies, type EffectFaults, type World } from "../driver/enumerate.ts";
import { endState, faultsOf } from "../oracles/end-state.ts";
import { inflict, type FaultName } from "./faults.ts";
import { Violation } from "../oracles/oracle.ts";
import { mustStayQuiet } from "../oracles/quiet.ts";
import { Simulation } from "./simulation.ts";

export type Move =
  /** Goes on when it is done, or as soon as `until` is so. */
  | { readonly edit: Partial<EtcdClusterSpecInput>; readonly until?: (sim: Simulation) => boolean }
  /** No member can start for so long. */
  | { readonly outageMs: number }
  | { readonly fault: FaultName; readonly member?: string }
  | { readonly operate: OperationTask };

export interface Scenario {
  readonly name: string;
  readonly spec: EtcdClusterSpecInput;
  readonly moves: readonly Move[];
  /** A schedule takes snapshots of it. */
  readonly backups?: boolean;
  /** Not on one machine, which has no Secrets, and starts members itself. */
  readonly rulesOnly?: true;
}

const RESTORE = { source: { s3: { bucket: "backups", key: "demo.db" } } };
/** Of a cluster of three; a new operation is tried as soon as it has a line here. */
const TASKS: { readonly [Name in OperationName]: TaskOf<Name> } = {
  defragment: { kind: "defragment" },
  compact: { kind: "compact", retain: 0 },
  moveLeader: { kind: "moveLeader" },
  replaceMember: { kind: "replaceMember", name: "demo-1" },
  restart: { kind: "restart" },
  recoverQuorum: { kind: "recoverQuorum", approve: "0123456789abcdef" },
  restore: { kind: "restore", ...RESTORE },
  rotateCertificates: { kind: "rotateCertificates", ca: true },
  collectReport: { kind: "collectReport" },
};

function haveCertificates({ world, objects }: Simulation): boolean {
  const servers = world.network.all().filter(({ runs, config }) => runs && config.dialsTLS);
  return servers.length === objects.records.size;
}

function outage(sim: Simulation, ms: number): void {
  for (const name of sim.objects.records.keys()) inflict(sim, "disk-full", name);
  sim.pass(ms);
  inflict(sim, "disk-freed");
}

/** The longest that a move takes to what is waited for. */
const UNTIL_MS = 600_000;

export const scenarios: readonly Scenario[] = [
  { name: "create 3", spec: { replicas: 3, version: "3.6.16" }, moves: [] },
  {
    name: "restore 3 from a snapshot",
    spec: { replicas: 3, version: "3.6.16", bootstrap: { restore: RESTORE } },
    moves: [],
  },
  { name: "scale out 1 to 3", spec: { replicas: 1, version: "3.6.16" }, moves: [{ edit: { replicas: 3 } }] },
  {
    name: "scale out 1 to 3 on 3.5",
    spec: { replicas: 1, version: "3.5.35" },
    moves: [{ edit: { replicas: 3 } }],
  },
  { name: "scale in 5 to 1", spec: { replicas: 5, version: "3.7.3" }, moves: [{ edit: { replicas: 1 } }] },
  {
    name: "replace a wiped member",
    spec: { replicas: 3, version: "3.6.16" },
    moves: [{ fault: "wipe", member: "demo-2" }],
  },
  {
    name: "replace a lost volume",
    spec: { replicas: 3, version: "3.5.35" },
    moves: [{ fault: "lose-volume", member: "demo-1" }],
  },
  {
    name: "upgrade 3.5 to 3.7",
    spec: { replicas: 3, version: "3.5.35" },
    moves: [{ edit: { version: "3.7.3" } }],
  },
  {
    name: "upgrade 3.6 to 3.7 after a snapshot",
    spec: { replicas: 3, version: "3.6.16" },
    moves: [{ edit: { version: "3.7.3" } }],
    backups: true,
  },
  {
    name: "downgrade 3.7 to 3.6 after a snapshot",
    spec: { replicas: 3, version: "3.7.3" },
    moves: [{ edit: { version: "3.6.16" } }],
    backups: true,
  },
  {
    name: "downgrade 3.7 to 3.6",
    spec: { replicas: 3, version: "3.7.3" },
    moves: [{ edit: { version: "3.6.16" } }],
  },
  {
    name: "hibernate and wake",
    spec: { replicas: 3, version: "3.6.16" },
    moves: [{ edit: { replicas: 0 } }, { edit: { replicas: 3 } }],
  },
  {
    name: "a bad option and its correction",
    spec: { replicas: 3, version: "3.6.16" },
    moves: [
      { edit: { options: { extraArgs: { "tls-min-version": "bogus" } } } },
      { edit: { options: { extraArgs: { "tls-min-version": "TLS1.3" } } } },
    ],
  },
  {
    name: "change the storage class",
    spec: { replicas: 3, version: "3.6.16" },
    moves: [{ edit: { storage: { className: "fast" } } }],
  },
  {
    name: "a standing learner on 3.5",
    spec: { replicas: 3, learners: 1, version: "3.5.35" },
    moves: [{ edit: { replicas: 5 } }],
  },
  {
    name: "clients from plaintext to TLS and back",
    spec: {
      replicas: 3,
      version: "3.6.16",
      tls: { client: { mode: "Disabled" }, transition: { proceed: "After", after: "5s" } },
    },
    moves: [
      { edit: { tls: { transition: { proceed: "After", after: "5s" } } } },
      { edit: { tls: { client: { mode: "Disabled" }, transition: { proceed: "After", after: "5s" } } } },
    ],
  },
  {
    name: "peers from plaintext to TLS and back",
    // Of a version that makes a voter of a learner whose URL changes (R9).
    spec: { replicas: 3, learners: 1, version: "3.6.11", tls: { peer: { mode: "Disabled" } } },
    moves: [{ edit: { tls: {} } }, { edit: { tls: { peer: { mode: "Disabled" } } } }],
  },
  {
    name: "peers from plaintext to TLS, and nobody runs for minutes when all have certificates",
    spec: { replicas: 3, version: "3.6.16", tls: { peer: { mode: "Disabled" } } },
    moves: [{ edit: { tls: {} }, until: haveCertificates }, { outageMs: 600_000 }],
    rulesOnly: true,
  },
  {
    name: "peers from TLS to plaintext, and nobody runs for minutes from then on",
    spec: { replicas: 3, version: "3.6.16" },
    moves: [{ edit: { tls: { peer: { mode: "Disabled" } } }, until: () => true }, { outageMs: 600_000 }],
    rulesOnly: true,
  },
  {
    name: "peers from plaintext to certificates of one's own and back",
    rulesOnly: true,
    spec: { replicas: 3, version: "3.6.16", tls: { peer: { mode: "Disabled" } } },
    moves: [
      { edit: { tls: { peer: { mode: "Secrets", secrets: { member: "peers" } } } } },
      { edit: { tls: { peer: { mode: "Disabled" } } } },
    ],
  },
  {
    name: "client certificates no longer required, and again",
    spec: { replicas: 3, version: "3.6.16", tls: { transition: { proceed: "After", after: "5s" } } },
    moves: [
      { edit: { tls: { clientAuth: "None", transition: { proceed: "After", after: "5s" } } } },
      { edit: { tls: { transition: { proceed: "After", after: "5s" } } } },
    ],
  },
  ...OPERATIONS.map((name) => ({
    name: `operation ${name}`,
    spec: { replicas: 3, version: "3.6.16", tls: { rotation: { soak: "0s" } } },
    moves: [{ operate: TASKS[name] }],
  })),
  {
    name: "operation restart of members in memory",
    spec: {
      replicas: 3,
      version: "3.6.16",
      storage: { medium: "Memory", size: "1Gi" },
      options: { quotaBackendBytes: "64Mi" },
    },
    moves: [{ operate: { kind: "restart", members: ["demo-2"] } }],
  },
  {
    name: "two operations, and one of a member that does not exist",
    spec: { replicas: 3, version: "3.5.35" },
    moves: [
      { operate: { kind: "restart", members: ["demo-3"] } },
      { operate: { kind: "replaceMember", name: "demo-9" } },
    ],
  },
];

/** How each ended: the same, whenever the operator died. */
export function endsOf(operations: Iterable<Pick<OperationFacts, "name" | "status">>): string[] {
  return [...operations].map(({ name, status }) => `${name} ${status.phase} ${status.reason}`).toSorted();
}

export const rulesWorld: World<Scenario, EffectFaults> = {
  scenarios,
  plans: (_, { effects }, every) => crashesAndLostReplies(effects, every, "crash"),
  play({ spec, moves, backups }, seed, faults = {}) {
    const sim = new Simulation(spec, { seed, faults });
    if (backups) sim.objects.backups.begin();
    sim.settle();
    for (const move of moves) {
      if ("edit" in move) {
        sim.edit(move.edit);
        const { until } = move;
        for (let ms = 0; until && !until(sim) && ms < UNTIL_MS; ms += 5) sim.pass(5);
        if (until) continue;
      } else if ("outageMs" in move) outage(sim, move.outageMs);
      else if ("operate" in move) sim.operate(move.operate);
      else inflict(sim, move.fault, move.member);
      sim.settle();
    }
    const failed = [...sim.objects.operations.values()].find(({ status }) => status.phase === "Failed");
    if (failed) throw new Violation("operations", `${failed.name} failed: ${failed.status.message}`);
    // What was tried just then may count as failed; but nobody is to be lost by it.
    const { voters, healthy } = sim.oracle.truth();
    if (moves.some((move) => "outageMs" in move) && healthy.size < voters)
      throw new Violation("end state", `${healthy.size} of ${voters} voters came back`);
    const wrong = faultsOf(sim);
    if (wrong.length > 0) throw new Violation("end state", wrong.join("; "));
    if (sim.converged) mustStayQuiet(sim);
    const { effects, scheduler, operator } = sim;
    return {
      end: JSON.stringify({
        ...endState(sim),
        operations: endsOf(sim.objects.operations.values()),
        snapshots: sim.objects.backups.outcomes,
      }),
      effects: effects.names,
      events: scheduler.ran,
      passes: operator.passes,
    };
  },
};
