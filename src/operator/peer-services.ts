/**
 * The Service that each member's peers dial it through (H15): made before the member's record, so that its name and
 * address are there before anybody asks for them; kept with that address; and taken away when no record has the name.
 * Where the API server rejects it, the next newcomers are dialled by the DNS names of their Pods, and status says so.
 */
import type { Service } from "kubernetes-types/core/v1.d.ts";
import type { EtcdMember } from "../api/etcd-member.ts";
import { Conflict, type ObjectAction } from "../control/platform.ts";
import type { ClusterFacts } from "../core/observation.ts";
import type { MemberRecord } from "../core/record.ts";
import { missingRole } from "../core/size.ts";
import type { View } from "../core/view.ts";
import type { KubeClient } from "../kube/client.ts";
import { isReason, KubeError } from "../kube/errors.ts";
import { isControlledBy, services as serviceResource } from "../kube/resources.ts";
import type { Clock } from "../seams/clock.ts";
import type { Contests } from "./contests.ts";
import { findOne, keepApplied, type Kept } from "./keep.ts";
import { belongsTo } from "./member-object.ts";
import { hasPeerService, MEMBER_FINALIZER, ordinalInName, peerServiceName } from "./names.ts";
import { peerService } from "./render/services.ts";
import { etcdMembers } from "./resources.ts";

type CreateMember = Extract<ObjectAction, { kind: "CreateMember" }>;

/** A quota may have room again, a range addresses. */
const ASK_AGAIN_MS = 60_000;
/** A range without addresses is told as an internal error, and so is a fault that passes. */
const MOST_FAULTS = 3;

export class PeerServices {
  readonly #client: KubeClient;
  readonly #clock: Clock;
  readonly #contests: Pick<Contests, "enter">;
  /** Why the last one was rejected, and until when none is asked for, by the monotonic clock. */
  #rejected: { readonly why: string; readonly until: number } | undefined;
  #faults = 0;

  constructor(client: KubeClient, clock: Clock, contests: Pick<Contests, "enter">) {
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
    this.#rejected = { why: rejection.message, until: this.#clock.monotonic() + ASK_AGAIN_MS };
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
    const { uid } = cluster;
    const kept = await keepApplied(this.#client, serviceResource, wanted, known, uid, this.#contests);
    if (kept.done === "foreign") throw new TakenName(`it exists and does not belong to ${cluster.name}`);
    if (kept.done === "ending") throw new Conflict(`Service ${cluster.namespace}/${name} is being deleted`);
    return kept;
  }

  #isRejection(error: unknown): boolean {
    if (error instanceof TakenName) return true;
    if (!(error instanceof KubeError)) return false;
    if (isReason(error, "Internal")) return this.#faults >= MOST_FAULTS;
    return isReason(error, "Forbidden", "Invalid", "BadRequest", "MethodNotAllowed");
  }

  /** Makes a member's Service again if it is gone, at the address that its record remembers, unless that was taken. */
  async keep(
    cluster: ClusterFacts,
    record: MemberRecord,
    known: Service | undefined,
  ): Promise<Kept<Service>> {
    const wanted = peerService(cluster, record.name);
    const [clusterIP] = record.address.peerIPs ?? [];
    const keep = async (asNew?: (service: Service) => Service) =>
      await keepApplied(this.#client, serviceResource, wanted, known, cluster.uid, this.#contests, asNew);
    if (known !== undefined || clusterIP === undefined) return await keep();
    try {
      return await keep((service) => ({ ...service, spec: { ...service.spec, clusterIP } }));
    } catch (error) {
      // Taken, perhaps by itself: a Service that lost our label is not in the cache.
      if (!isReason(error, "Invalid")) throw error;
      return await keep();
    }
  }

  /** Whether no record needs this Service, as the API server has it and not the cache, and none is about to. */
  async isLeftOver(view: View, service: Service): Promise<boolean> {
    const { cluster } = view.observation;
    const member = memberOf(service);
    // One that is dialled by its Pod's name does not.
    if (view.members.some(({ name }) => name === member)) return true;
    const ordinal = ordinalInName(cluster.name, member);
    if (ordinal >= view.nextOrdinal && missingRole(view) !== undefined) return false;
    const found = await findOne(this.#client, etcdMembers, { name: member, namespace: cluster.namespace });
    if (!found?.metadata.finalizers?.includes(MEMBER_FINALIZER) || !belongsTo(cluster.uid, found))
      return true;
    throw new Error(`EtcdMember ${member} exists, but the operator's cache does not have it yet`);
  }

  /** For status.warnings. */
  warnings(cluster: ClusterFacts, records: readonly MemberRecord[], services: readonly Service[]): string[] {
    const without = records.filter(({ address }) => address.peerIPs?.length === 0).map(({ name }) => name);
    const why = this.#rejected === undefined ? "" : ` (${this.#rejected.why})`;
    const moved = records.flatMap(({ name, address }) => {
      const service = services.find(({ metadata }) => metadata?.name === peerServiceName(name));
      const [was, is] = [address.peerIPs?.[0], service?.spec?.clusterIP];
      if (!service || !isControlledBy(service, cluster.uid)) return [];
      if (was === undefined || is === undefined || was === is) return [];
      return `Service ${peerServiceName(name)} was recreated at ${is}: its address ${was} was taken. Peers find ${name} again once their DNS answers expire.`;
    });
    if (without.length === 0) return moved;
    const names = without.join(", ");
    return [
      `The API server rejected a Service for the peer URL of ${names}${why}. Peers find ${names} by the DNS name of its Pod, so joins and restarts can wait for DNS caches. Allow Services in the namespace, then delete the EtcdMember to replace it.`,
      ...moved,
    ];
  }
}

/** Something else has the name. */
class TakenName extends Error {
  override name = "TakenName";
}

function withIPs(action: CreateMember, ips: readonly string[]): CreateMember {
  const address = { ...action.record.address, peerIPs: [...ips] };
  return { ...action, record: { ...action.record, address } };
}

const SUFFIX = peerServiceName("");

/** The member that a Service is for; empty for one that is no member's. */
export function memberOf({ metadata }: Service): string {
  const name = metadata?.name ?? "";
  return name.endsWith(SUFFIX) ? name.slice(0, -SUFFIX.length) : "";
}
