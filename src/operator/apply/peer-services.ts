/**
 * The Service that each member's peers dial it through (H15): made before the member's record, so that its name and
 * address are there before anybody asks for them; kept with that address; and taken away when no record has the name.
 * Where the API server rejects it, the next newcomers are dialled by the DNS names of their Pods, and status says so.
 */
import type { Service } from "kubernetes-types/core/v1.d.ts";
import type { EtcdMember } from "../../api/etcd-member.ts";
import { API_VERSION } from "../../api/metadata.ts";
import { Conflict, type ObjectAction } from "../../control/platform.ts";
import type { ClusterFacts } from "../../core/observation.ts";
import type { MemberRecord } from "../../core/record.ts";
import type { KubeClient } from "../../kube/client.ts";
import { isReason, KubeError } from "../../kube/errors.ts";
import { isControlledBy, services as serviceResource, type KubeObject } from "../../kube/resources.ts";
import type { Clock } from "../../seams/clock.ts";
import type { Contests } from "./contests.ts";
import { findOne, keepApplied, type Kept } from "./keep.ts";
import { belongsTo } from "../records/member-object.ts";
import { hasPeerService, MEMBER_FINALIZER, peerServiceName } from "../names.ts";
import { peerService } from "../render/services.ts";
import { etcdClusters, etcdMembers } from "../resources.ts";

type CreateMember = Extract<ObjectAction, { kind: "CreateMember" }>;

/** A quota may have room again, a range addresses. */
const ASK_AGAIN_MS = 60_000;
/** A range without addresses is reported as an internal error, and so is a fault that passes. */
const MOST_FAULTS = 3;
/** How long a new address is reported: DNS answers expire in seconds, those of a stubborn cache in minutes. */
const MOVED_MS = 600_000;

export class PeerServices {
  readonly #client: KubeClient;
  readonly #clock: Clock;
  readonly #contests: Pick<Contests, "write">;
  /** Why the last one was rejected, and until when none is asked for, by the monotonic clock. */
  #rejected: { readonly why: Error; readonly until: number } | undefined;
  #faults = 0;
  /** In a row, of a Service that is made again at its address, by member. */
  readonly #keepFaults = new Map<string, number>();
  /** When a Service was first seen at another address than its record remembers, by the monotonic clock. */
  readonly #movedAt = new Map<string, number>();

  constructor(client: KubeClient, clock: Clock, contests: Pick<Contests, "write">) {
    this.#client = client;
    this.#clock = clock;
    this.#contests = contests;
  }

  /** Whether newcomers are to be given one. */
  get areOffered(): boolean {
    return this.#rejected === undefined || this.#clock.monotonic() >= this.#rejected.until;
  }

