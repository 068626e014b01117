/**
 * The Kubernetes platform of one cluster: what the control loop asks of a platform, over cached objects and calls
 * that are fenced by the lease. Nothing of it decides anything.
 */
import type { EtcdClusterStatus } from "../api/etcd-cluster-status.ts";
import type { EtcdCluster } from "../api/etcd-cluster.ts";
import type { EtcdSnapshotScheduleSpec } from "../api/etcd-snapshot-schedule.ts";
import type { ApiError } from "../api/validate.ts";
import type { Applied, ObjectAction, Platform, PlatformMember, PlatformState } from "../control/platform.ts";
import { pointSchedules } from "../core/assess/restore-point.ts";
import { isSecure } from "../core/config/flags.ts";
import type { ClusterFacts, EtcdMemberEntry } from "../core/observation.ts";
import type { MemberRecord } from "../core/record.ts";
import type { SnapshotEffect } from "../core/snapshots/effect.ts";
import type { GivenStatus } from "../core/status/status.ts";
import type { View } from "../core/view.ts";
import type { KubeClient } from "../kube/client.ts";
import { isControlledBy, refOf } from "../kube/resources.ts";
import type { Clock } from "../seams/clock.ts";
import type { EtcdProbe } from "../seams/etcd-probe.ts";
import type { EtcdTransport } from "../seams/etcd-transport.ts";
import type { Pki } from "../seams/pki.ts";
import type { Random } from "../seams/random.ts";
import { Addresses } from "./reach/addresses.ts";
import { applyObjects } from "./apply/apply.ts";
import { Certificates } from "./apply/certificates.ts";
import { Erasures } from "./apply/erasures.ts";
import { confirmed } from "./apply/confirm.ts";
import { Rotations } from "./apply/rotations.ts";
import { Clashes } from "./apply/clashes.ts";
import type { ClockSkew } from "./observe/clock-skew.ts";
import { EndsSeen } from "./observe/ends-seen.ts";
import { textOf } from "./records/cluster-object.ts";
import { operationsFor } from "./records/operation-object.ts";
import { GivenSecrets } from "./apply/given-secrets.ts";
import { Reissues } from "./apply/reissues.ts";
import { executeAction, type Decided } from "./apply/execute.ts";
import { executeSnapshot, imageFor } from "./apply/execute-snapshot.ts";
import { Contests } from "./apply/contests.ts";
import { KubeAuth } from "./cache/auth-reads.ts";
import { Credentials } from "./cache/credentials.ts";
import type { Fence } from "./process/fencing.ts";
import { WorkReports } from "./reach/work-reports.ts";
import { isOurPeerURL, serviceNames, snapshotSecretName } from "./names.ts";
import { LiveReads } from "./cache/live-reads.ts";
import { MemberClocks } from "./reach/member-clocks.ts";
import type { NodeClocks } from "./observe/node-clocks.ts";
import { newcomersBlockedBy, notMadeOf } from "./apply/not-made.ts";
import { missingKey } from "./apply/token-keys.ts";
import { adoptionOf } from "./cache/adoption-reads.ts";
import { observeObjects, type ClusterObjects } from "./observe/observe-objects.ts";
import { snapshotStateOf } from "./observe/snapshot-state.ts";
import { PartWaits } from "./apply/part-waits.ts";
import { PeerServices } from "./apply/peer-services.ts";
import { Preflight } from "./apply/preflight.ts";
import type { EtcdReach } from "./reach/reach.ts";
import type { OperatorPods } from "./render/network-policy.ts";
import { KubeRecovery } from "./recovery/recovery.ts";
import { checkSaidOff } from "./recovery/said-off.ts";
import { KubeRestoreInPlace } from "./recovery/restore-in-place.ts";
import { described } from "./status/described.ts";
import { Reporter } from "./status/report.ts";
import { Resizing } from "./apply/resizing.ts";
import { bindVolume } from "./apply/released-volumes.ts";
import { VolumeMarks } from "./apply/volume-marks.ts";
import { StartLatches } from "./apply/start-latch.ts";
import type { Stores } from "./cache/stores.ts";
import type { ApplyContext } from "./apply/outcomes.ts";

export interface KubePlatformOptions {
  /** `namespace/name`. */
  readonly key: string;
  readonly client: KubeClient;
  readonly stores: Stores;
  readonly fence: Pick<Fence, "leads">;
  readonly clock: Clock;
  readonly pki: Pki;
  readonly random: Random;
  readonly skew: ClockSkew;
  readonly nodeClocks: NodeClocks;
  /** Where Kubernetes' own names end; cluster.local when absent. */
  readonly clusterDomain?: string;
  /** Of the etcd image, for clusters that name none. */
  readonly imageRepository?: string;
  /** Our own, which Jobs run. */
  readonly image?: string;
  /** Our own, which NetworkPolicies let in; without them none is made. */
  readonly operatorPods?: OperatorPods;
  /** For this cluster alone; closed with the platform. */
  readonly reach: EtcdReach;
}

