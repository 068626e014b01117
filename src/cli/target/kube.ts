/** Clusters of a Kubernetes API server, with the rights of the caller's kubeconfig. */
import type { EtcdMember } from "../../api/etcd-member.ts";
import { API_VERSION, GROUP } from "../../api/metadata.ts";
import type { Explanation } from "../../core/status/why.ts";
import { KubeClient } from "../../kube/client.ts";
import { loadConfig } from "../../kube/config.ts";
import { isReason } from "../../kube/errors.ts";
import { apiVersionOf, events, resource, type KubeObject, type Resource } from "../../kube/resources.ts";
import type { Scope } from "../../kube/scope.ts";
import { Http2Transport } from "../../kube/transport.ts";
import { LABELS } from "../../operator/names.ts";
import { etcdClusters, etcdMembers, etcdSnapshots, etcdSnapshotSchedules } from "../../operator/resources.ts";
import { systemDisk } from "../../seams/disk.ts";
import { systemRandom } from "../../seams/random.ts";
import { commandOf } from "../called.ts";
import type { CliIo } from "../io.ts";
import { explanationOf } from "../screen/explain.ts";
import { checkUnchanged } from "./changed.ts";
import { noCluster, noSuch } from "./choose.ts";
import { eventsAbout } from "./kube-events.ts";
import { explained, notInstalled, type Attempt } from "./kube-errors.ts";
import { KubeFollowing } from "./kube-follow.ts";
import { containersOf, podLogs } from "./kube-logs.ts";
import { deployments, operatorOf } from "./kube-version.ts";
import type { TargetValues } from "./values.ts";
import type {
  Applied,
  ClusterEvent,
  ClusterObject,
  ClusterPatch,
  Following,
  LogLine,
  LogWishes,
  OperationObject,
  OperatorVersion,
  PlannedChange,
  PlanOf,
  Target,
} from "./target.ts";

const etcdOperations = resource<OperationObject>(API_VERSION, "EtcdOperation", "etcdoperations");

/** Our own name in `managedFields`: what a person changed with this command. */
const FIELD_MANAGER = "kubectl-etcd";
const TIMEOUT_MS = 15_000;

export async function openKube(values: TargetValues, io: CliIo): Promise<KubeTarget> {
  const { kubeconfig: file, context } = values;
  const wishes = { ...(file !== undefined && { file }), ...(context !== undefined && { context }) };
  const config = await loadConfig(systemDisk, io.env, wishes).catch((error: unknown) => {
    throw explained(error, { verb: "get", resource: "", namespace: undefined, server: "" });
  });
  const transport = new Http2Transport({
    config,
    clock: io.clock,
    disk: systemDisk,
    userAgent: "kubectl-etcd",
  });
  // Behind a plugin a person may have to log in, which takes longer than any call.
  await transport.login().catch((error: unknown) => {
    throw explained(error, { verb: "get", resource: "", namespace: undefined, server: config.server });
  });
  const client = new KubeClient({
    transport,
    clock: io.clock,
    fieldManager: FIELD_MANAGER,
    timeoutMs: TIMEOUT_MS,
  });
  const namespace = values["all-namespaces"]
    ? undefined
    : (values.namespace ?? config.namespace ?? "default");
  return new KubeTarget({ client, transport, server: config.server, namespace, flags: flagsOf(values), io });
}

/** The flags of the target as they were given, to be repeated in hints. */
function flagsOf({ namespace, context, kubeconfig }: TargetValues): string {
  return [
    namespace === undefined ? "" : ` -n ${namespace}`,
    context === undefined ? "" : ` --context ${context}`,
    kubeconfig === undefined ? "" : ` --kubeconfig ${kubeconfig}`,
  ].join("");
}

export interface KubeTargetOptions {
  readonly client: KubeClient;
  readonly transport: Http2Transport;
  readonly server: string;
  readonly namespace: string | undefined;
  readonly flags: string;
  readonly io: CliIo;
}

