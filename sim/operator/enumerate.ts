/**
 * Scenarios of the operator, in the manner of Sieve: it dies before an effect or after it, its answer is lost or late,
 * it meets a conflict; and every cache, at every move, is old or misses what happened.
 */
import type { EtcdClusterSpecInput } from "../../src/api/etcd-cluster-spec.ts";
import { OPERATIONS, type OperationName } from "../../src/api/status-words.ts";
import type { Played, World } from "../driver/enumerate.ts";
import { Violation } from "../oracles/oracle.ts";
import { approveRecovery, approveRestore, helpers, loseQuorum, recoveryPlan } from "./approved.ts";
import { canBefall, effectFaults, type EffectPlan } from "./effects.ts";
import { endStateOf, staysQuiet, untrue, wrongWith } from "./judge.ts";
import { certManagerIn, give, GIVEN_TLS, ISSUED_APART_TLS } from "./given-world.ts";
import { Moves } from "./moves.ts";
import { caches, type Deed } from "./deeds.ts";
import { OperatorSimulation } from "./simulation.ts";

interface Scenario {
  readonly name: string;
  readonly spec: EtcdClusterSpecInput;
  /** The CA of the certificates that the user puts into Secrets before. */
  readonly given?: number;
  /** cert-manager and its issuers are there. */
  readonly issued?: true;
  readonly moves: readonly (Deed | Approval)[];
  /** Its creation is that of another scenario, which has every fault at every effect of it. */
  readonly knownCreation?: true;
}

/** What a person approves by the hash of a plan, after a loss of quorum where that is what it is for. */
interface Approval {
  readonly approve: "restore" | "recoverQuorum";
}

const FIRST = 0;

const TASKS = {
  defragment: { all: true },
  compact: { all: true },
  moveLeader: { all: true },
  replaceMember: { all: false },
  restart: { all: true },
  recoverQuorum: { all: true },
  restore: { all: true },
  rotateCertificates: { all: true },
  collectReport: { all: true },
} as const satisfies Readonly<Record<OperationName, object>>;