  /**
   * Makes the Service of a newcomer, for a founder those of all: each record lists the URLs of the others. The record
   * then holds the addresses. Ends with a Conflict when it has to be decided anew, without a Service.
   */
  async before(
    action: CreateMember,
    cluster: ClusterFacts,
    known: readonly Service[],
    records: readonly EtcdMember[],
  ): Promise<CreateMember> {
    const { record } = action;
    // What the first founder's record says of the others stands.
    const plan = records.find(({ spec }) => record.boot === "New" && spec.token === record.token)?.spec;
    if (!hasPeerService(cluster, record)) return plan && !plan.address.peerIPs ? action : withIPs(action, []);
    const names = [...new Set([record.name, ...record.initialCluster.map(({ name }) => name)])];
    const attempts = await Promise.allSettled(names.map((name) => this.#make(cluster, name, known)));
    const made = attempts.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
    const errors = attempts.flatMap((one): unknown[] => (one.status === "rejected" ? [one.reason] : []));
    if (errors.length === 0) {
      this.#rejected = undefined;
      this.#faults = 0;
      return withIPs(action, made[0]?.object.spec?.clusterIPs ?? []);
    }
    if (errors.some((error) => isReason(error, "Internal"))) this.#faults++;
    const rejection = plan ? undefined : errors.find((error) => this.#isRejection(error));
    if (!(rejection instanceof Error)) throw errors[0];
    this.#faults = 0;
    this.#rejected = { why: rejection, until: this.#clock.monotonic() + ASK_AGAIN_MS };
    // Where there is room for few, the cluster needs others more.
    await Promise.all(made.map((kept) => this.#undo(kept)));
    throw new Conflict(`Service ${peerServiceName(record.name)} was rejected: ${rejection.message}`, {
      cause: rejection,
    });
  }

  async #undo({ done, object: { metadata } }: Kept<Service>): Promise<void> {
    const { name = "", namespace = "", uid = "" } = metadata ?? {};
    if (done === "changed") await this.#client.delete(serviceResource, { name, namespace }, { uid });
  }

  async #make(cluster: ClusterFacts, member: string, services: readonly Service[]): Promise<Kept<Service>> {
    const wanted = peerService(cluster, member);
    const name = peerServiceName(member);
    const known = services.find(({ metadata }) => metadata?.name === name);
    const isOurs = (service: Service) => isControlledBy(service, cluster.uid);
    const kept = await keepApplied(this.#client, serviceResource, wanted, known, isOurs, this.#contests);
    if (kept.done !== "foreign" && kept.done !== "ending") return kept;
    if (isLeaving(kept.object, cluster))
      throw new Conflict(`Service ${cluster.namespace}/${name} is being deleted`);
    throw new TakenName(name, cluster.name);
  }

  #isRejection(error: unknown): boolean {
    if (error instanceof TakenName) return true;
    if (!(error instanceof KubeError)) return false;
    if (isReason(error, "Internal")) return this.#faults >= MOST_FAULTS;
    return isReason(error, "Forbidden", "Invalid", "BadRequest", "MethodNotAllowed");
  }

  /** `keep` makes a member's Service again if it is gone: at the address that its record remembers, unless that was taken. */
  async keepAt(
    record: MemberRecord,
    known: KubeObject | undefined,
    keep: (asNew?: (service: KubeObject) => KubeObject) => Promise<Kept<KubeObject>>,
  ): Promise<Kept<KubeObject>> {
    const [clusterIP] = record.address.peerIPs ?? [];
    if (known !== undefined || clusterIP === undefined) return await keep();
    try {
      const kept = await keep((one) => {
        const service = one as Service;
        return { ...service, spec: { ...service.spec, clusterIP } } satisfies Service;
      });
      this.#keepFaults.delete(record.name);
      return kept;
    } catch (error) {
      // Taken, perhaps by itself: a Service that lost our label is not in the cache; or not ours to choose any more.
      if (!isReason(error, "Invalid", "Forbidden") && !this.#isLastingFault(record.name, error)) throw error;
      return await keep();
    }
  }

  /** One that passes is not to cost a member its address. */
  #isLastingFault(member: string, error: unknown): boolean {
    if (!isReason(error, "Internal")) return false;
    const faults = (this.#keepFaults.get(member) ?? 0) + 1;
    this.#keepFaults.set(member, faults);
    return faults >= MOST_FAULTS;
  }

  /** For status.warnings. */
  warnings(cluster: ClusterFacts, records: readonly MemberRecord[], services: readonly Service[]): string[] {
    const without = records.filter(({ address }) => address.peerIPs?.length === 0).map(({ name }) => name);
    const moved = records.flatMap((record) => {
      const service = services.find(({ metadata }) => metadata?.name === peerServiceName(record.name));
      return service && isControlledBy(service, cluster.uid) ? this.#moved(record, service) : [];
    });
    return without.length === 0 ? moved : [withoutService(without, this.#rejected?.why), ...moved];
  }

  #moved({ name, address }: MemberRecord, { metadata, spec }: Service): string[] {
    const [was, is] = [address.peerIPs?.[0], spec?.clusterIP];
    if (was === undefined || is === undefined || was === is) return [];
    const uid = metadata?.uid ?? "";
    const now = this.#clock.monotonic();
    const since = this.#movedAt.get(uid) ?? now;
    this.#movedAt.set(uid, since);
    if (now - since >= MOVED_MS) return [];
    return [
      `Service ${peerServiceName(name)} was recreated at ${is}: its address ${was} was taken. Peers find ${name} again once their DNS answers expire.`,
    ];
  }
}

/** What the API server said comes last: it may be long, and is cut first. */
function withoutService(members: readonly string[], why: Error | undefined): string {
  const names = members.join(", ");
  const [urls, them, pods, records] =
    members.length === 1
      ? ["URL", names, "name of its Pod", `EtcdMember ${names} to replace it`]
      : ["URLs", "them", "names of their Pods", `EtcdMembers ${names} to replace them`];
  const dialled = `so peers find ${them} by the DNS ${pods}: joins and restarts can wait for DNS caches`;
  if (why instanceof TakenName) {
    const { service, cluster } = why;
    return `Service ${service} does not belong to ${cluster} and the peer ${urls} of ${names} cannot name it, ${dialled}. Rename or delete Service ${service}, then delete ${records}.`;
  }
  const answer = why === undefined ? "" : ` The API server's answer: ${why.message}`;
  return `The API server rejected a Service for the peer ${urls} of ${names}, ${dialled}. Allow Services in the namespace, then delete ${records}.${answer}`;
}

/** Something else has the name, and keeps it. */
class TakenName extends Error {
  override name = "TakenName";
  readonly service: string;
  readonly cluster: string;

  constructor(service: string, cluster: string) {
    super(`it exists and does not belong to ${cluster}; rename or delete Service ${service}`);
    this.service = service;
    this.cluster = cluster;
  }
}

/** Its name is free soon: it is being deleted, or the garbage collector takes it, as its cluster had our name before us. */
function isLeaving({ metadata }: Service, { name }: ClusterFacts): boolean {
  const owner = metadata?.ownerReferences?.find(({ controller }) => controller);
  const isPredecessors =
    owner?.apiVersion === API_VERSION && owner.kind === etcdClusters.kind && owner.name === name;
  return metadata?.deletionTimestamp !== undefined || isPredecessors;
}

function withIPs(action: CreateMember, ips: readonly string[]): CreateMember {
  const address = { ...action.record.address, peerIPs: [...ips] };
  return { ...action, record: { ...action.record, address } };
}

/** Throws when the API server has a record of this member that the cache lacks: its Service is needed. */
export async function assertUnrecorded(
  client: KubeClient,
  { uid, namespace }: Pick<ClusterFacts, "uid" | "namespace">,
  member: string,
): Promise<void> {
  const found = await findOne(client, etcdMembers, { name: member, namespace });
  if (found?.metadata.finalizers?.includes(MEMBER_FINALIZER) && belongsTo(uid, found))
    throw new Error(`EtcdMember ${member} exists, but the operator's cache does not have it yet`);
}