export class KubeTarget implements Target {
  readonly kind = "kubernetes";
  readonly command: string;
  readonly where: string;
  readonly namespace: string | undefined;
  readonly flags: string;
  /** For verbs that need more than this interface, such as a port-forward. */
  readonly client: KubeClient;
  readonly transport: Http2Transport;
  readonly server: string;
  readonly #io: CliIo;
  #following: KubeFollowing | undefined;

  constructor({ client, transport, server, namespace, flags, io }: KubeTargetOptions) {
    this.client = client;
    this.transport = transport;
    this.server = server;
    this.namespace = namespace;
    this.flags = flags;
    this.#io = io;
    this.command = commandOf(io);
    this.where = namespace === undefined ? "in any namespace" : `in namespace ${namespace}`;
  }

  async clusters(): Promise<readonly ClusterObject[]> {
    return await this.#list(etcdClusters, scopeOf(this.namespace));
  }

  async cluster(name: string): Promise<ClusterObject> {
    if (this.namespace === undefined) return await this.#clusterAnywhere(name);
    const ref = { namespace: this.namespace, name };
    try {
      if (!this.#following) return await this.client.get(etcdClusters, ref, this.#call());
    } catch (error) {
      if (!isReason(error, "NotFound")) throw this.#explained(error, "get", etcdClusters, this.namespace);
    }
    const [found] = this.#following ? await this.#list(etcdClusters, ref) : [];
    if (found) return found;
    const all = await this.clusters();
    if (all.length === 0) throw noCluster(this);
    throw noSuch(
      "cluster",
      name,
      all.map(({ metadata }) => metadata.name),
      this.where,
    );
  }

  async #clusterAnywhere(name: string): Promise<ClusterObject> {
    const all = await this.clusters();
    const found = all.filter(({ metadata }) => metadata.name === name);
    const [one] = found;
    if (one !== undefined && found.length === 1) return one;
    const names = (found.length > 1 ? found : all).map(({ metadata }) => metadata.name);
    if (names.length === 0) throw noCluster(this);
    throw noSuch("cluster", name, names, this.where);
  }

  async members(cluster: ClusterObject): Promise<readonly EtcdMember[]> {
    const { name, namespace, uid } = cluster.metadata;
    const labels = { [LABELS.cluster]: name };
    const found = await this.#list(etcdMembers, { ...scopeOf(namespace), labels });
    return found
      .filter(({ metadata }) => metadata.labels?.[LABELS.clusterUID] === uid)
      .toSorted((a, b) => a.spec.ordinal - b.spec.ordinal);
  }

