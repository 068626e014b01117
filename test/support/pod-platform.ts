/**
 * The control loop's platform over Pods, as small as it can be: for tests that drive real Pods by decide().
 * Plain text only, and no Service but the headless one; the operator's own platform does the rest.
 */
import type { Container, PersistentVolumeClaim, Pod, PodSpec } from "kubernetes-types/core/v1.d.ts";
import type { EtcdClusterStatus } from "../../src/api/etcd-cluster-status.ts";
import type { EtcdMember } from "../../src/api/etcd-member.ts";
import { API_VERSION } from "../../src/api/metadata.ts";
import {
  Conflict,
  type Applied,
  type ObjectAction,
  type Platform,
  type PlatformState,
} from "../../src/control/platform.ts";
import { etcdConfig } from "../../src/core/config/flags.ts";
import type { MemberRecord } from "../../src/core/record.ts";
import { startHash } from "../../src/core/template/template.ts";
import type { MemberView, View } from "../../src/core/view.ts";
import { GrpcTransport } from "../../src/etcd/grpc/transport.ts";
import { HttpProbe } from "../../src/etcd/probe.ts";
import { marksToAnnotations } from "../../src/operator/records/marks.ts";
import { changedMember, newMember } from "../../src/operator/records/member-object.ts";
import { ANNOTATIONS, claimName, isOurPeerURL, LABELS, serviceNames } from "../../src/operator/names.ts";
import { observeObjects, type ClusterObjects } from "../../src/operator/observe/observe-objects.ts";
import type { Clock } from "../../src/seams/clock.ts";
import type { Endpoint } from "../../src/seams/etcd-transport.ts";
import { isCode, type Client, type KubeObject } from "../../testbed/client.ts";
import { PATHS } from "./kube-paths.ts";

export class PodPlatform implements Platform {
  readonly transport: GrpcTransport;
  readonly probe = new HttpProbe();
  readonly #client: Client;
  readonly #clock: Clock;
  readonly #name: string;
  #objects: ClusterObjects | undefined;
  #state: PlatformState | undefined;

  constructor(client: Client, clock: Clock, name: string) {
    this.#client = client;
    this.#clock = clock;
    this.#name = name;
    this.transport = new GrpcTransport({ clock });
  }

