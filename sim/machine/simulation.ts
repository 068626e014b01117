/**
 * One simulated run of the product itself: the real controller, loop, observation and local platform of
 * `src/` on a machine that is only modelled. The controller can be killed after every single write.
 */
import { peerURLOf } from "../../src/core/config/flags.ts";
import {
  etcdClusterSpecSchema,
  type EtcdClusterSpec,
  type EtcdClusterSpecInput,
} from "../../src/api/etcd-cluster-spec.ts";
import { bumpOf } from "../../src/api/restore-values.ts";
import type { Pass } from "../../src/control/loop.ts";
import type { TranscriptEntry } from "../../src/control/transcript.ts";
import { isEstablished } from "../../src/core/record.ts";
import { Controller } from "../../src/local/controller.ts";
import { createCluster } from "../../src/local/create.ts";
import { layout } from "../../src/local/layout.ts";
import { OperationStore } from "../../src/local/operation-store.ts";
import { Store, type StoredCluster } from "../../src/local/store.ts";
import { sleep } from "../../src/seams/clock.ts";
import { VirtualClock } from "../engine/clock.ts";
import { Ledger } from "../oracles/ledger.ts";
import { Calls } from "../models/etcd/calls.ts";
import { Keys } from "../models/etcd/kv.ts";
import { restoredAs } from "../models/etcd/restored.ts";
import { EtcdWorld } from "../models/etcd/world.ts";
import { Oracle, Violation } from "../oracles/oracle.ts";
import { whyNotConverged } from "../driver/product-run.ts";
import { SeededRandom } from "../engine/random.ts";
import { Scheduler } from "../engine/scheduler.ts";
import type { EffectFaults } from "../driver/enumerate.ts";
import { EffectCount, Lifeline } from "./lifeline.ts";
import { ModelDisk } from "./model-disk.ts";
import { certificatesIn, ModelPki } from "./model-pki.ts";
import { ModelPorts } from "./model-ports.ts";
import { ModelProbe } from "./model-probe.ts";
import { ModelProcesses } from "./model-processes.ts";
import { ModelTransport } from "./model-transport.ts";
import { Rescues } from "./rescues.ts";

const NAME = "demo";
/** Between a controller's death and its successor. */
const AWAY_MS = 1_500;
const RESTORE_MS = 2_000;

export class MachineSimulation {
  readonly files = layout(`/clusters/${NAME}`);
  readonly random: SeededRandom;
  readonly scheduler: Scheduler;
  readonly clock: VirtualClock;
  readonly disk = new ModelDisk();
  readonly rescues: Rescues;
  readonly world: EtcdWorld;
  readonly calls: Calls;
  readonly keys: Keys;
  readonly processes: ModelProcesses;
  readonly ports: ModelPorts;
  readonly ledger = new Ledger();
  readonly oracle: Oracle;
  readonly effects = new EffectCount();
  readonly steps: TranscriptEntry[] = [];
  readonly troubles: string[] = [];
  readonly deaths: string[] = [];
  /** Changes the cluster as a person's verbs would. */
  readonly store: Store;
  readonly operations: OperationStore;
  passes = 0;
  /** The cluster ID of the life that a person gave up for a snapshot. */
  replaced: string | undefined;
  latest: Pass | undefined;
  #controller: Controller | undefined;
  #lifeline: Lifeline | undefined;
  #violation: Violation | undefined;
  #lastEffects = 0;
  #quietSince = 0;
  #lastStepAt = 0;
  readonly #faults: EffectFaults;
  readonly #pki: ModelPki;
  #parsed: { text: string; cluster: StoredCluster } | undefined;