  async events(cluster?: ClusterObject): Promise<readonly ClusterEvent[]> {
    const namespace = cluster ? cluster.metadata.namespace : this.namespace;
    try {
      return eventsAbout(await this.#items(events, scopeOf(namespace)), cluster?.metadata.name);
    } catch (error) {
      throw explained(error, this.#attempt(this.#listVerb, "events.events.k8s.io", namespace));
    }
  }

  /** The status may be older than the spec. */
  async remarks({ metadata, status }: ClusterObject): Promise<readonly string[]> {
    const seen = status?.observedGeneration ?? -1;
    const behind = metadata.generation !== undefined && seen < metadata.generation;
    return await Promise.resolve(
      behind
        ? [
            seen < 0
              ? "No operator has reported on this cluster yet. Check that one is running: kubectl get pods -A -l app.kubernetes.io/name=quorate"
              : `The status is about generation ${seen} of the spec; generation ${metadata.generation} has not been observed yet.`,
          ]
        : [],
    );
  }

  async why(cluster: ClusterObject): Promise<Explanation> {
    return await Promise.resolve(explanationOf(cluster.status));
  }

  async plan(cluster: ClusterObject | undefined, change?: PlannedChange): Promise<PlanOf> {
    const { kubePlan } = await import("./kube-plan.ts");
    const members = cluster ? await this.members(cluster) : [];
    return kubePlan(cluster, members, change, this.#io.clock.now());
  }

  logs(cluster: ClusterObject, wishes: LogWishes, signal: AbortSignal): AsyncIterable<LogLine> {
    const { namespace = "default" } = cluster.metadata;
    const explain = (error: unknown) => explained(error, this.#attempt("get", "pods/log", namespace));
    const containerOf = containersOf(this.client, namespace);
    const { clock } = this.#io;
    return podLogs({ transport: this.transport, namespace, clock, containerOf, explain }, wishes, signal);
  }

  /** As its Deployment says. Who may not read that learns nothing, which is no failure. */
  async operatorVersion(): Promise<OperatorVersion | undefined> {
    const labels = { "app.kubernetes.io/name": "quorate" };
    try {
      const { items } = await this.client.list(deployments, { labels }, this.#call());
      return operatorOf(items);
    } catch {
      return undefined;
    }
  }

  async operations(cluster?: ClusterObject): Promise<readonly OperationObject[]> {
    const namespace = cluster ? cluster.metadata.namespace : this.namespace;
    try {
      const found = await this.#items(etcdOperations, scopeOf(namespace));
      return found
        .filter(({ spec }) => cluster === undefined || spec.cluster === cluster.metadata.name)
        .toSorted((a, b) => createdAt(a).localeCompare(createdAt(b)));
    } catch (error) {
      // An operator from before this resource: there are none.
      if (isReason(error, "NotFound")) return [];
      throw this.#explained(error, this.#listVerb, etcdOperations, namespace);
    }
  }

  async createOperation(operation: OperationObject): Promise<OperationObject> {
    const namespace = operation.metadata?.namespace ?? this.namespace;
    try {
      const metadata = { ...operation.metadata, ...(namespace !== undefined && { namespace }) };
      return await this.client.create(etcdOperations, { ...operation, metadata }, this.#call());
    } catch (error) {
      if (isReason(error, "NotFound")) throw notInstalled(this.server, nameOf(etcdOperations));
      throw this.#explained(error, "create", etcdOperations, namespace);
    }
  }

  readonly snapshot = (name: string, cluster: ClusterObject) => this.#beside(etcdSnapshots, name, cluster);
  readonly schedule = (name: string, cluster: ClusterObject) =>
    this.#beside(etcdSnapshotSchedules, name, cluster);

  async #beside<T extends KubeObject>(
    resource: Resource<T>,
    name: string,
    { metadata: { namespace = "" } }: ClusterObject,
  ): Promise<T | undefined> {
    try {
      return await this.client.get(resource, { name, namespace }, this.#call());
    } catch (error) {
      if (isReason(error, "NotFound")) return undefined;
      throw this.#explained(error, "get", resource, namespace);
    }
  }

  async deleteOperation(operation: OperationObject): Promise<void> {
    await this.#delete(etcdOperations, operation);
  }

  async patchCluster(cluster: ClusterObject, { spec, annotations }: ClusterPatch): Promise<ClusterObject> {
    const patch = { ...(spec && { spec }), ...(annotations && { metadata: { annotations } }) };
    return await this.#patch(etcdClusters, cluster, patch);
  }

  async patchMember(
    member: EtcdMember,
    { annotations }: Pick<ClusterPatch, "annotations">,
  ): Promise<EtcdMember> {
    return await this.#patch(etcdMembers, member, { ...(annotations && { metadata: { annotations } }) });
  }

  async deleteMember(member: EtcdMember): Promise<void> {
    await this.#delete(etcdMembers, member);
  }

  /** A merge patch of the whole spec would keep fields that the manifest no longer has: they are replaced. */
  async applyCluster(manifest: unknown, seen: ClusterObject | undefined): Promise<Applied> {
    const { parseCluster } = await import("../../api/parse-cluster.ts");
    const { InvalidInput } = await import("../../local/change.ts");
    const parsed = parseCluster(manifest);
    if (!parsed.ok) throw new InvalidInput(parsed.errors);
    const given = manifest as ClusterObject;
    const namespace = given.metadata.namespace ?? this.namespace ?? "default";
    const ref = { namespace, name: given.metadata.name };
    let verb: Attempt["verb"] = "get";
    try {
      const present = await this.client.find(etcdClusters, ref, this.#call());
      checkUnchanged(present, seen);
      verb = present === undefined ? "create" : "update";
      const object = { ...given, metadata: { ...given.metadata, namespace } };
      if (present === undefined)
        return {
          cluster: await this.client.create(etcdClusters, object, this.#call()),
          done: "created",
          warnings: [],
        };
      const metadata = {
        ...present.metadata,
        labels: { ...present.metadata.labels, ...given.metadata.labels },
        annotations: { ...present.metadata.annotations, ...given.metadata.annotations },
      };
      const after = await this.client.replace(
        etcdClusters,
        { ...present, metadata, spec: given.spec },
        this.#call(),
      );
      const same = after.metadata.resourceVersion === present.metadata.resourceVersion;
      return { cluster: after, done: same ? "unchanged" : "configured", warnings: [] };
    } catch (error) {
      if (isReason(error, "NotFound")) throw notInstalled(this.server, nameOf(etcdClusters));
      throw this.#explained(error, verb, etcdClusters, namespace);
    }
  }

  follow(): Following {
    this.#following ??= new KubeFollowing({
      client: this.client,
      clock: this.#io.clock,
      random: systemRandom,
      timeoutMs: TIMEOUT_MS,
      signal: this.#io.signal,
      explain: (error, kind, { namespace }) => this.#explained(error, "watch", kind, namespace),
    });
    return this.#following;
  }

  async close(): Promise<void> {
    await this.#following?.close();
    await this.transport.close();
  }

  get #listVerb(): "list" | "watch" {
    return this.#following ? "watch" : "list";
  }

  async #items<T extends KubeObject>(kind: Resource<T>, scope: Scope): Promise<readonly T[]> {
    if (this.#following) return await this.#following.list(kind, scope);
    return (await this.client.list(kind, scope, this.#call())).items;
  }

  async #list<T extends KubeObject>(kind: Resource<T>, scope: Scope): Promise<readonly T[]> {
    try {
      return await this.#items(kind, scope);
    } catch (error) {
      if (isReason(error, "NotFound")) throw notInstalled(this.server, nameOf(kind));
      throw this.#explained(error, this.#listVerb, kind, scope.namespace);
    }
  }

  async #patch<T extends KubeObject>(
    kind: Resource<T>,
    object: T,
    patch: Readonly<Record<string, unknown>> & { readonly metadata?: object },
  ): Promise<T> {
    const { name = "", namespace = "", uid = "", resourceVersion } = object.metadata ?? {};
    const preconditions = { uid, ...(resourceVersion !== undefined && { resourceVersion }) };
    try {
      return await this.client.patch(kind, { name, namespace }, patch, { ...preconditions, ...this.#call() });
    } catch (error) {
      throw this.#explained(error, "patch", kind, namespace);
    }
  }

  async #delete(kind: Resource, object: KubeObject): Promise<void> {
    const { name = "", namespace = "", uid = "" } = object.metadata ?? {};
    try {
      await this.client.delete(kind, { name, namespace }, { uid }, this.#call());
    } catch (error) {
      throw this.#explained(error, "delete", kind, namespace);
    }
  }

  #call(): { readonly signal: AbortSignal } {
    return { signal: this.#io.signal };
  }

  #attempt(verb: Attempt["verb"], name: string, namespace: string | undefined): Attempt {
    return { verb, resource: name, namespace, server: this.server };
  }

  #explained(error: unknown, verb: Attempt["verb"], kind: Resource, namespace: string | undefined): Error {
    return explained(error, this.#attempt(verb, nameOf(kind), namespace));
  }
}

function scopeOf(namespace: string | undefined): { readonly namespace?: string } {
  return namespace === undefined ? {} : { namespace };
}

function nameOf(kind: Resource): string {
  return apiVersionOf(kind).startsWith(GROUP) ? `${kind.plural}.${GROUP}` : kind.plural;
}

function createdAt({ metadata }: KubeObject): string {
  return `${metadata?.creationTimestamp ?? ""} ${metadata?.name ?? ""}`;
}
