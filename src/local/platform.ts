/**
 * The one-machine platform: members are child processes, volumes are directories, records are files. It
 * implements what the control loop asks of a platform, and nothing of it decides anything.
 */
import { kubernetesOnlyFields } from "../api/kubernetes-only.ts";
import { lifetimesOf } from "../api/lifetimes.ts";
import {
  Conflict,
  together,
  type Applied,
  type ObjectAction,
  type Platform,
  type PlatformMember,
  type PlatformState,
} from "../control/platform.ts";
import { certifiedUsers } from "../core/auth/certified.ts";
import type { AuthObjects } from "../core/auth/facts.ts";
import { clientURLOf } from "../core/config/flags.ts";
import type { MemberDirectory, OperationFacts } from "../core/observation.ts";
import { inOrderOfCreation, operationFacts } from "../core/operations/task.ts";
import { ordinalOf, type MemberRecord } from "../core/record.ts";
import type { GivenStatus } from "../core/status/status.ts";
import type { View } from "../core/view.ts";
import type { EtcdProbe } from "../seams/etcd-probe.ts";
import type { Endpoint, EtcdTransport } from "../seams/etcd-transport.ts";
import type { Pki } from "../seams/pki.ts";
import { TrustWatch } from "../control/trust.ts";
import { applicableSpec } from "./applicable-spec.ts";
import { LocalAuth } from "./auth.ts";
import { offers, slotIsFree, slotOf, type Offer } from "./addresses.ts";
import type { Binaries } from "./binaries.ts";
import { Certificates, planesOf, tlsPlanes, type ClientCredentials } from "./certificates.ts";
import { Configuration } from "./configuration.ts";
import { removeRest } from "./finish-deletion.ts";
import type { Layout } from "./layout.ts";
import { MissingVersions } from "./missing-versions.ts";
import { createOperation, OperationStore, type FoundOperations } from "./operation-store.ts";
import type { Fetcher } from "./fetched.ts";
import { Recovery, type Rescuer } from "./recovery.ts";
import { Restores, type Restorer } from "./restores.ts";
import type { SnapshotEffect } from "../core/snapshots/effect.ts";
import { LocalSnapshots } from "./snapshots.ts";
import type { Program } from "./snapshot-jobs.ts";
import { rotatingPlanes } from "./rotating-planes.ts";
import { Supervisor } from "./supervisor.ts";
import { Store, type StoredCluster, type StoreSeams } from "./store.ts";
import { Volumes } from "./volumes.ts";
import { Workloads, type WorkloadSeams } from "./workloads.ts";
import { specWarnings } from "./warnings.ts";

export interface LocalSeams extends StoreSeams, WorkloadSeams {
  readonly pki: Pki;
  readonly transport: EtcdTransport;
  readonly probe: EtcdProbe;
  readonly restore: Restorer;
  readonly rescuer: Rescuer;
  readonly fetch: Fetcher;
  /** Another way to etcd, with these credentials; closed by whoever asked for it. */
  readonly connect?: (credentials: ClientCredentials) => EtcdTransport;
  /** The environment that etcd processes inherit. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The program as the user called it, for hints. */
  readonly command?: string;
  /** How it is started once more, to take snapshots; without it none are taken. */
  readonly program?: Program;
}

export interface LocalPlatformOptions {
  readonly layout: Layout;
  readonly seams: LocalSeams;
  readonly binaries: Binaries;
  /** Another controller has taken over: nothing may be changed. */
  readonly isFenced: () => Promise<boolean>;
  /** A process ended: look again. */
  readonly onEvent: () => void;
  /** The controller's certificate is there, or was renewed. */
  readonly onCredentials: (credentials: ClientCredentials) => void;
}

/** Free ports are asked for anew after this long; a newcomer's start looks once more anyway. */
const PORTS_FRESH_MS = 2_000;

export class LocalPlatform implements Platform {
  readonly transport: EtcdTransport;
  readonly probe: EtcdProbe;
  readonly store: Store;
  readonly operations: OperationStore;
  readonly auth: LocalAuth;
  readonly snapshots: LocalSnapshots;
  readonly volumes: Volumes;
  readonly workloads: Workloads;
  readonly certificates: Certificates;
  readonly restores: Restores;
  readonly recovery: Recovery;
  readonly #options: LocalPlatformOptions;
  readonly #configuration: Configuration;
  readonly #supervisor: Supervisor;
  readonly #trust: TrustWatch;
  readonly #freeSlots = new Map<number, { free: boolean; at: number }>();
  #basePort = 0;
  readonly #versions: MissingVersions;
  #hasCredentials = false;
  #tidied = false;
  #damagedOperations: FoundOperations["damaged"] = [];

