/**
 * Everything around the operator: the model API server with its nodes, an etcd in every Pod, the walls between
 * nodes, and a client that writes. Nothing of it knows what an operator is.
 */
import { isEstablished } from "../../src/core/record.ts";
import { marksOf } from "../../src/operator/records/marks.ts";
import { claimName, LABELS, PORTS, serviceNames } from "../../src/operator/names.ts";
import type { EtcdCluster } from "../../src/api/etcd-cluster.ts";
import type { EtcdMember } from "../../src/api/etcd-member.ts";
import { VirtualClock } from "../engine/clock.ts";
import { Ledger } from "../oracles/ledger.ts";
import { Calls } from "../models/etcd/calls.ts";
import { Keys } from "../models/etcd/kv.ts";
import type { Server } from "../models/etcd/server.ts";
import { EtcdWorld } from "../models/etcd/world.ts";
import { KubeFront } from "../models/kube/front.ts";
import type { Kind } from "../models/kube/kind.ts";
import { claims } from "../models/kube/kinds/claim.ts";
import { ours } from "../models/kube/kinds/ours.ts";
import { pods } from "../models/kube/kinds/pod.ts";
import { services } from "../models/kube/kinds/service.ts";
import { networkPolicies, volumes } from "../models/kube/kinds/simple.ts";
import { JobController } from "../models/kube/nodes/job-controller.ts";
import { ModelNodes } from "../models/kube/nodes/nodes.ts";
import { diskOf } from "../models/kube/nodes/volume-objects.ts";
import { admits, type Place } from "../models/kube/network-policy.ts";
import { json, type KubeJson } from "../models/kube/object.ts";
import { ModelServer } from "../models/kube/server.ts";
import { RESTORED_KEYS } from "../models/etcd/restored.ts";
import type { Subject } from "../oracles/oracle.ts";
import { SeededRandom } from "../engine/random.ts";
import { Scheduler } from "../engine/scheduler.ts";
import { Disks, EtcdPods, type PodClocks } from "./etcd-pods.ts";
import { FetchPods } from "./fetch-pods.ts";
import { RecoveryPods } from "./recovery-pods.ts";
import { SnapshotPods } from "./snapshot-pods.ts";

export const NAMESPACE = "default";
export const NAME = "demo";
export const SYSTEM = "quorate-system";
/** As its Deployment labels them. */
export const OPERATOR_PODS = {
  namespace: SYSTEM,
  labels: { "app.kubernetes.io/name": "quorate", "app.kubernetes.io/component": "operator" },
} as const;
/** What its Deployment tells an operator. */
export const DEPLOYED = { image: "quorate.example/quorate:dev", operatorPods: OPERATOR_PODS } as const;
const CLIENT_SERVICE = `${NAMESPACE}/${serviceNames(NAME).client}`;

export const etcdClusters = ours.find(({ kind }) => kind === "EtcdCluster") as Kind;
export const etcdMembers = ours.find(({ kind }) => kind === "EtcdMember") as Kind;
export const etcdOperations = ours.find(({ kind }) => kind === "EtcdOperation") as Kind;

export const etcdSnapshotSchedules = ours.find(({ kind }) => kind === "EtcdSnapshotSchedule") as Kind;
export const etcdSnapshots = ours.find(({ kind }) => kind === "EtcdSnapshot") as Kind;

const NODES = ["n1", "n2", "n3", "n4", "n5"] as const;
/** As quick as a cluster may be set to be: a lost node is known after 8 s, and its Pods go after 5 more. */
const NODE_GRACE_MS = 8_000;
const TOLERATION_S = 5;
const WRITE_EVERY_MS = 1_000;

export class Environment {
  readonly random: SeededRandom;
  readonly scheduler: Scheduler;
  readonly clock: VirtualClock;
  readonly server: ModelServer;
  readonly front: KubeFront;
  readonly nodes: ModelNodes;
  readonly world: EtcdWorld;
  readonly calls: Calls;
  readonly keys: Keys;
  readonly disks = new Disks();
  readonly pods: EtcdPods;
  readonly snapshots: SnapshotPods;
  readonly recovery: RecoveryPods;
  readonly fetches: FetchPods;
  onViolation: (what: string) => void = () => {};
  readonly ledger = new Ledger();
  readonly #cutOff = new Set<string>();
  /**
   * Members, by name, that the operator alone cannot reach: they serve their clients and each other, and their Pods
   * are Ready. "all" is everybody, those to come too, as a network policy has it.
   */
  unreachable: ReadonlySet<string> | "all" = new Set();
  #opened: string | undefined;
  #known: { object: KubeJson; established: string | undefined; restored?: readonly string[] } | undefined;