  private constructor(seed: number, faults: EffectFaults) {
    this.#faults = faults;
    this.random = new SeededRandom(seed);
    this.scheduler = new Scheduler(this.random.fork());
    this.clock = new VirtualClock(this.scheduler);
    const { scheduler, disk, clock } = this;
    this.rescues = new Rescues(disk.dataDirs, this.clock, (dir, keys) => {
      const missing = this.ledger.rescued(dir.log, keys);
      if (missing) this.#violation ??= new Violation("I10", missing);
    });
    this.world = new EtcdWorld({ scheduler, random: this.random.fork(), dirs: disk.dataDirs });
    this.calls = new Calls(this.world, () => clock.now());
    this.keys = new Keys(this.world);
    this.processes = new ModelProcesses(this.world, disk);
    this.world.network.between = (a, b) => this.processes.tls.apart(a, b);
    this.ports = new ModelPorts(this.world);
    this.#pki = new ModelPki(clock);
    this.store = new Store(this.files, { disk, clock, random: this.random.fork() });
    this.operations = new OperationStore(this.files, { disk, clock, random: new SeededRandom(seed ^ 0x0b) });
    const { world, ledger, processes } = this;
    this.oracle = new Oracle({
      world,
      ledger,
      subject: {
        establishedAs: () => {
          const cluster = this.cluster();
          return cluster && isEstablished(cluster.uid, cluster.marks)
            ? cluster.marks.established?.clusterID
            : undefined;
        },
        meantToServe: () => {
          const cluster = this.cluster();
          return cluster !== undefined && !cluster.deleting && cluster.spec.replicas > 0;
        },
        restored: () => {
          const { established, recovered } = this.cluster()?.marks ?? {};
          return established?.restored === undefined
            ? undefined
            : this.rescues.savedIn(recovered?.restore).keys;
        },
        server: (member) => processes.server(member),
        data: (member) => disk.dataAt(this.files.volume(member).data),
      },
    });
    disk.onData = (dir) => this.oracle.madeDirectory(dir);
    processes.onStart = (text, dataDir) =>
      this.#judge(() => this.oracle.started(text, disk.dataAt(dataDir) !== undefined));
    world.onElected = (leader) => this.oracle.elected(leader);
    ledger.writeEvery(1_000, {
      scheduler,
      random: this.random.fork(),
      world,
      keys: this.keys,
      open: () => this.cluster()?.marks.established !== undefined,
      onTravel: (what) => void (this.#violation ??= new Violation("I10", what)),
    });
  }

  static async create(
    spec: EtcdClusterSpecInput,
    options: { seed: number; faults?: EffectFaults },
  ): Promise<MachineSimulation> {
    const sim = new MachineSimulation(options.seed, options.faults ?? {});
    const { disk, clock, ports } = sim;
    const checked = { name: NAME, spec: etcdClusterSpecSchema.parse(spec), warnings: [], notApplicable: [] };
    await createCluster(sim.files, checked, { disk, clock, ports, random: sim.random.fork() });
    await sim.#rise();
    return sim;
  }

  /** The cluster's file as it is now. */
  cluster(): StoredCluster | undefined {
    const text = this.disk.text(this.files.cluster);
    if (text === undefined) return undefined;
    if (this.#parsed?.text !== text) this.#parsed = { text, cluster: JSON.parse(text) as StoredCluster };
    return this.#parsed.cluster;
  }

  get spec(): EtcdClusterSpec {
    const cluster = this.cluster();
    if (!cluster) throw new Error("the cluster is gone");
    return cluster.spec;
  }

  /** A controller begins its life. */
  async #rise(): Promise<void> {
    const lifeline = new Lifeline({
      effects: this.effects,
      faults: this.#faults,
      onDeath: (reason) => this.#died(reason),
      watch: {
        onRemove: (memberID) => this.#judge(() => this.oracle.mayRemove(memberID)),
        onPromote: () => this.#judge(() => this.oracle.mayPromote()),
        onStop: (pid) => {
          const server = this.world.network.get(String(pid));
          // All members stop for a restore in place that was approved, once its snapshot is here.
          const isReplaced = this.rescues.whole > 0 && server?.dir.clusterID === this.replaced;
          if (server && !isReplaced) this.#judge(() => this.oracle.mayStop(server.config.name));
        },
        onTake: (path) => {
          const member = path.startsWith(`${this.files.volumes}/`) ? path.split("/").at(-1) : undefined;
          if (member !== undefined) this.#judge(() => this.oracle.mayDelete(member));
        },
      },
    });
    this.#lifeline = lifeline;
    const self = { pid: this.processes.nextPid(), startTime: `controller ${this.scheduler.now}` };
    const transport = new ModelTransport({
      world: this.world,
      calls: this.calls,
      keys: this.keys,
      random: this.random.fork(),
    });
    const opening = Controller.open({
      layout: this.files,
      seams: {
        disk: lifeline.disk(this.disk),
        clock: lifeline.clock(this.clock),
        random: this.random.fork(),
        ports: this.ports,
        pki: this.#pki,
        processes: lifeline.processes(
          this.processes.seenBy(self, (identity) => lifeline.alive && identity.startTime === self.startTime),
        ),
        transport: lifeline.etcd(transport),
        probe: new ModelProbe(this.world, this.processes.tls),
        restore: async ({ record, restore, dataDir }, tell) => {
          tell("reading it");
          // As long as a restore may take, whoever began it may be gone by then.
          await sleep(this.clock, RESTORE_MS);
          if (!lifeline.alive) throw new Error("its controller is gone");
          const { name, token } = record;
          const saved = this.rescues.savedIn(restore);
          const member = { name, token, peerURL: peerURLOf(record) };
          this.disk.dataDirs.write(dataDir, restoredAs(member, saved, bumpOf(restore)));
        },
        rescuer: this.rescues.for(() => lifeline.alive),
        fetch: async ({ directory }) => {
          await sleep(this.clock, RESTORE_MS);
          if (!lifeline.alive) throw new Error("its controller is gone");
          const fetched = this.rescues.fetched(`${directory}/snapshot.db`);
          await this.disk.write(fetched.path, "a snapshot");
          return fetched;
        },
        connect: ({ cert }) => lifeline.etcd(transport.as(certificatesIn(cert)[0]?.commonName)),
        env: {},
      },
      install: (version) => Promise.resolve(`/etcd/${version}/etcd`),
      socket: `${this.files.dir}/control.sock`,
      onCredentials: ({ cert }) => {
        transport.commonName = certificatesIn(cert)[0]?.commonName;
      },
      onStep: (entry) => {
        this.steps.push(entry);
        this.#lastStepAt = this.scheduler.now;
      },
      onPass: (pass) => {
        this.passes++;
        this.latest = pass;
      },
      onTrouble: (error) => this.troubles.push(String(error)),
    });
    void opening.then((controller) => {
      this.#controller = controller;
      // Its lifeline ends it; nothing else does.
      void controller.run(new AbortController().signal);
    });
    await this.scheduler.runAsyncUntil(this.scheduler.now);
  }

  #died(reason: string): void {
    this.deaths.push(reason);
    this.#controller = undefined;
    this.latest = undefined;
    this.scheduler.after(AWAY_MS, () => void this.#rise());
  }

  /** The controller is killed, as by SIGKILL. */
  kill(): void {
    this.#lifeline?.cut("killed from outside");
  }

  /** Changes the spec as `quorate local apply` would. */
  async edit(change: Partial<EtcdClusterSpecInput>): Promise<void> {
    await this.store.updateCluster({ spec: etcdClusterSpecSchema.parse({ ...this.spec, ...change }) });
    this.#controller?.loop.wake();
  }

  #judge(look: () => void): void {
    try {
      look();
    } catch (error) {
      if (!(error instanceof Violation)) throw error;
      this.#violation ??= error;
    }
  }