const scenarios: readonly Scenario[] = [
  { name: "create 3", spec: { replicas: 3, version: "3.6.16" }, moves: [] },
  {
    name: "restore 3 from a snapshot",
    spec: {
      replicas: 3,
      version: "3.6.16",
      bootstrap: { restore: { source: { s3: { bucket: "backups", key: "demo.db" } } } },
    },
    moves: [],
  },
  {
    name: "scale 1 to 3 and back",
    spec: { replicas: 1, version: "3.6.16" },
    moves: [
      { do: "edit", change: { replicas: 3 } },
      { do: "edit", change: { replicas: 1 } },
    ],
  },
  {
    name: "replace a member without its data",
    spec: { replicas: 3, version: "3.6.16" },
    moves: [{ do: "member", fault: "wipe", pick: FIRST }],
  },
  {
    name: "replace a member that a person deleted",
    spec: { replicas: 3, version: "3.5.35" },
    moves: [{ do: "member", fault: "delete-member", pick: FIRST }],
  },
  {
    name: "upgrade 3.5 to 3.6",
    spec: { replicas: 3, version: "3.5.35" },
    moves: [{ do: "edit", change: { version: "3.6.16" } }],
  },
  {
    name: "enable auth and disable it",
    spec: { replicas: 1, version: "3.6.16" },
    moves: [
      { do: "edit", change: { auth: { enabled: true, clientRoles: [] } } },
      { do: "edit", change: { auth: { enabled: false } } },
    ],
  },
  {
    name: "auth tokens from Simple to JWT",
    spec: { replicas: 1, version: "3.6.16", auth: { enabled: true, clientRoles: [] } },
    moves: [{ do: "edit", change: { auth: { enabled: true, clientRoles: [], token: { type: "JWT" } } } }],
  },
  {
    name: "clients from plaintext to TLS and back",
    spec: {
      replicas: 1,
      version: "3.6.16",
      tls: { client: { mode: "Disabled" }, transition: { proceed: "After", after: "5s" } },
    },
    moves: [
      { do: "edit", change: { tls: { client: { mode: "Managed" } } } },
      { do: "edit", change: { tls: { client: { mode: "Disabled" } } } },
    ],
  },
  {
    name: "clients from plaintext to Secrets of the user and back",
    spec: {
      replicas: 1,
      version: "3.6.16",
      tls: { client: { mode: "Disabled" }, transition: { proceed: "After", after: "5s" } },
    },
    given: 1,
    knownCreation: true,
    moves: [
      { do: "edit", change: { tls: { client: { mode: "Secrets", ...GIVEN_TLS.client } } } },
      { do: "edit", change: { tls: { client: { mode: "Disabled", secrets: null } } } },
    ],
  },
  {
    name: "clients from plaintext to cert-manager and back",
    spec: {
      replicas: 1,
      version: "3.6.16",
      tls: { client: { mode: "Disabled" }, transition: { proceed: "After", after: "5s" } },
    },
    issued: true,
    knownCreation: true,
    moves: [
      { do: "edit", change: { tls: { client: { mode: "CertManager", ...ISSUED_APART_TLS.client } } } },
      { do: "edit", change: { tls: { client: { mode: "Disabled", certManager: null } } } },
    ],
  },
  {
    name: "client certificates no longer required, and again",
    spec: { replicas: 1, version: "3.6.16", tls: { transition: { proceed: "After", after: "5s" } } },
    moves: [
      { do: "edit", change: { tls: { clientAuth: "None" } } },
      { do: "edit", change: { tls: { clientAuth: "Required" } } },
    ],
  },
  {
    name: "peers from plaintext to TLS and back",
    knownCreation: true,
    spec: { replicas: 3, version: "3.6.16", tls: { peer: { mode: "Disabled" } } },
    moves: [
      { do: "edit", change: { tls: { peer: { mode: "Managed" } } } },
      { do: "edit", change: { tls: { peer: { mode: "Disabled" } } } },
    ],
  },
  {
    name: "the source from Managed to cert-manager, and to Secrets of the user",
    knownCreation: true,
    spec: { replicas: 3, version: "3.6.16", tls: { rotation: { soak: "5s" } } },
    given: 1,
    issued: true,
    moves: [
      { do: "edit", change: { tls: ISSUED_APART_TLS } },
      {
        do: "edit",
        change: {
          tls: {
            mode: "Secrets",
            client: { certManager: null, ...GIVEN_TLS.client },
            peer: { certManager: null, ...GIVEN_TLS.peer },
          },
        },
      },
    ],
  },
  {
    name: "the source from Secrets of the user to Managed",
    knownCreation: true,
    spec: { replicas: 3, version: "3.6.16", tls: { ...GIVEN_TLS, rotation: { soak: "5s" } } },
    given: 1,
    moves: [{ do: "edit", change: { tls: { mode: "Managed", client: null, peer: null } } }],
  },
  {
    name: "the source from cert-manager to Managed",
    spec: { replicas: 1, version: "3.6.16", tls: { ...ISSUED_APART_TLS, rotation: { soak: "5s" } } },
    issued: true,
    moves: [{ do: "edit", change: { tls: { mode: "Managed", client: null, peer: null } } }],
  },
  {
    name: "another CA in Secrets of the user",
    spec: { replicas: 3, version: "3.6.16", tls: { ...GIVEN_TLS, rotation: { soak: "5s" } } },
    given: 1,
    moves: [{ do: "give", ca: 2 }],
  },
  {
    name: "a bad option and its correction",
    spec: { replicas: 3, version: "3.6.16" },
    moves: [
      { do: "edit", change: { options: { extraArgs: { "tls-min-version": "bogus" } } } },
      { do: "edit", change: { options: { extraArgs: { "tls-min-version": "TLS1.3" } } } },
    ],
  },
  ...OPERATIONS.map((task) => ({
    name: `operation ${task}`,
    spec: { replicas: 3, version: "3.6.16", tls: { rotation: { soak: "5s" } } },
    moves: [{ do: "operate", task, pick: FIRST, ...TASKS[task] } as const],
    knownCreation: true as const,
  })),
  {
    name: "a restore in place that is approved",
    spec: { replicas: 3, version: "3.6.16" },
    moves: [{ approve: "restore" }],
    knownCreation: true,
  },
  {
    name: "a recovery from a survivor that is approved",
    spec: { replicas: 3, version: "3.6.16" },
    moves: [{ approve: "recoverQuorum" }],
    knownCreation: true,
  },
];