  constructor(seed: number) {
    this.random = new SeededRandom(seed);
    this.scheduler = new Scheduler(this.random.fork());
    this.clock = new VirtualClock(this.scheduler);
    const { scheduler, disks } = this;
    const now = () => this.clock.now();
    this.server = new ModelServer({
      random: this.random.fork(),
      now,
      namespaces: [NAMESPACE, SYSTEM],
      tolerationSeconds: TOLERATION_S,
    });
    const { server } = this;
    this.front = new KubeFront({ server, scheduler, random: this.random.fork() });
    this.world = new EtcdWorld({ scheduler, random: this.random.fork(), dirs: disks });
    this.world.network.between = (a, b) => this.#apart(a, b);
    this.world.network.resolves = (url) => this.#resolves(url);
    this.calls = new Calls(this.world, now);
    this.keys = new Keys(this.world);
    this.snapshots = new SnapshotPods(scheduler, now);
    this.fetches = new FetchPods(scheduler);
    this.recovery = new RecoveryPods(scheduler, {
      data: (disk) => disks.of(disk),
      onRescued: (dir, keys) => {
        const missing = this.ledger.rescued(dir.log, keys);
        if (missing) this.onViolation(missing);
      },
      onViolation: (what) => this.onViolation(what),
    });
    this.pods = new EtcdPods(this.world, disks, () => this.#podClocks, this);
    this.nodes = new ModelNodes({
      server,
      scheduler,
      random: this.random.fork(),
      nodes: NODES,
      hooks: this.pods,
      graceMs: NODE_GRACE_MS,
    });
    // With randomness of its own, so that what it draws moves nothing else.
    new JobController({ server, scheduler, random: new SeededRandom(seed) }, now);
    this.ledger.writeEvery(WRITE_EVERY_MS, {
      scheduler,
      random: this.random.fork(),
      world: this.world,
      keys: this.keys,
      open: () => this.opened() !== undefined,
      leadsTo: (one) => !this.#isFenced(one),
      // A cluster that was deleted and made anew without its data is another one.
      onTravel: (what) => {
        if (this.#known?.restored) this.onViolation(what);
      },
    });
  }

  /** Of a former life, told to end, and selected by no Service for clients: it may run where only a node seemed to be off. */
  #isFenced({ config: { name }, dir }: Server): boolean {
    if (dir.clusterID === this.opened()) return false;
    const pod = this.server.get(pods, `${NAMESPACE}/${name}`);
    const service = this.server.get(services, CLIENT_SERVICE);
    const selector = Object.entries(json(json(service?.["spec"])["selector"] ?? {}));
    const labels = pod?.metadata.labels ?? {};
    const isSelected = pod !== undefined && selector.every(([key, value]) => labels[key] === value);
    return pod?.metadata.deletionTimestamp !== undefined && selector.length > 0 && !isSelected;
  }

  /** A member's own name leads to it by its Service; those of Pods are there as soon as the Pod is. */
  #resolves(url: string): boolean {
    const [, service] = /^https?:\/\/([^.]*-peer)\./.exec(url) ?? [];
    return service === undefined || this.server.get(services, `${NAMESPACE}/${service}`) !== undefined;
  }