  async pass(ms: number): Promise<void> {
    await this.scheduler.runAsyncUntil(this.scheduler.now + ms, () => this.#violation !== undefined);
    if (this.#violation) throw this.#violation;
  }

  get converged(): boolean {
    return this.latest?.decision.converged === true && this.latest.problems.length === 0;
  }

  get stuck(): boolean {
    const decision = this.latest?.decision;
    return decision !== undefined && !decision.act && decision.holds.some((hold) => hold.next !== undefined);
  }

  /** Until nothing is left to do, or a person is needed, and nothing was written for a while. */
  async settle(limitMs = 1_800_000): Promise<void> {
    const begin = this.scheduler.now;
    this.#quietSince = begin;
    for (;;) {
      await this.pass(500);
      if (this.effects.count !== this.#lastEffects) this.#quietSince = this.scheduler.now;
      this.#lastEffects = this.effects.count;
      const quiet = this.scheduler.now - this.#quietSince;
      if (quiet >= 5_000 && this.converged) return;
      // A process that cannot run is started again and again, which is no step.
      if (this.stuck && this.scheduler.now - Math.max(begin, this.#lastStepAt) >= 20_000) return;
      if (this.scheduler.now - begin > limitMs) throw new Violation("convergence", this.whyNot());
    }
  }

  whyNot(): string {
    return whyNotConverged(this.scheduler.now, this.latest, this.troubles);
  }
}
