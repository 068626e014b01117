/**
 * Writes what users read: the status of the cluster and of its members, only when it says something new (I7), and
 * not between two steps that follow each other at once, unless the cluster becomes available by them.
 */
import type { EtcdClusterStatus } from "../../api/etcd-cluster-status.ts";
import type { EtcdMemberStatus } from "../../api/etcd-member.ts";
import { canonical, sameContent } from "../../core/template/hash.ts";
import { memberStatusOf } from "../../core/status/member.ts";
import { isWritten, sameStatus } from "../../core/status/status-write.ts";
import type { MemberView, View } from "../../core/view.ts";
import type { KubeClient } from "../../kube/client.ts";
import { isReason } from "../../kube/errors.ts";
import { refOf, type KubeObject, type Ref, type Resource } from "../../kube/resources.ts";
import type { Clock } from "../../seams/clock.ts";
import { Dropped } from "./dropped.ts";
import { fitCluster, fitMember } from "./fit-status.ts";
import { memberSelector } from "../render/metadata.ts";
import { mergePatch } from "../apply/merge-patch.ts";
import { foreignResources } from "../apply/resizing.ts";
import { etcdClusters, etcdMembers } from "../resources.ts";
import type { Stores } from "../cache/stores.ts";

/** While one step follows the other, users hear of it at least this often. */
const BURST_MS = 1_000;
/** What a member passes through on its way is reported only when it lasts. */
const PASSING_MS = 2_000;
/** Words and numbers that change while no condition does are written at most this often. */
const WORDS_MS = 3_000;

export class Reporter {
  readonly #client: KubeClient;
  readonly #stores: Stores;
  readonly #clock: Clock;
  readonly #key: string;
  #writtenAt: number | undefined;
  #burstSince: number | undefined;
  /** Something is to be told later, or was told just now. */
  #unsettled = true;
  /** States of members that are not ready, and since when. */
  readonly #passing = new Map<string, { readonly state: string; readonly since: number }>();
  readonly #dropped = new Dropped();

  constructor(client: KubeClient, stores: Stores, clock: Clock, key: string) {
    this.#client = client;
    this.#stores = stores;
    this.#clock = clock;
    this.#key = key;
  }

  /** All that there was to tell at the last report stood there already. */
  get settled(): boolean {
    return !this.#unsettled;
  }

  /** That the API server does not keep all of what is told. */
  get warnings(): readonly string[] {
    const { fields } = this.#dropped;
    return fields.length === 0
      ? []
      : [
          `The resource definitions in this API server are older than the operator and drop ${fields.join(", ")}: apply the CustomResourceDefinitions of this release.`,
        ];
  }

  async report(status: EtcdClusterStatus, view: View, goesOn: boolean): Promise<void> {
    this.#unsettled = goesOn;
    const now = this.#clock.monotonic();
    this.#burstSince = goesOn ? (this.#burstSince ?? now) : undefined;
    const isShort = this.#burstSince !== undefined && now - this.#burstSince < BURST_MS;
    if (isShort && !this.#opens(status, view)) return;
    if (this.#burstSince !== undefined) this.#burstSince = now;
    await Promise.all([this.#cluster(status), ...view.members.map((member) => this.#member(view, member))]);
    for (const name of this.#passing.keys()) {
      if (view.members.some((member) => member.name === name)) continue;
      this.#passing.delete(name);
      this.#dropped.forget(keyIn(etcdMembers, { name }));
    }
  }

  /** Clients may come now, by a Service that is there, whatever step is next: who made the cluster waits for just that. */
  #opens(status: EtcdClusterStatus, { observation }: View): boolean {
    if (observation.platform.opened === false) return false;
    const before = this.#stores.cluster(this.#key)?.status;
    return isAvailable(status) && before !== undefined && !isAvailable(before);
  }

  async #cluster(seen: EtcdClusterStatus): Promise<void> {
    const status = fitCluster(seen);
    const object = this.#stores.cluster(this.#key);
    const now = this.#clock.monotonic();
    const since = this.#writtenAt === undefined ? 0 : now - this.#writtenAt;
    const before = object && this.#dropped.before(etcdClusters.kind, object.status, now);
    if (object && !isWritten(before, status)) this.#unsettled = true;
    if (!object || sameStatus(before, status, since)) return;
    if (this.#writtenAt !== undefined && since < WORDS_MS && !isUrgent(before, status)) return;
    await this.#write(etcdClusters, refOf(this.#key), object, object.status, status);
    this.#writtenAt = now;
  }

  async #member(view: View, member: MemberView): Promise<void> {
    const ref = { ...refOf(this.#key), name: member.name };
    const object = this.#stores.member(`${ref.namespace}/${ref.name}`);
    if (!object || object.metadata.uid !== member.record.uid) return;
    const resources = foreignResources(this.#stores.pod(`${ref.namespace}/${ref.name}`), member.record);
    const status = fitMember({
      ...memberStatusOf(view, member, object.metadata.generation, object.status),
      // Of the scale subresource.
      replicas: member.workload.state === "absent" ? 0 : 1,
      selector: memberSelector(view.observation.cluster, member.name),
      ...(resources && { resources }),
    });
    const lasts = member.healthy || this.#lasts(member.name, status);
    // Another generation of the record alone is news: who waits for the member does not believe an older one.
    const before = this.#dropped.before(keyIn(etcdMembers, ref), object.status, this.#clock.monotonic());
    if (sameContent(before, status)) return;
    this.#unsettled = true;
    if (!lasts) return;
    await this.#write(etcdMembers, ref, object, object.status, status);
  }

  #lasts(name: string, status: EtcdMemberStatus): boolean {
    const now = this.#clock.monotonic();
    const state = status.conditions?.[0]?.reason ?? "";
    const known = this.#passing.get(name);
    if (known?.state === state) return now - known.since >= PASSING_MS;
    this.#passing.set(name, { state, since: now });
    return false;
  }

  async #write(
    resource: Resource<KubeObject>,
    ref: Ref,
    { metadata }: KubeObject,
    before: object | undefined,
    after: object,
  ): Promise<void> {
    const patch = mergePatch({ ...before }, { ...after });
    if (!patch) return;
    try {
      const stored = await this.#client.patchStatus(resource, ref, patch, { uid: metadata?.uid ?? "" });
      const { status } = stored as { readonly status?: object };
      this.#dropped.wrote(keyIn(resource, ref), after, status, this.#clock.monotonic());
    } catch (error) {
      // Deleted meanwhile, or another one by now: nobody is left to be reported.
      if (!isReason(error, "NotFound", "Conflict")) throw error;
    }
  }
}

function keyIn({ kind }: Resource, { name }: Ref): string {
  return kind === etcdClusters.kind ? kind : `${kind} ${name}`;
}

function isAvailable({ conditions }: EtcdClusterStatus): boolean {
  return conditions?.some(({ type, status }) => type === "Available" && status === "True") ?? false;
}

/** A condition, fence or approval changed, or the status is about another spec: a person or program waits for that. */
function isUrgent(before: EtcdClusterStatus | undefined, after: EtcdClusterStatus): boolean {
  const essence = ({ observedGeneration, conditions, members, approvals }: EtcdClusterStatus) =>
    canonical([
      observedGeneration,
      members?.flatMap(({ name, fenced }) => (fenced ? [name] : [])),
      approvals?.map(({ approval }) => approval),
      conditions?.map(({ type, status, observedGeneration: seen }) => [type, status, seen]),
    ]);
  return before === undefined || essence(before) !== essence(after);
}