  constructor(options: LocalPlatformOptions) {
    const { layout, seams } = options;
    this.#options = options;
    this.transport = seams.transport;
    this.probe = seams.probe;
    this.store = new Store(layout, seams);
    this.operations = new OperationStore(layout, seams);
    this.auth = new LocalAuth(layout, seams);
    this.snapshots = new LocalSnapshots(layout, seams, options.onEvent);
    this.#versions = new MissingVersions(options.binaries);
    this.volumes = new Volumes(layout, seams.disk, seams.random);
    this.workloads = new Workloads(layout, seams, seams.env, options.onEvent);
    this.certificates = new Certificates(layout, seams.disk, seams.clock, seams.pki);
    this.#configuration = new Configuration(layout, seams.disk, this.certificates);
    this.recovery = new Recovery(layout, seams, seams.rescuer, options.onEvent);
    this.#trust = new TrustWatch(seams);
    this.restores = new Restores(seams.restore, options.onEvent);
    const { workloads, volumes, restores } = this;
    const configuration = this.#configuration;
    this.#supervisor = new Supervisor({ ...seams, ...options, workloads, volumes, restores, configuration });
  }

  /** Finds what an earlier controller left: processes and credentials. */
  async load(): Promise<void> {
    const cluster = await this.store.cluster();
    this.#basePort = cluster?.basePort ?? 0;
    await this.workloads.load((await this.store.members()).map(({ record }) => record.name));
    await this.#offerCredentials();
  }

  async read(): Promise<PlatformState | undefined> {
    const [cluster, stored, found] = await Promise.all([
      this.store.cluster(),
      this.store.members(),
      this.operations.list(),
    ]);
    if (cluster === undefined) return undefined;
    this.#basePort = cluster.basePort;
    const records = stored.map(({ record }) => record);
    const [volumes, highestVolume, clashes, fenced] = await Promise.all([
      Promise.all(records.map(({ name }) => this.volumes.facts(name))),
      this.volumes.highestOrdinal(cluster.name),
      this.volumes.clashes(records, cluster.uid),
      this.#options.isFenced(),
    ]);
    const leftovers = this.workloads.names().map((name) => ordinalOf(cluster.name, name) ?? 0);
    const highestLeftover = Math.max(highestVolume, ...leftovers);
    const { name, uid, generation, deleting, approved, spec, marks } = cluster;
    const operations = this.#operationsOf(cluster.name, found);
    const isSecure = planesOf(applicableSpec(spec).tls, records).includes("client");
    const files = isSecure ? this.certificates.controllerFiles() : undefined;
    const snapshots = await this.snapshots.read(name, files);
    return {
      cluster: {
        name,
        namespace: "local",
        uid,
        generation,
        deleting,
        ...(approved !== undefined && { approved }),
        spec: applicableSpec(spec),
        marks,
      },
      members: stored.map((member, index) => ({
        ...member,
        volume: volumes[index] ?? { state: "absent" },
        workload: this.workloads.facts(member.record.name),
      })),
      platform: {
        fenced,
        machine: { command: this.#options.seams.command ?? "quorate", dir: this.#options.layout.dir },
        offers: await this.#offers(cluster, records, highestLeftover),
        highestLeftover,
        ...this.#versions.missing(cluster, records),
        ...(await this.recovery.facts(operations)),
        clashes: clashes.map((object) => ({ object, concerns: "cluster" as const })),
        authorities: await this.certificates.authorities.facts(
          planesOf(applicableSpec(spec).tls, records),
          lifetimesOf(spec.tls).leafMs,
        ),
      },
      operations,
      ...(snapshots && { snapshots }),
      auth: await this.#auth(cluster, records),
    };
  }

  async #auth(cluster: StoredCluster, records: readonly MemberRecord[]): Promise<AuthObjects> {
    const objects = await this.auth.read(cluster, records, this.#options.seams.connect !== undefined);
    return { ...objects, certificates: await this.certificates.userFacts(objects.users) };
  }

  async #offers(
    cluster: StoredCluster,
    records: readonly MemberRecord[],
    leftover: number,
  ): Promise<Offer[]> {
    const highestOrdinal = Math.max(leftover, cluster.marks.highestOrdinal, ...records.map((r) => r.ordinal));
    const { name, basePort, spec } = cluster;
    const input = { cluster: name, basePort, tls: tlsPlanes(spec.tls), records, highestOrdinal };
    return await offers(input, (slot) => this.#isFree(slot));
  }

  async #isFree(slot: number): Promise<boolean> {
    const now = this.#options.seams.clock.monotonic();
    const known = this.#freeSlots.get(slot);
    if (known && now - known.at < PORTS_FRESH_MS) return known.free;
    const free = await slotIsFree(this.#options.seams.ports, this.#basePort, slot);
    this.#freeSlots.set(slot, { free, at: now });
    return free;
  }

  /** A file that cannot be understood is told of, and keeps nothing else from going on. */
  #operationsOf(cluster: string, { operations, damaged }: FoundOperations): OperationFacts[] {
    this.#damagedOperations = damaged;
    return inOrderOfCreation(
      operations.filter(({ spec }) => spec.cluster === cluster).map((operation) => operationFacts(operation)),
    );
  }