/** The EtcdCluster cannot be understood, and there is nothing that it could be looked after by. */
export class InvalidCluster extends Error {
  override name = "InvalidCluster";
  readonly errors: readonly ApiError[];
  constructor(errors: readonly ApiError[]) {
    super(textOf(errors));
    this.errors = errors;
  }
}

export class KubePlatform implements Platform {
  readonly transport: EtcdTransport;
  readonly probe: EtcdProbe;
  readonly #options: KubePlatformOptions;
  readonly #apply: ApplyContext;
  readonly #reporter: Reporter;
  readonly #preflight: Preflight;
  readonly #auth: KubeAuth;
  #decided: Decided | undefined;
  readonly #credentials: Credentials;
  readonly #addresses: Addresses;
  readonly #rotations: Rotations;
  readonly #erasures: Erasures;
  readonly #ends: EndsSeen;
  readonly #memberClocks: MemberClocks;
  readonly #recovery: KubeRecovery;
  readonly #restores: KubeRestoreInPlace;
  readonly #reports: WorkReports;
  /** What the last read was made from. */
  #basis: readonly unknown[] = [];

  constructor(options: KubePlatformOptions) {
    const { client, stores, clock, key, pki, skew } = options;
    this.#options = options;
    this.transport = options.reach.transport;
    this.probe = options.reach.probe;
    this.#credentials = new Credentials(options);
    this.#addresses = new Addresses(stores, () => this.#decided?.facts);
    this.#erasures = new Erasures(options);
    this.#ends = new EndsSeen(clock);
    this.#memberClocks = new MemberClocks({ ...options, serverNow: () => skew.serverNow() });
    this.#reporter = new Reporter(client, stores, clock, key);
    this.#preflight = new Preflight(client, clock);
    const certificates = new Certificates(pki, skew, options.clusterDomain);
    this.#auth = new KubeAuth(options, certificates);
    const clashes = new Clashes(client, clock, refOf(key).name);
    const contests = new Contests(client, clock);
    const now = () => skew.serverNow();
    const waits = new PartWaits(clock);
    const { image } = options;
    this.#recovery = new KubeRecovery({ client, stores, key, certificates, now, image, waits });
    this.#reports = new WorkReports(options.reach, clock);
    const { transfers } = this.#reports;
    this.#restores = new KubeRestoreInPlace({ client, stores, key, now, image, transfers });
    this.#apply = {
      client,
      random: options.random,
      stores,
      key,
      certificates,
      given: new GivenSecrets(client, clock),
      reissues: new Reissues({ client, pki, now: () => skew.now() }),
      clashes,
      live: new LiveReads(client, clock),
      contests,
      latches: new StartLatches(clock),
      waits,
      resizing: new Resizing(client, clock),
      peerServices: new PeerServices(client, clock, contests),
      volumeMarks: new VolumeMarks(client, clock),
      helpers: [this.#recovery, this.#restores],
      ...(options.image !== undefined && { image: options.image }),
      ...(options.operatorPods && { operatorPods: options.operatorPods }),
    };
    this.#rotations = new Rotations(
      { ...this.#apply, pki, clock, skew, probe: this.probe },
      {
        client: (record) => this.#addresses.secureClient(record),
        peer: (record) => this.#addresses.peer(record),
      },
    );
  }

