/**
 * A run of the product made up from its seed: edits and faults at random moments on a modelled machine, a
 * controller that is killed and does not hear. When the faults end it must come to rest, and be right.
 */
import type { EtcdClusterSpecInput } from "../../src/api/etcd-cluster-spec.ts";
import type { EtcdOperationSpec } from "../../src/api/etcd-operation.ts";
import type { OperationFacts } from "../../src/core/observation.ts";
import { operationFacts } from "../../src/core/operations/task.ts";
import { describeEntry } from "../../src/control/transcript.ts";
import { EPOCH } from "../engine/clock.ts";
import { Violation } from "../oracles/oracle.ts";
import type { ProductRun } from "../driver/product-run.ts";
import { run, type Wait } from "../driver/run.ts";
import { SeededRandom } from "../engine/random.ts";
import { judgeEndedOperations, randomTask } from "../rules/operations.ts";
import { secure } from "./security-edits.ts";
import { MachineSimulation } from "./simulation.ts";

const VERSIONS = ["3.5.33", "3.5.35", "3.6.16", "3.7.1", "3.7.3"] as const;

export async function machineRun(seed: number): Promise<ProductRun> {
  const random = new SeededRandom(seed ^ 0xac41e);
  const operating = new SeededRandom(seed ^ 0x7a5c);
  const securing = new SeededRandom(seed ^ 0x5ec2e);
  const isSecured = securing.chance(0.3);
  const numbers = (most: number) =>
    new Set(Array.from({ length: random.between(0, most) }, () => random.between(1, 200)));
  const spec: EtcdClusterSpecInput = {
    replicas: random.pick([1, 2, 3, 3, 5]),
    version: random.pick(VERSIONS),
    // Nobody there has to load anything, and a soak counts as rest.
    tls: { rotation: { soak: "0s" } },
  };
  const sim = await MachineSimulation.create(spec, {
    seed,
    faults: { crashAfter: numbers(5), loseReplyOf: numbers(4) },
  });
  const trace: string[] = [];
  let steps = 0;
  const say = (what: string) => {
    const done = sim.steps.splice(0);
    steps += done.length;
    for (const step of done) trace.push(`${stamp(step.at - EPOCH)}  ${describeEntry(step)}`);
    trace.push(`${stamp(sim.scheduler.now)}  >> ${what}`);
  };
  async function* life(): AsyncGenerator<Wait> {
    say(`create ${JSON.stringify(spec)}`);
    yield random.chance(0.7) ? { settle: undefined } : { pass: random.between(0, 4_000) };
    const moves = random.between(1, 5);
    for (let i = 0; i < moves; i++) {
      say(await move(sim, random));
      if (operating.chance(0.3)) say(await operate(sim, operating));
      if (isSecured && securing.chance(0.5)) say(await secure(sim, securing));
      yield { pass: random.pick([50, 500, 3_000, 10_000, 40_000]) };
    }
    for (const server of sim.world.network.all()) if (server.frozen) sim.world.thaw(server);
    sim.disk.full.clear();
    say("all faults end");
    if (sim.spec.replicas === 0) await sim.edit({ replicas: 1 });
    yield { settle: 2 * 3_600_000 };
    judge(sim);
    if (sim.converged) judgeEndedOperations(await operationsIn(sim));
  }
  return await run(seed, sim, life(), (violation) => {
    say(violation ? `!! ${violation.message}` : sim.converged ? "converged" : sim.whyNot());
    return {
      steps,
      passes: sim.passes,
      events: sim.scheduler.ran,
      acknowledged: sim.ledger.acknowledged,
      crashes: sim.deaths.length,
      end: sim.converged ? "converged" : reported(sim).join(","),
      trace,
    };
  });
}

function stamp(ms: number): string {
  return `${(ms / 1000).toFixed(1)}s`.padStart(8);
}

function reported(sim: MachineSimulation): string[] {
  return (sim.latest?.decision.holds ?? [])
    .filter((hold) => hold.next !== undefined)
    .map((hold) => hold.reason);
}