  /** Everything that an observation is made from, as the API server has it. */
  /** The objects of the newest observation. */
  get seen(): ClusterObjects {
    if (!this.#objects) throw new Error("nothing was observed yet");
    return this.#objects;
  }

  async objects(): Promise<ClusterObjects> {
    const list = async <T>(path: string) => (await this.#client.get<{ items: T[] }>(path)).items;
    const selector = `?labelSelector=${encodeURIComponent(`${LABELS.cluster}=${this.#name}`)}`;
    const [cluster, members, pods, claims, nodes, storageClasses] = await Promise.all([
      this.#client.get<ClusterObjects["cluster"]>(`${PATHS.clusters}/${this.#name}`),
      list<EtcdMember>(PATHS.members + selector),
      list<Pod>(PATHS.pods + selector),
      list<PersistentVolumeClaim>(PATHS.claims + selector),
      list<NonNullable<ClusterObjects["nodes"]>[number]>("/api/v1/nodes"),
      list<NonNullable<ClusterObjects["storageClasses"]>[number]>("/apis/storage.k8s.io/v1/storageclasses"),
    ]);
    return { cluster, members, pods, claims, nodes, storageClasses };
  }

  async read(): Promise<PlatformState> {
    const objects = await this.objects();
    const observed = observeObjects(objects, {
      now: this.#clock.now(),
      fenced: false,
      dialled: "Pod",
    });
    if (!observed.ok) throw new Error(JSON.stringify(observed.errors));
    [this.#objects, this.#state] = [objects, observed.state];
    return observed.state;
  }

  async apply(view: View): Promise<Applied> {
    let changed = await this.#ensure(PATHS.services, headlessService(this.#name));
    for (const member of view.members) {
      if (member.record.leaving || member.deleting) continue;
      changed = (await this.#applyMember(view, member)) || changed;
    }
    return { changed, problems: [] };
  }

  async #applyMember(view: View, { record, volume, workload }: MemberView): Promise<boolean> {
    const { uid } = view.observation.cluster;
    const config = configMap(record, this.#name, uid, view.established);
    let changed = await this.#ensure(PATHS.configMaps, config, true);
    const { medium } = record.template.storage;
    const permitted = volume.state === "ready" && volume.uid === record.volumeUID;
    if (medium === "Memory" && record.volumeUID === undefined && workload.state === "absent") {
      return await this.#ensure(PATHS.pods, memberPod(record, this.#name, uid, { gated: true }));
    }
    if (medium === "Memory" && permitted && workload.state === "waiting" && this.#isGated(record.name)) {
      await this.#client.patch(`${PATHS.pods}/${record.name}`, { spec: { schedulingGates: null } });
      return true;
    }
    if (medium === "Persistent" && record.volumeUID === undefined)
      changed = (await this.#ensure(PATHS.claims, memberClaim(record, this.#name, uid))) || changed;
    if (medium === "Persistent" && permitted && record.run && workload.state === "absent")
      changed = (await this.#ensure(PATHS.pods, memberPod(record, this.#name, uid))) || changed;
    return changed;
  }

  #isGated(name: string): boolean {
    const pod = this.#objects?.pods.find(({ metadata }) => metadata?.name === name);
    return (pod?.spec?.schedulingGates?.length ?? 0) > 0;
  }

  /** Made if absent; `rewrite` also brings one that exists up to date. */
  async #ensure(path: string, object: KubeObject, rewrite = false): Promise<boolean> {
    const at = `${path}/${object.metadata?.name}`;
    try {
      const before = await this.#client.get<KubeObject>(at);
      if (!rewrite) return false;
      const after = await this.#client.apply<KubeObject>(at, object);
      return after.metadata?.resourceVersion !== before.metadata?.resourceVersion;
    } catch (error) {
      if (!isCode(error, 404)) throw error;
      await (rewrite ? this.#client.apply(at, object) : this.#client.create(path, object));
      return true;
    }
  }

  async execute(action: ObjectAction): Promise<void> {
    const [objects, cluster] = [this.#objects, this.#state?.cluster];
    if (!objects || !cluster) throw new Error("nothing has been read yet");
    const member = (name: string) => {
      const found = objects.members.find(({ metadata }) => metadata.name === name);
      if (!found) throw new Conflict(`EtcdMember ${name} no longer exists`);
      return found;
    };
    switch (action.kind) {
      case "CreateMember":
        await this.#client.create(PATHS.members, newMember(cluster, action.record));
        return;
      case "UpdateMember": {
        const { resourceVersion, change } = action;
        const after = changedMember(member(action.member), cluster, resourceVersion, change);
        await this.#replace(`${PATHS.members}/${action.member}`, after);
        return;
      }
      case "MarkCluster": {
        const annotations = marksToAnnotations(action.change);
        await this.#client.patch(`${PATHS.clusters}/${this.#name}`, { metadata: { annotations } });
        return;
      }
      case "StopWorkload":
        return await this.#client.delete(`${PATHS.pods}/${action.member}`);
      case "DeleteVolume":
        return await this.#client.delete(`${PATHS.claims}/${claimName(action.member)}`, {
          preconditions: { uid: action.volumeUID },
        });
      case "DeleteMember":
        await this.#client.patch(`${PATHS.members}/${action.member}`, { metadata: { finalizers: null } });
        return await this.#client.delete(`${PATHS.members}/${action.member}`);
      case "RescueData":
      case "FetchSnapshot":
      case "BindVolume":
      case "FinishDeletion":
        throw new Error("this platform deletes no clusters");
      case "RotateAuthority":
      case "ReissueCertificates":
        throw new Error("this platform rotates no certificates");
      case "CreateOperation":
      case "UpdateOperation":
      case "DeleteOperation":
      case "UpdateAuthObject":
        throw new Error("this platform has neither operations nor users");
    }
  }

  async #replace(path: string, object: object): Promise<void> {
    try {
      await this.#client.replace(path, object);
    } catch (error) {
      throw isCode(error, 409) ? new Conflict((error as Error).message) : error;
    }
  }

  async describe(): Promise<{ nodes: Record<string, string> }> {
    const placed = this.#objects?.pods.map(({ metadata, spec }) => [metadata?.name, spec?.nodeName]) ?? [];
    return { nodes: Object.fromEntries(placed) as Record<string, string> };
  }

  /** Strictly: a status that the resource definition does not know in full is an error. */
  async report(status: EtcdClusterStatus): Promise<void> {
    const path = `${PATHS.clusters}/${this.#name}/status?fieldValidation=Strict`;
    await this.#client.patch(path, { status });
  }

  endpoint({ name }: MemberRecord): Endpoint {
    return { name, url: `http://${this.#addressOf(name)}:2379` };
  }

  metricsURL({ name }: MemberRecord): string {
    return `http://${this.#addressOf(name)}:2381`;
  }

  #addressOf(member: string): string {
    const pod = this.#objects?.pods.find(({ metadata }) => metadata?.name === member);
    return pod?.status?.podIP ?? "127.0.0.1";
  }

  isOurs(peerURL: string): boolean {
    return this.#state !== undefined && isOurPeerURL(this.#state.cluster, peerURL);
  }

  async close(): Promise<void> {
    this.probe.close();
    await this.transport.close();
  }
}

function labels(cluster: string, uid: string): Record<string, string> {
  return { [LABELS.cluster]: cluster, [LABELS.clusterUID]: uid };
}

function headlessService(cluster: string): KubeObject & { spec: object } {
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name: serviceNames(cluster).peers },
    spec: { clusterIP: "None", publishNotReadyAddresses: true, selector: { [LABELS.cluster]: cluster } },
  };
}

function configMap(record: MemberRecord, cluster: string, uid: string, established: boolean) {
  const config = etcdConfig(record, { established, paths: { dataDir: "/var/lib/etcd/data" } });
  return {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: record.name, labels: labels(cluster, uid) },
    data: { "etcd.json": JSON.stringify(config) },
  };
}