  // The caches hold our own last writes, so that nothing has to be waited for but an answer about a new spec.
  async read(): Promise<PlatformState | undefined> {
    const { stores, key, skew, fence, clock } = this.#options;
    const cached = stores.objectsOf(key);
    if (cached === undefined) return undefined;
    this.#basis = this.#basisOf(cached);
    const { objects, unread } = await this.#apply.live.complete(cached, refOf(key).namespace ?? "");
    const existing = new Set(objects.pods.map(({ metadata }) => metadata?.uid ?? ""));
    this.#apply.latches.keepOnly(existing);
    this.#ends.keepOnly(existing);
    await this.#reports.ask(objects, stores.snapshotsOf(key));
    const observed = observeObjects(objects, {
      // It is compared with times that the API server and kubelets wrote.
      now: skew.serverNow(),
      endSeen: (...end) => this.#ends.see(...end),
      fenced: !fence.leads,
      isResizable: (pod, record) => this.#apply.resizing.isPossible(pod, record),
      dialled: this.#apply.peerServices.areOffered ? "Service" : "Pod",
      isConfirmed: (pod) => this.#apply.latches.isConfirmed(pod),
      opened: this.#isOpened(objects.cluster.metadata?.uid ?? ""),
      unread,
      imageRepository: this.#options.imageRepository,
      image: this.#options.image,
      snapshot: (name) => stores.snapshot(`${refOf(key).namespace}/${name}`),
      notMade: (member) => notMadeOf(this.#apply, member),
      transfers: this.#reports.transfers,
      erasure: (member, pod) => this.#erasures.of(member, pod),
    });
    if (!observed.ok) throw new InvalidCluster(observed.errors);
    const { cluster, platform } = observed.state;
    this.#decided = { object: objects.cluster as EtcdCluster, facts: cluster };
    this.#credentials.use(cluster);
    const asking = { ...this.#apply, clock, probe: this.probe, addresses: this.#addresses };
    const seen = await Promise.all(observed.state.members.map((member) => confirmed(asking, member)));
    const isOurTurn = fence.leads && cluster.invalid === undefined;
    const members = isOurTurn ? await this.#preflight.joiners(cluster, seen) : seen;
    const known = new Set(platform.clashes.map(({ object }) => object));
    const clashes = [
      ...platform.clashes,
      ...this.#apply.clashes.found.filter(({ object }) => !known.has(object)),
    ];
    const records = members.map(({ record }) => record);
    const verdict = isOurTurn
      ? await this.#preflight.verdict(cluster, records, platform.offers[0]?.address)
      : {};
    const newcomersBlocked = newcomersBlockedBy(this.#apply, cluster, records, platform.offers[0]);
    const missingTokenKey = missingKey(this.#apply, cluster, records);
    const { operations } = observed.state;
    const recovery = await this.#recovery.facts(
      { cluster, members, operations },
      platform.offers[0]?.address,
    );
    return {
      cluster,
      members,
      platform: {
        ...platform,
        clashes,
        ...verdict,
        ...(newcomersBlocked && { newcomersBlocked }),
        ...(missingTokenKey !== undefined && { missingTokenKey }),
        ...this.#rotations.authorities(cluster, records),
        ...recovery,
        ...(await adoptionOf(this.#apply, cluster, objects, skew.serverNow())),
        ...this.#restores.facts({ cluster, members, operations }),
        ...pointSchedules(cluster.spec, operations, (name) => this.#schedule(name)),
      },
      operations,
      ...this.#snapshots(cluster),
      auth: await this.#auth.objects(cluster, this.#credentials.commonName, records),
    };
  }

  #schedule(name: string): EtcdSnapshotScheduleSpec | undefined {
    const { stores, key } = this.#options;
    return stores.schedule(`${refOf(key).namespace}/${name}`)?.spec;
  }

  #snapshots(cluster: ClusterFacts): Pick<PlatformState, "snapshots"> {
    const { stores, key, skew, image } = this.#options;
    const { secrets } = stores.ownObjects(key);
    const secure = this.#hasCertificates(cluster);
    const found = stores.snapshotsOf(key);
    const { followers: reports, transfers } = this.#reports;
    const options = { image, skew, cluster, secrets, secure, reports, transfers };
    const snapshots = snapshotStateOf(found, options);
    return snapshots ? { snapshots } : {};
  }

  async executeSnapshot(effect: SnapshotEffect): Promise<void> {
    const { client, stores, image } = this.#options;
    const { facts } = this.#decided ?? {};
    if (!facts) throw new TypeError("nothing has been read yet");
    const secret = this.#hasCertificates(facts) ? snapshotSecretName(facts) : undefined;
    const context = { client, stores, namespace: facts.namespace, image, secret };
    await executeSnapshot({ ...context, etcdImage: imageFor(facts.spec) }, effect);
  }

  /** On the client plane, also of those that do not run with the spec yet. */
  #hasCertificates({ spec }: ClusterFacts): boolean {
    const { stores, key } = this.#options;
    const running = (stores.objectsOf(key)?.members ?? []).map(({ spec: { template } }) => template.tls);
    return [spec.tls, ...running].some((tls) => isSecure(tls, "client"));
  }

  readonly password = (secret: string) => this.#auth.password(secret);
  readonly logins = () => this.#auth.logins;
  readonly actAsRoot = () => this.#auth.actAsRoot();

  serverNow(): number {
    return Math.round(this.#options.skew.serverNow());
  }

  /** Cached objects are replaced and never changed, so that the same ones are enough. */
  isUnchanged(): boolean {
    const { stores, key, fence } = this.#options;
    const cached = fence.leads && this.#reporter.settled ? stores.objectsOf(key) : undefined;
    if (cached === undefined) return false;
    const basis = this.#basisOf(cached);
    return basis.length === this.#basis.length && basis.every((one, index) => one === this.#basis[index]);
  }

  #basisOf({ cluster, nodes = [], storageClasses = [] }: ClusterObjects): unknown[] {
    const { stores, key, skew } = this.#options;
    return [cluster, ...stores.belongings(key), ...nodes, ...storageClasses, skew.warning];
  }

  async apply(view: View): Promise<Applied> {
    return await applyObjects(this.#apply, view);
  }

  async execute(decided: ObjectAction): Promise<void> {
    const { client, stores, key } = this.#options;
    if (!this.#decided) throw new TypeError("nothing has been read yet");
    const { facts } = this.#decided;
    const records = stores.objectsOf(key)?.members ?? [];
    const action =
      decided.kind === "CreateMember"
        ? await this.#apply.peerServices.before(decided, facts, stores.ownObjects(key).services, records)
        : decided;
    const isRecovery = action.kind === "MarkCluster" && action.purpose === "recover";
    if (isRecovery || action.kind === "RescueData") await this.#checkSaidOff(facts);
    if (action.kind === "RescueData") return await this.#recovery.rescue(facts, action);
    if (action.kind === "FetchSnapshot") return await this.#restores.fetch(facts, action);
    if (action.kind === "BindVolume") return await bindVolume(client, facts, action);
    if (isRecovery) await this.#recovery.renewPeerAuthority(facts);
    if (action.kind === "RotateAuthority") return await this.#rotations.rotate(facts, action);
    if (action.kind === "ReissueCertificates") return await this.#rotations.reissue(facts, action.member);
    const object = "member" in action ? stores.member(`${facts.namespace}/${action.member}`) : undefined;
    const medium = object?.spec.template.storage.medium;
    if (object && action.kind === "DeleteVolume" && medium === "HostPath")
      return await this.#erasures.begin(facts, object);
    await executeAction(client, stores, this.#decided, action);
    if (action.kind === "DeleteMember") {
      this.#erasures.forget(object?.metadata.uid ?? "");
      this.#apply.certificates.forget(action.member);
      this.#apply.resizing.forget(action.member);
    }
  }

  async #checkSaidOff({ uid }: ClusterFacts): Promise<void> {
    const { client, stores, key } = this.#options;
    const { nodes, operations = [] } = stores.objectsOf(key) ?? {};
    if (nodes) await checkSaidOff(client, operationsFor(uid, operations));
  }

  inspect(...[members, view]: Parameters<NonNullable<Platform["inspect"]>>) {
    return Promise.resolve(this.#recovery.inspect(members, view));
  }

  async lookAtTrust(members: readonly PlatformMember[]): ReturnType<Rotations["look"]> {
    const { facts } = this.#decided ?? {};
    // At the same time, so that a member that does not answer is waited for only once.
    const asked = this.#memberClocks.ask(members);
    const trust = await this.#rotations.look(facts, members);
    await asked;
    return trust;
  }

  async report(status: EtcdClusterStatus, view: View, goesOn: boolean): Promise<void> {
    if (this.#options.fence.leads) await this.#reporter.report(status, view, goesOn);
  }

  lastStatus(): EtcdClusterStatus | undefined {
    return this.#options.stores.cluster(this.#options.key)?.status;
  }

  describe(view: View): Promise<Omit<GivenStatus, "plan" | "problems" | "failure">> {
    const given = described(this.#apply, this.#options, view);
    const warnings = [...(given.warnings ?? []), ...this.#reporter.warnings];
    return Promise.resolve({ ...given, warnings });
  }

  readonly endpoint = (record: MemberRecord) => this.#addresses.client(record);
  readonly metricsURL = (record: Pick<MemberRecord, "name">) => this.#addresses.metricsURL(record);
  readonly readyURL = (record: MemberRecord) => this.#addresses.readyURL(record);

  isOurs(peerURL: string): boolean {
    return this.#decided !== undefined && isOurPeerURL(this.#decided.facts, peerURL);
  }

  async isUnrecorded(entry: EtcdMemberEntry): Promise<boolean> {
    const { facts } = this.#decided ?? {};
    return facts !== undefined && (await this.#apply.live.isUnrecorded(facts.namespace, facts.uid, entry));
  }

  async close(): Promise<void> {
    await this.#options.reach.close();
  }

  /** By the client Service; one of a cluster that had the name before may still be there. */
  #isOpened(uid: string): boolean {
    const { stores, key } = this.#options;
    const { client } = serviceNames(refOf(key).name);
    return stores
      .ownObjects(key)
      .services.some((service) => service.metadata?.name === client && isControlledBy(service, uid));
  }
}
