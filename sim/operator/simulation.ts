/**
 * One simulated run of the real operator: `src/operator` with its caches, queue, lease and control loop, and the
 * etcd client, on the model API server with an etcd in every Pod. Operators can be killed, frozen and cut off.
 */
import type { EtcdClusterSpecInput } from "../../src/api/etcd-cluster-spec.ts";
import type { EtcdCluster } from "../../src/api/etcd-cluster.ts";
import { API_VERSION } from "../../src/api/metadata.ts";
import type { Pass } from "../../src/control/loop.ts";
import type { Hold } from "../../src/core/action.ts";
import { describeEntry, type TranscriptEntry } from "../../src/control/transcript.ts";
import { Operator } from "../../src/operator/runtime.ts";
import type { KubeRequest, KubeResponse } from "../../src/seams/kube-transport.ts";
import { EPOCH } from "../engine/clock.ts";
import { ModelDisk } from "../machine/model-disk.ts";
import { ModelPki } from "../machine/model-pki.ts";
import type { DataDir } from "../models/etcd/data-dir.ts";
import type { Aim } from "../models/kube/faults.ts";
import { items, json } from "../models/kube/object.ts";
import { refusal } from "../models/kube/refusal.ts";
import { Needless } from "../oracles/needless.ts";
import { Oracle, Violation } from "../oracles/oracle.ts";
import { whyNotConverged } from "../driver/product-run.ts";
import { checkFailures } from "./failures.ts";
import { Busy } from "./busy.ts";
import { Effects, type EffectPlan } from "./effects.ts";
import { DEPLOYED, Environment, NAME, NAMESPACE, SYSTEM } from "./environment.ts";
import { keepingOf } from "./keeping.ts";
import { Life } from "./life.ts";
import { modelReach } from "./model-reach.ts";
import { OperationTruth } from "./operation-truth.ts";
import { StatusTruth } from "./status-truth.ts";

/** Between an operator's death and its successor's start. */
const AWAY_MS = 1_500;
/** Without an effect for this long nothing is under way: a watch that lost its server asks again within 8 s or a little more. */
const REST_MS = 12_000;
const STUCK_MS = 70_000; // Pods of a node that is gone say for ORPHAN_MS that they are ready (nodes/lifecycle.ts).
/** Long enough for what failed to be tried again, several times. */
const LAG_MS = 4_000;
const WATCH_MS = 1_000; // How often the oracles that watch over time look.
const LOOK_MS = 5_000;
const CLUSTERS = `/apis/${API_VERSION}/namespaces/${NAMESPACE}/etcdclusters`;

interface Seat {
  readonly name: string;
  life: Life | undefined;
  lives: number;
  latest: Pass | undefined;
}

export interface OperatorSimulationOptions {
  readonly seed: number;
  /** How many operators stand by and compete for the lease. */
  readonly operators?: number;
  readonly effects?: EffectPlan;
  /** As installed for one namespace: Nodes may not be read. */
  readonly nodesForbidden?: boolean;
  /** How far the wall clock of every operator is ahead of the others. */
  readonly aheadMs?: number;
  /** It is looked at as if there were at least so many clusters. */
  readonly leastClusters?: number;
  /** Hears of every pass of every operator. */
  readonly onPass?: (pass: Pass) => void;
  /** Of which release an operator is, by the number of its life; this one unless it answers. */
  readonly release?: (life: number) => typeof Operator | undefined;
}

export class OperatorSimulation {
  readonly env: Environment;
  readonly oracle: Oracle;
  readonly effects: Effects;
  readonly operations: OperationTruth;
  /** Everything that was decided and done, with its time. */
  readonly lines: string[] = [];
  readonly deaths: string[] = [];
  readonly troubles: string[] = [];
  passes = 0;
  steps = 0;
  aheadMs: number;
  readonly #nodesForbidden: boolean;
  readonly #leastClusters: number;
  /** Faults that keep every operator from seeing or telling anything, as many as last. */
  impediments = 0;
  readonly #needless: Needless;
  readonly #busy = new Busy();
  readonly #statusTruth = new StatusTruth(this);
  #watchedAt = -Infinity;
  readonly #seats: Seat[];
  readonly #onPass: ((pass: Pass) => void) | undefined;
  readonly #release: OperatorSimulationOptions["release"];
  readonly #pki: ModelPki;
  readonly #disk = new ModelDisk();
  #violation: Violation | undefined;
  #lastEffectAt = 0;
  #lastStepAt = 0;
  #harmedAt = -1;
  #latest: Pass | undefined;