function memberClaim({ name, template }: MemberRecord, cluster: string, uid: string) {
  return {
    apiVersion: "v1" as const,
    kind: "PersistentVolumeClaim" as const,
    metadata: { name: claimName(name), labels: labels(cluster, uid) },
    spec: {
      accessModes: ["ReadWriteOnce"],
      resources: { requests: { storage: String(template.storage.size) } },
      ...(template.storage.className !== undefined && { storageClassName: template.storage.className }),
    },
  };
}

export interface PodChange {
  readonly gated?: boolean;
  readonly tag?: string;
  readonly spec?: Partial<PodSpec>;
}

/** The Pod of a record; `change` breaks it on purpose. */
export function memberPod(record: MemberRecord, cluster: string, uid: string, change: PodChange = {}): Pod {
  const { name, template } = record;
  const container: Container = {
    name: "etcd",
    image: `${template.image.repository}:${change.tag ?? `v${template.version}`}`,
    command: ["etcd"],
    args: ["--config-file=/etc/etcd/etcd.json"],
    terminationMessagePolicy: "FallbackToLogsOnError",
    ports: [
      { name: "client", containerPort: 2379 },
      { name: "peer", containerPort: 2380 },
      { name: "metrics", containerPort: 2381 },
    ],
    readinessProbe: { httpGet: { path: "/readyz", port: "metrics" }, periodSeconds: 1 },
    volumeMounts: [
      { name: "data", mountPath: "/var/lib/etcd" },
      { name: "config", mountPath: "/etc/etcd" },
    ],
  };
  const data =
    template.storage.medium === "Memory"
      ? { emptyDir: { medium: "Memory" } }
      : { persistentVolumeClaim: { claimName: claimName(name) } };
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name,
      labels: { ...labels(cluster, uid), [LABELS.member]: name },
      annotations: { [ANNOTATIONS.startedFrom]: startHash(record) },
      ownerReferences: [
        { apiVersion: API_VERSION, kind: "EtcdMember", name, uid: record.uid, controller: true },
      ],
    },
    spec: {
      hostname: name,
      subdomain: serviceNames(cluster).peers,
      terminationGracePeriodSeconds: 2,
      enableServiceLinks: false,
      automountServiceAccountToken: false,
      affinity: { podAntiAffinity: apart(cluster) },
      containers: [container],
      volumes: [
        { name: "data", ...data },
        { name: "config", configMap: { name } },
      ],
      ...(change.gated && { schedulingGates: [{ name: "etcd.quorate.dev/permit" }] }),
      ...change.spec,
    },
  };
}

/** Rather on different nodes: a lost one then takes one member. */
function apart(cluster: string) {
  const podAffinityTerm = {
    labelSelector: { matchLabels: { [LABELS.cluster]: cluster } },
    topologyKey: "kubernetes.io/hostname",
  };
  return { preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 100, podAffinityTerm }] };
}