function judge(sim: MachineSimulation): void {
  if (!sim.converged) return;
  const { replicas, learners, version } = sim.spec;
  const running = sim.world.network.all().filter((server) => server.runs);
  const leader = running.find((server) => sim.world.raftOf(server).leader === server);
  const voters = leader?.dir.state.voters().length;
  if (voters !== replicas) throw new Violation("end state", `voters is ${voters}, not ${replicas}`);
  if (running.length !== replicas + learners) {
    throw new Violation(
      "end state",
      `${running.length} processes run for ${replicas} voters and ${learners} learners`,
    );
  }
  const odd = running.find((server) => server.version !== version);
  if (odd) throw new Violation("end state", `${odd.config.name} runs ${odd.version}, not ${version}`);
  const { enabled = false } = sim.spec.auth ?? {};
  const isAuthOn = leader?.dir.state.auth.enabled ?? false;
  if (sim.spec.auth && isAuthOn !== enabled)
    throw new Violation("end state", `auth is ${isAuthOn ? "on" : "off"}, and was asked to be otherwise`);
}

async function move(sim: MachineSimulation, random: SeededRandom): Promise<string> {
  const names = (await sim.disk.list(sim.files.members)).map((file) => file.replace(/\.json$/, ""));
  const member = names.length > 0 ? random.pick(names) : "";
  const server = sim.processes.server(member);
  const volume = sim.files.volume(member);
  const kill = () => server && sim.world.signal(server, "SIGKILL");
  const { voters, healthy } = sim.oracle.truth();
  const spare = voters >= 3 && healthy.size === voters;
  const dice = random.fraction();
  if (dice < 0.45) return await edit(sim, random);
  if (dice < 0.6 && spare) {
    const target = random.pick([volume.data, volume.dir]);
    await sim.disk.remove(target);
    kill();
    return `lost ${target}`;
  }
  if (dice < 0.7) {
    kill();
    return `kill ${member}`;
  }
  if (dice < 0.78) {
    if (server) sim.world.freeze(server);
    return `freeze ${member}`;
  }
  if (dice < 0.84) {
    sim.disk.full.add(volume.data);
    kill();
    return `disk full for ${member}`;
  }
  if (dice < 0.9) {
    for (const one of sim.world.network.all()) sim.world.signal(one, "SIGKILL");
    return "kill all";
  }
  sim.kill();
  return "kill the controller";
}

async function operate(sim: MachineSimulation, random: SeededRandom): Promise<string> {
  const names = (await sim.disk.list(sim.files.members)).map((file) => file.replace(/\.json$/, ""));
  const { kind, ...parameters } = randomTask(random, names);
  const name = `task-${random.between(1, 1_000_000)}`;
  await sim.operations.create(name, { cluster: "demo", [kind]: parameters } as EtcdOperationSpec);
  return `${name} ${kind} ${JSON.stringify(parameters)}`;
}

async function operationsIn(sim: MachineSimulation): Promise<OperationFacts[]> {
  return (await sim.operations.list()).operations.map((operation) => operationFacts(operation));
}

async function edit(sim: MachineSimulation, random: SeededRandom): Promise<string> {
  const change = random.pick<() => Partial<EtcdClusterSpecInput>>([
    () => ({ replicas: random.pick([0, 1, 2, 3, 4, 5, 7]) }),
    () => ({ replicas: random.pick([1, 3, 5]) }),
    () => ({ version: random.pick(VERSIONS) }),
    () => ({ learners: sim.spec.version < "3.6" ? random.pick([0, 1]) : random.pick([0, 1, 2]) }),
    () => ({ options: { snapshotCount: random.between(1, 50) * 1000 } }),
    () => ({ options: { extraArgs: { "tls-min-version": random.pick(["TLS1.2", "bogus"]) } } }),
  ])();
  try {
    await sim.edit(change);
    return `edit ${JSON.stringify(change)}`;
  } catch (error) {
    if (error instanceof Violation) throw error;
    return `edit ${JSON.stringify(change)} is invalid`;
  }
}