  constructor(spec: EtcdClusterSpecInput, options: OperatorSimulationOptions) {
    this.env = new Environment(options.seed);
    this.effects = new Effects(options.effects ?? new Map());
    this.operations = new OperationTruth(this.env);
    this.#onPass = options.onPass;
    this.#release = options.release;
    this.aheadMs = options.aheadMs ?? 0;
    this.#leastClusters = options.leastClusters ?? 0;
    this.#nodesForbidden = options.nodesForbidden ?? false;
    this.forbidNodes();
    this.#pki = new ModelPki(this.env.clock);
    const { world, ledger, subject, disks, pods } = this.env;
    this.oracle = new Oracle({ world, ledger, subject });
    this.#needless = new Needless(keepingOf(this.env), this.oracle);
    this.env.onViolation = (what) => void (this.#violation ??= new Violation("I10", what));
    disks.onData = (dir) => this.#judge(() => this.oracle.madeDirectory(dir));
    disks.onLoss = (dir) => this.#judge(() => this.#mayLose(dir));
    pods.onProcess = (text, hasData) => this.#judge(() => this.oracle.started(text, hasData));
    world.onElected = (leader) => this.#judge(() => this.oracle.elected(leader));
    this.#seats = Array.from({ length: options.operators ?? 1 }, (_, index) => ({
      name: `operator-${"abc"[index]}`,
      life: undefined,
      lives: 0,
      latest: undefined,
    }));
    const metadata = { name: NAME, namespace: NAMESPACE };
    const body = { apiVersion: API_VERSION, kind: "EtcdCluster", metadata, spec };
    const made = this.user({ method: "POST", path: CLUSTERS, body });
    if (made.status !== 201) throw new RangeError(`refused: ${JSON.stringify(made.body)}`);
    for (const seat of this.#seats) this.#rise(seat);
  }

  /** A process begins its life. */
  #rise(seat: Seat): void {
    const { env } = this;
    const name = `${seat.name}${++seat.lives}`;
    const life = new Life(
      {
        effects: this.effects,
        onDeath: (reason) => this.#died(seat, name, reason),
        watch: {
          onRequest: (request) => this.#aboutTo(request, life),
          onRemove: (id) => {
            this.#judgeStep(life, () => this.oracle.mayRemove(id));
            this.#judge(() => this.#needless.mayRemove(id, this.#seenAt(life)));
          },
          onPromote: () => this.#judgeStep(life, () => this.oracle.mayPromote()),
          onEffect: (name) => {
            this.#lastEffectAt = env.scheduler.now;
            this.#judge(() => this.#busy.note(name, env.scheduler.now));
          },
          onUnseen: (effect) => this.#lag(effect.split(" ")[1] ?? ""),
        },
      },
      () => env.scheduler.now,
    );
    life.aheadMs = this.aheadMs;
    seat.life = life;
    const random = env.random.fork();
    const clock = life.clock(env.clock);
    const other = this.#release?.(seat.lives);
    const operator = new (other ?? Operator)({
      config: { server: "https://model" } as never,
      clock,
      random,
      disk: this.#disk,
      log: (level, message) => {
        if (level === "error") this.troubles.push(`${name}: ${message}`);
      },
      lease: { namespace: SYSTEM, name: "quorate" },
      transport: life.kube(env.front.connect(name)),
      identity: name,
      ...DEPLOYED,
      leastClusters: this.#leastClusters,
      pki: this.#pki.on(clock),
      reach: () => modelReach(env, life, random),
      // What another release decides and says is not ours to judge.
      ...(!other && {
        hooks: {
          onPass: (pass) => {
            this.passes++;
            this.#judge(() => checkFailures(pass));
            seat.latest = this.#latest = pass;
            this.#onPass?.(pass);
          },
          onStep: (entry) => this.#noteStep(entry),
        },
      }),
    });
    operator.run(new AbortController().signal).then(
      (end) => life.cut(`it ended: ${end}`),
      (error: unknown) => {
        this.troubles.push(`${name} ended: ${String(error)}`);
        life.cut(`it failed: ${String(error)}`);
      },
    );
  }

  #noteStep(entry: TranscriptEntry): void {
    this.steps++;
    this.#lastStepAt = this.env.scheduler.now;
    this.#line(entry.at - EPOCH, describeEntry(entry));
    this.#judge(() => this.oracle.sameLists());
  }

  #line(ms: number, text: string): void {
    this.lines.push(`${`${(ms / 1_000).toFixed(3)}s`.padStart(10)}  ${text}`);
  }

  /** Something from outside, told among what the operator does. */
  tell(text: string): void {
    this.#line(this.env.scheduler.now, `>> ${text}`);
  }

  #died(seat: Seat, name: string, reason: string): void {
    this.deaths.push(`${name} ${reason}`);
    this.tell(`${name} dies: ${reason}`);
    if (seat.latest === this.#latest) this.#latest = undefined;
    seat.life = undefined;
    seat.latest = undefined;
    // Its connections go with it; what was sent before still arrives.
    this.env.front.cut(name);
    this.env.scheduler.after(AWAY_MS, () => this.#rise(seat));
  }

  #aboutTo({ method, path, body }: KubeRequest, life: Life): void {
    const [plural, name = ""] = path.split("/").slice(-2);
    if (method === "PUT" && plural === "etcdmembers" && isLeaving(body))
      this.#judge(() => this.#needless.mayLeave(name, this.#seenAt(life)));
    if (method !== "DELETE") return;
    if (plural === "pods" && !this.operations.mayStopAll(name))
      this.#judgeStep(life, () => this.oracle.mayStop(name));
    if (plural === "persistentvolumeclaims")
      this.#judgeStep(life, () => this.oracle.mayDelete(name.replace(/^data-/, "")));
  }

  /** The watches of one kind tell nothing for a while. */
  #lag(plural: string): void {
    const { front, scheduler } = this.env;
    front.hold(plural, "watches");
    scheduler.after(LAG_MS, () => front.release(plural));
  }

  /** I5: a disk goes that nobody destroyed; it may not be a current member's. */
  #mayLose(dir: DataDir): void {
    const { world, subject } = this.env;
    const leader = world.network.all().find((one) => one.runs && world.raftOf(one).leader === one);
    if (!subject.meantToServe() || leader?.dir.clusterID !== dir.clusterID) return;
    if (leader.dir.state.members.has(dir.memberID))
      throw new Violation("I5", `the disk of ${dir.memberID}, a current member, is gone`);
  }

  /** When what it acts on was seen: one look takes no longer than this. */
  #seenAt(life: Life): number {
    return Math.max(life.lookedAt, this.env.scheduler.now - LOOK_MS);
  }

  /** What broke after the operator had looked could not be known to it. */
  #judgeStep(life: Life, look: () => void): void {
    if (this.#harmedAt < life.lookedAt) this.#judge(look);
  }

  #judge(look: () => void): void {
    try {
      look();
    } catch (error) {
      if (!(error instanceof Violation)) throw error;
      this.#violation ??= error;
    }
  }

  /** A fault is about to be done. */
  harm(): void {
    this.#harmedAt = this.env.scheduler.now;
  }

  forbidNodes(): void {
    const response = refusal(403, "Forbidden", "nodes is forbidden at the cluster scope");
    const aim: Aim = (_, { path }) => path === "/api/v1/nodes";
    if (this.#nodesForbidden)
      this.env.front.faults.plan({ kind: "answer", done: false, response }, aim, Infinity);
  }

  get inMemory(): boolean {
    return this.cluster?.spec.storage.medium === "Memory";
  }

  /** A request of a person, done at once. */
  user(request: KubeRequest): KubeResponse {
    return this.env.server.handle({ ...request, query: { ...request.query, fieldManager: "kubectl" } });
  }

  /** Changes the spec as a person would; false when the API server refuses it. */
  edit(change: object): boolean {
    const { status } = this.user({
      method: "PATCH",
      path: `${CLUSTERS}/${NAME}`,
      body: { spec: change },
      contentType: "application/merge-patch+json",
    });
    return status < 300;
  }

  deleteCluster(): void {
    this.user({ method: "DELETE", path: `${CLUSTERS}/${NAME}` });
  }

  /** The seats whose operator lives. */
  get seats(): readonly { readonly name: string; readonly life: Life }[] {
    return this.#seats.flatMap(({ name, life, lives }) => (life ? [{ name: `${name}${lives}`, life }] : []));
  }

  get cluster(): EtcdCluster | undefined {
    return this.env.cluster() as unknown as EtcdCluster | undefined;
  }

  get latest(): Pass | undefined {
    return this.#latest;
  }

  async pass(ms: number): Promise<void> {
    const { scheduler } = this.env;
    await scheduler.runAsyncUntil(scheduler.now + ms, () => {
      if (scheduler.now - this.#watchedAt >= WATCH_MS) this.#watch(scheduler.now);
      return this.#violation !== undefined;
    });
    if (this.#violation) throw this.#violation;
  }

  #watch(now: number): void {
    this.#watchedAt = now;
    this.#needless.look(now);
    this.#judge(() => this.#statusTruth.look(now));
    this.#judge(() => this.operations.look());
  }

  /** Some operator lives, runs, and can see and write what is about the cluster. */
  get attended(): boolean {
    return this.impediments === 0 && this.seats.some(({ life }) => !life.frozen);
  }

  get converged(): boolean {
    const { latest } = this;
    const { generation } = this.cluster?.metadata ?? {};
    return (
      latest?.decision.converged === true &&
      latest.problems.length === 0 &&
      latest.observation.cluster.generation === generation &&
      this.#podsSettled()
    );
  }

  #podsSettled(): boolean {
    return this.env
      .memberPods()
      .every(
        (pod) =>
          pod.metadata.deletionTimestamp === undefined &&
          items(json(pod["status"])["conditions"]).some(
            ({ type, status }) => type === "Ready" && status === "True",
          ),
      );
  }

  /** Hibernated, or told what a person must do: waiting changes nothing. */
  get stuck(): boolean {
    const decision = this.latest?.decision;
    // A person may bring lost storage back, but need not: its member is replaced after a while.
    const needsPerson = (hold: Hold) => hold.next !== undefined && hold.reason !== "StorageLost";
    return decision !== undefined && !decision.act && decision.holds.some(needsPerson);
  }

  /** Until nothing is left to do, or a person is needed, and nothing was done for a while; else a violation. */
  async settle(limitMs = 1_800_000): Promise<void> {
    if (!(await this.comesToRest(limitMs))) throw new Violation("convergence", this.whyNot());
  }

  async comesToRest(limitMs: number): Promise<boolean> {
    const { scheduler } = this.env;
    const begin = scheduler.now;
    for (;;) {
      await this.pass(500);
      const now = scheduler.now;
      if (now - Math.max(begin, this.#lastEffectAt) >= REST_MS && (this.converged || this.isGone))
        return true;
      if (now - Math.max(begin, this.#lastStepAt) >= STUCK_MS && this.stuck) return true;
      if (now - begin > limitMs) return false;
    }
  }

  get isGone(): boolean {
    return this.env.cluster() === undefined;
  }

  whyNot(): string {
    return whyNotConverged(this.env.scheduler.now, this.latest, this.troubles);
  }
}

function isLeaving(body: unknown): boolean {
  return (body as { spec?: { leaving?: unknown } } | undefined)?.spec?.leaving !== undefined;
}