  async apply(view: View): Promise<Applied> {
    const { cluster } = view.observation;
    const records = view.members.map((member) => member.record);
    const users = certifiedUsers(view);
    const certificates = await this.certificates.ensure(cluster.name, records, cluster.spec.tls, users);
    if (certificates.changed || !this.#hasCredentials) await this.#offerCredentials();
    let changed = await this.auth.ensure(cluster);
    await this.auth.ensureTokenKeys({ spec: view.spec, marks: cluster.marks }, records);
    for (const record of records) changed = (await this.volumes.ensure(record, cluster.uid)) || changed;
    await this.#collect(records);
    if (!this.#tidied) await this.volumes.finishDeletions();
    this.#tidied = true;
    const running = view.members.filter(({ workload }) => workload.state === "running");
    for (const { record } of running) await this.#configuration.write(record, view.established);
    // What ran before is kept running by `keepRunning`.
    const others = view.members.filter(
      ({ workload: { state } }) => state !== "running" && state !== "exited",
    );
    const started = await this.#supervisor.start(view, others);
    return together(
      certificates,
      { changed, problems: [...this.#damagedOperations, ...this.auth.damaged, ...this.snapshots.damaged] },
      started,
    );
  }

  async #offerCredentials(): Promise<void> {
    const credentials = await this.certificates.controllerCredentials();
    if (!credentials) return;
    this.#hasCredentials = true;
    this.#options.onCredentials(credentials);
  }

  /** Processes whose record is gone: nothing stands for them any more. */
  async #collect(records: readonly MemberRecord[]): Promise<void> {
    for (const name of this.workloads.names()) {
      if (!records.some((record) => record.name === name)) await this.workloads.stop(name);
    }
  }

  async keepRunning(view: View): Promise<Applied> {
    return await this.#supervisor.keepRunning(view);
  }

  async inspect(members: readonly PlatformMember[]): Promise<Readonly<Record<string, MemberDirectory>>> {
    return await this.recovery.inspect(members);
  }

  async execute(action: ObjectAction): Promise<void> {
    this.recovery.forget();
    switch (action.kind) {
      case "CreateMember":
        return await this.store.createMember(action.record);
      case "UpdateMember":
        return await this.store.updateMember(action.member, action.resourceVersion, action.change);
      case "DeleteMember":
        await this.workloads.stop(action.member);
        await this.#configuration.remove(action.member);
        await this.certificates.remove(action.member);
        this.#supervisor.forget(action.member);
        return await this.store.removeMember(action.member);
      case "MarkCluster": {
        const cluster = await this.store.cluster();
        if (!cluster) throw new Conflict("the cluster no longer exists");
        // From the latch on writes count, and whoever has a log by now may have acknowledged one (H2, H3).
        const using = action.purpose === "establish" ? await this.store.members() : [];
        for (const { record } of using) await this.volumes.noteUse(record);
        // Nobody runs: with another authority, no former member that returns is let in by its peers.
        if (action.purpose === "recover") await this.certificates.renewAuthority("peer");
        await this.store.updateCluster({ marks: { ...cluster.marks, ...action.change } });
        return;
      }
      case "StopWorkload":
        return await this.workloads.stop(action.member);
      case "DeleteVolume":
        return await this.volumes.delete(action.member, action.volumeUID);
      case "RescueData":
      case "FetchSnapshot":
      case "BindVolume":
        return await this.recovery.execute(action);
      case "FinishDeletion":
        return await this.#finishDeletion();
      case "RotateAuthority": {
        const cluster = await this.store.cluster();
        if (!cluster) throw new Conflict("the cluster no longer exists");
        // Nobody else gives certificates here.
        const { successor: _given, ...step } = action;
        return await this.certificates.authorities.advance({
          ...step,
          cluster: cluster.name,
          now: this.#options.seams.clock.now(),
          lifeMs: lifetimesOf(cluster.spec.tls).caMs,
        });
      }
      case "ReissueCertificates":
        return await this.#reissue(action.member);
      case "CreateOperation":
        return await createOperation(this.operations, await this.store.cluster(), action);
      case "UpdateOperation":
        return await this.operations.report(action.operation, action.resourceVersion, action.status);
      case "DeleteOperation":
        await this.operations.remove(action.operation, action.uid);
        return;
      case "UpdateAuthObject":
        // It is gone from etcd: what it logged in with goes before it is forgotten.
        if (action.of === "EtcdUser" && "applied" in action.change && !action.change.applied)
          await this.certificates.removeUser(action.name);
        return await this.auth.update(action);
    }
  }

  async #reissue(member: string | undefined): Promise<void> {
    const [cluster, members] = await Promise.all([this.store.cluster(), this.store.members()]);
    const record = members.find(({ record: { name } }) => name === member)?.record;
    if (!cluster || (member !== undefined && !record)) throw new Conflict("the member no longer exists");
    const users = record ? [] : (await this.auth.certified()).filter(({ applied }) => applied);
    await this.certificates.reissue(
      record,
      cluster.spec.tls,
      members.map((member) => member.record),
      cluster.name,
      users,
    );
    if (record === undefined) await this.#offerCredentials();
  }

  async lookAtTrust(members: readonly PlatformMember[]): ReturnType<TrustWatch["see"]> {
    const planes = await rotatingPlanes(this.certificates.authorities, this.#options.seams.pki);
    return await this.#trust.see(members, planes);
  }

  async #finishDeletion(): Promise<void> {
    const { layout, seams } = this.#options;
    const generated = await this.auth.generated((await this.store.cluster())?.name ?? "");
    await removeRest(seams.disk, layout, generated);
    await this.store.removeCluster();
  }

  async describe(view: View): Promise<GivenStatus> {
    const records = view.members.map((member) => member.record);
    // Of what was asked for: the view holds only what applies here.
    const asked = (await this.store.cluster())?.spec ?? view.spec;
    const notApplicable = kubernetesOnlyFields({ spec: asked }).map(({ path }) => path);
    return {
      certificates: await this.certificates.describe(records),
      ...(notApplicable.length > 0 && { notApplicable }),
      warnings: specWarnings(asked),
      ...(planesOf(view.spec.tls, records).includes("client") && { clientSecret: this.#options.layout.pki }),
    };
  }

  /** Whoever wants it asks the controller; nothing is kept of it (a status is needed by nobody to go on). */
  async report(): Promise<void> {}

  endpoint(record: MemberRecord): Endpoint {
    return { name: record.name, url: clientURLOf(record) };
  }

  metricsURL({ address }: MemberRecord): string {
    return address.metricsURL;
  }

  readonly password = (secret: string) => this.auth.password(secret);
  readonly logins = () => this.auth.logins;
  readonly executeSnapshot = (effect: SnapshotEffect) => this.snapshots.execute(effect);

  async actAsRoot(): Promise<EtcdTransport | undefined> {
    const credentials = await this.certificates.credentialsFor("root");
    return credentials && this.#options.seams.connect?.(credentials);
  }

  isOurs(peerURL: string): boolean {
    return slotOf(this.#basePort, peerURL) !== undefined;
  }
}