interface Plan {
  readonly effects?: EffectPlan;
  /** What is held, from which move on; 0 is the creation. */
  readonly hold?: Extract<Deed, { do: "hold" }> & { readonly at: number };
}

async function play(scenario: Scenario, seed: number, plan: Plan = {}): Promise<Played> {
  const sim = new OperatorSimulation(scenario.spec, { seed, ...(plan.effects && { effects: plan.effects }) });
  const deeds = new Moves(sim);
  const { at, ...hold } = plan.hold ?? { at: -1 };
  const maybeHold = (move: number) => {
    if (at === move && "do" in hold) deeds.perform(hold);
  };
  if (scenario.given !== undefined) await give(sim, scenario.given);
  if (scenario.issued) await certManagerIn(sim);
  maybeHold(0);
  await sim.settle();
  const created = sim.effects.names.length;
  for (const [index, move] of scenario.moves.entries()) {
    if ("approve" in move) await approve(sim, move);
    else deeds.perform(move);
    maybeHold(index + 1);
    await sim.settle();
  }
  const wrong = [...(sim.converged ? wrongWith(sim) : untrue(sim)), ...leftBehind(sim)];
  if (wrong.length > 0) throw new Violation("end state", wrong.join("; "));
  if (sim.converged) await staysQuiet(sim);
  return {
    end: JSON.stringify(endStateOf(sim)),
    effects: sim.effects.names,
    created,
    events: sim.env.scheduler.ran,
    passes: sim.passes,
  };
}

async function approve(sim: OperatorSimulation, { approve: what }: Approval): Promise<void> {
  if (what === "restore") return await approveRestore(sim);
  // So that clients have written something.
  await sim.pass(20_000);
  loseQuorum(sim);
  approveRecovery(sim, await recoveryPlan(sim));
}

/** At rest nothing works for a cluster but its members. */
function leftBehind(sim: OperatorSimulation): string[] {
  return helpers(sim).map(({ metadata }) => `Pod ${metadata.name} is left`);
}

const HOLD_MS = 15_000;

function* plansOf(
  { moves, knownCreation }: Scenario,
  { effects, created = 0 }: Played,
  every: number,
): Generator<readonly [string, Plan]> {
  for (let number = knownCreation ? created + 1 : 1; number <= effects.length; number += every) {
    const name = effects[number - 1] ?? "";
    for (const fault of [...effectFaults, "unseen"] as const)
      if (canBefall(fault, name))
        yield [`${fault} of effect ${number} (${name})`, { effects: new Map([[number, fault]]) }];
  }
  const cached = every === 1 ? caches : caches.slice(1, 2);
  for (const cache of cached)
    for (let at = knownCreation ? 1 : 0; at <= moves.length; at++)
      for (const [skip, restart] of [
        [false, false],
        [true, false],
        [false, true],
      ] as const) {
        const words = `${cache} ${restart ? "old at a restart" : skip ? "skipped" : "late"} from move ${at}`;
        yield [words, { hold: { do: "hold", cache, forMs: HOLD_MS, skip, restart, at } }];
      }
}

export const operatorWorld: World<Scenario, Plan> = { scenarios, play, plans: plansOf };