  #apart(a: Server, b: Server): boolean {
    if (this.pods.isRefused(a, b)) return true;
    if (this.pods.tls.apart(a, b)) return true;
    const isWalled = (from: Server, to: Server) =>
      !this.admits(to.config.name, this.#placeOf(from.config.name), "peer");
    if (this.#hasPolicies() && (isWalled(a, b) || isWalled(b, a))) return true;
    if (this.#cutOff.size === 0) return false;
    const [there, here] = [this.pods.nodeOf(a), this.pods.nodeOf(b)];
    return there !== here && [there, here].some((node) => node !== undefined && this.#cutOff.has(node));
  }

  get #podClocks(): PodClocks {
    const { names, clocks } = this.nodes;
    return { names, now: (node) => clocks.now(node) };
  }

  /** Nothing reaches the node and nothing comes from it; what runs there runs on. */
  cutNode(name: string): void {
    this.#cutOff.add(name);
    this.nodes.cut(name);
    this.world.reconsiderAll();
  }

  healNode(name: string): void {
    this.#cutOff.delete(name);
    this.nodes.heal(name);
    this.world.reconsiderAll();
  }

  get cutOff(): readonly string[] {
    return [...this.#cutOff];
  }

  /** Whether packets of the control plane reach a process. */
  reaches(server: Server): boolean {
    if (this.unreachable === "all" || this.unreachable.has(server.config.name)) return false;
    const ports = ["client", "metrics", "peer"] as const;
    if (!ports.every((port) => this.admits(server.config.name, OPERATOR_PODS, port))) return false;
    return !this.#cutOff.has(this.pods.nodeOf(server) ?? "");
  }

  /** Whether NetworkPolicies, which are enforced here, let these Pods connect to a port of a member. */
  admits(member: string, from: Place, port: keyof typeof PORTS): boolean {
    if (!this.#hasPolicies()) return true;
    return admits(this.server.list(networkPolicies), this.#placeOf(member), from, PORTS[port]);
  }

  #hasPolicies(): boolean {
    return this.server.list(networkPolicies).length > 0;
  }

  #placeOf(member: string): Place {
    const labels = this.server.get(pods, `${NAMESPACE}/${member}`)?.metadata.labels ?? {};
    return { namespace: NAMESPACE, labels };
  }

  cluster(): KubeJson | undefined {
    return this.server.get(etcdClusters, `${NAMESPACE}/${NAME}`);
  }

  /** All Pods but those of Jobs and recoveries. */
  memberPods(): readonly KubeJson[] {
    const isHelper = ({ metadata }: KubeJson) => metadata.labels?.[LABELS.task] !== undefined;
    return this.server.list(pods).filter((pod) => !isHelper(pod));
  }

  members(): readonly KubeJson[] {
    return this.server.list(etcdMembers);
  }

  /** The cluster's ID on the latch of I3. Objects never change, so that one is read once. */
  established(): string | undefined {
    const object = this.cluster();
    if (!object) return undefined;
    if (this.#known?.object !== object) {
      const { metadata } = object as unknown as EtcdCluster;
      const uid = object.metadata.uid;
      const members = this.members() as unknown as readonly EtcdMember[];
      const { marks } = marksOf(uid, metadata.annotations ?? {}, members);
      const established = isEstablished(uid, marks) ? marks.established?.clusterID : undefined;
      const isRestored = established !== undefined && marks.established?.restored !== undefined;
      const restored = this.recovery.keysOf(marks.recovered?.plan) ?? RESTORED_KEYS;
      this.#known = { object, established, ...(isRestored && { restored }) };
    }
    return this.#known.established;
  }

  /** The cluster that clients were let in to: a Service leads them there, and nothing of theirs may be lost any more. */
  opened(): string | undefined {
    const established = this.established();
    if (established === undefined) return undefined;
    if (this.#opened !== established && this.server.get(services, CLIENT_SERVICE)) this.#opened = established;
    return this.#opened === established ? established : undefined;
  }

  /** The disk behind a member's claim. */
  diskOf(member: string): string | undefined {
    const name = this.volumeOf(member);
    const volume = name === undefined ? undefined : this.server.get(volumes, name);
    return volume && diskOf(volume);
  }

  volumeOf(member: string): string | undefined {
    const claim = this.server.get(claims, `${NAMESPACE}/${claimName(member)}`);
    const name = json(claim?.["spec"])["volumeName"];
    return name === undefined ? undefined : String(name);
  }

  readonly subject: Subject = {
    establishedAs: () => this.opened(),
    meantToServe: () => {
      const cluster = this.cluster();
      return (
        cluster !== undefined &&
        cluster.metadata.deletionTimestamp === undefined &&
        json(cluster["spec"])["replicas"] !== 0
      );
    },
    restored: () => this.#known?.restored,
    server: (member) => this.pods.server(member),
    fenced: (server) => this.#isFenced(server),
    data: (member) => {
      const disk = this.diskOf(member);
      return disk === undefined ? undefined : this.disks.of(disk);
    },
  };
}
