/**
 * The steps that change objects, one call or two each. What was done before counts as done; what has another
 * UID or version than was decided on is left alone, and looked at again (H9, H10).
 */
import { API_VERSION } from "../../api/metadata.ts";
import type { EtcdCluster } from "../../api/etcd-cluster.ts";
import type { EtcdMember } from "../../api/etcd-member.ts";
import type { EtcdOperation, EtcdOperationStatus } from "../../api/etcd-operation.ts";
import type { EtcdRole } from "../../api/etcd-role.ts";
import type { EtcdUser } from "../../api/etcd-user.ts";
import { Conflict, type ObjectAction } from "../../control/platform.ts";
import type { ClusterFacts } from "../../core/observation.ts";
import { FINAL } from "../../core/operations/status.ts";
import type { KubeClient } from "../../kube/client.ts";
import { isReason } from "../../kube/errors.ts";
import { isControlledBy, keyOf, pods, refOf, type Ref, type Resource } from "../../kube/resources.ts";
import { findOne } from "./keep.ts";
import { mergePatch } from "./merge-patch.ts";
import { marksToAnnotations } from "../records/marks.ts";
import { belongsTo, changedMember, newMember } from "../records/member-object.ts";
import { binding } from "../records/operation-object.ts";
import { sizeNote } from "../records/last-understood.ts";
import { ANNOTATIONS, AUTH_FINALIZER, claimName, CLUSTER_FINALIZER, MEMBER_FINALIZER } from "../names.ts";
import { claims, etcdClusters, etcdMembers, etcdOperations, etcdRoles, etcdUsers } from "../resources.ts";
import type { Stores } from "../cache/stores.ts";

/** What a step was decided on. */
export interface Decided {
  readonly object: EtcdCluster;
  readonly facts: ClusterFacts;
}

/** Steps on certificates take what issues them, a rescue and a restore what makes Pods for them, and are elsewhere. */
export type ObjectStep = Exclude<
  ObjectAction,
  { kind: "RotateAuthority" | "ReissueCertificates" | "RescueData" | "FetchSnapshot" | "BindVolume" }
>;

export async function executeAction(
  client: KubeClient,
  stores: Stores,
  decided: Decided,
  action: ObjectStep,
): Promise<void> {
  try {
    await new Executor(client, stores, decided).execute(action);
  } catch (error) {
    throw isReason(error, "Conflict") ? new Conflict(error.message, { cause: error }) : error;
  }
}

class Executor {
  readonly #client: KubeClient;
  readonly #stores: Stores;
  readonly #decided: Decided;

  constructor(client: KubeClient, stores: Stores, decided: Decided) {
    this.#client = client;
    this.#stores = stores;
    this.#decided = decided;
  }

  async execute(action: ObjectStep): Promise<void> {
    switch (action.kind) {
      case "CreateMember":
        return await this.#createMember(action);
      case "UpdateMember": {
        const { facts } = this.#decided;
        const after = changedMember(
          this.#member(action.member),
          facts,
          action.resourceVersion,
          action.change,
        );
        await this.#client.replace(etcdMembers, after);
        return;
      }
      case "DeleteMember":
        return await this.#deleteMember(action.member);
      case "MarkCluster":
        return await this.#patchCluster({
          annotations: {
            ...marksToAnnotations(action.change),
            [ANNOTATIONS.size]: sizeNote(this.#decided.facts.spec),
          },
        });
      case "StopWorkload":
        return await this.#stopWorkload(action.member);
      case "DeleteVolume":
        return await this.#deleteVolume(action);
      case "FinishDeletion": {
        const finalizers = this.#decided.object.metadata.finalizers ?? [];
        const rest = finalizers.filter((one) => one !== CLUSTER_FINALIZER);
        return await unlessGone(this.#patchCluster({ finalizers: rest }));
      }
      case "CreateOperation":
        return await this.#createOperation(action);
      case "UpdateOperation":
        return await this.#updateOperation(action);
      case "DeleteOperation": {
        const { operation, uid } = action;
        return await unlessGone(this.#client.delete(etcdOperations, this.#ref(operation), { uid }));
      }
      case "UpdateAuthObject":
        return await this.#updateAuthObject(action);
    }
  }

  async #createMember({ record }: Extract<ObjectAction, { kind: "CreateMember" }>): Promise<void> {
    const { facts } = this.#decided;
    try {
      await this.#client.create(etcdMembers, newMember(facts, record));
    } catch (error) {
      if (!isReason(error, "AlreadyExists")) throw error;
      const found = await findOne(this.#client, etcdMembers, this.#ref(record.name));
      if (found && belongsTo(facts.uid, found) && found.spec.token === record.token) {
        // A cache whose watch lags would have it made again on every pass.
        this.#client.found(etcdMembers, found);
        return;
      }
      throw new Conflict(
        `EtcdMember ${facts.namespace}/${record.name} exists and does not belong to ${facts.name}: rename or delete it`,
        { cause: error },
      );
    }
  }

  /** The deletion first: a record without a finalizer that nobody deletes would be a member without protection. */
  async #deleteMember(name: string): Promise<void> {
    const member = this.#stores.member(this.#key(name));
    if (!member || !belongsTo(this.#decided.facts.uid, member)) return;
    const uid = member.metadata.uid ?? "";
    if (member.metadata.deletionTimestamp === undefined) {
      const end = await this.#client.delete(etcdMembers, this.#ref(name), { uid, propagation: "Background" });
      if (end === "gone") return;
    }
    const rest = member.metadata.finalizers?.filter((one) => one !== MEMBER_FINALIZER) ?? [];
    const patch = { metadata: { finalizers: rest } };
    await unlessGone(this.#client.patch(etcdMembers, this.#ref(name), patch, { uid }));
  }

  /** With the grace that the Pod itself asks for, and never by force: a node that is silent may still run it (H14). */
  async #stopWorkload(name: string): Promise<void> {
    const pod = this.#stores.pod(this.#key(name));
    if (!pod?.metadata?.uid || pod.metadata.deletionTimestamp !== undefined) return;
    const record = this.#stores.member(this.#key(name));
    if (record && isControlledBy(pod, record.metadata.uid ?? ""))
      await this.#client.delete(pods, this.#ref(name), { uid: pod.metadata.uid });
  }

  /** A volume in the memory or on the disk of a Pod went with it. */
  async #deleteVolume({ member, volumeUID }: Extract<ObjectAction, { kind: "DeleteVolume" }>): Promise<void> {
    const name = claimName(member);
    const claim = this.#stores.claim(this.#key(name));
    if (claim?.metadata?.uid !== volumeUID || claim.metadata.deletionTimestamp !== undefined) return;
    await this.#client.delete(claims, this.#ref(name), { uid: volumeUID });
  }

  /** Its name follows from the plan and how often it was tried: one that is there was made by an earlier attempt. */
  async #createOperation({
    operation: name,
    approve,
    restore,
  }: Extract<ObjectAction, { kind: "CreateOperation" }>): Promise<void> {
    const { namespace, name: cluster } = this.#decided.facts;
    const metadata = { name, namespace };
    const task = restore ? { restore: { ...restore, approve } } : { recoverQuorum: { approve } };
    const spec = { cluster, ...task };
    try {
      await this.#client.create(etcdOperations, {
        apiVersion: API_VERSION,
        kind: "EtcdOperation",
        metadata,
        spec,
      });
    } catch (error) {
      if (!isReason(error, "AlreadyExists")) throw error;
      const found = await findOne(this.#client, etcdOperations, this.#ref(name));
      const { recoverQuorum, restore: restored, cluster: of } = found?.spec ?? {};
      const isIts = (recoverQuorum ?? restored)?.approve === approve && of === cluster;
      if (found) this.#client.found(etcdOperations, found);
      const isOver = FINAL.has(found?.status?.phase);
      if (isIts && !isOver) return;
      const what = isIts ? "has ended" : "approves something else";
      throw new Conflict(`EtcdOperation ${namespace}/${name} exists and ${what}: delete it`, {
        cause: error,
      });
    }
  }

  /** Bound to this cluster before its first status, so that no other cluster of the name continues it. */
  async #updateOperation(action: Extract<ObjectAction, { kind: "UpdateOperation" }>): Promise<void> {
    const object = this.#stores.operation(this.#key(action.operation));
    if (object?.metadata.resourceVersion !== action.resourceVersion)
      throw new Conflict(`EtcdOperation ${action.operation} was changed or deleted`);
    const bound = binding(this.#decided.facts, object);
    try {
      await reportOperation(this.#client, object, action.status, bound);
    } catch (error) {
      if (!isReason(error, "NotFound")) throw error;
      throw new Conflict(`EtcdOperation ${action.operation} no longer exists`, { cause: error });
    }
  }

  async #updateAuthObject(action: Extract<ObjectAction, { kind: "UpdateAuthObject" }>): Promise<void> {
    const key = this.#key(action.name);
    const object = action.of === "EtcdUser" ? this.#stores.user(key) : this.#stores.role(key);
    if (object?.metadata.resourceVersion !== action.resourceVersion)
      throw new Conflict(`${action.of} ${action.name} was changed or deleted`);
    try {
      await updateAuthObject(this.#client, object, action.change);
    } catch (error) {
      if (!isReason(error, "NotFound")) throw error;
      throw new Conflict(`${action.of} ${action.name} no longer exists`, { cause: error });
    }
  }

  async #patchCluster(metadata: object): Promise<void> {
    const { name, namespace = "", uid = "", resourceVersion = "" } = this.#decided.object.metadata;
    await this.#client.patch(etcdClusters, { name, namespace }, { metadata }, { uid, resourceVersion });
  }

  #member(name: string): EtcdMember {
    const member = this.#stores.member(this.#key(name));
    if (!member) throw new Conflict(`EtcdMember ${name} no longer exists`);
    return member;
  }

  #key(name: string): string {
    return `${this.#decided.facts.namespace}/${name}`;
  }

  #ref(name: string): Ref {
    return { name, namespace: this.#decided.facts.namespace };
  }
}

/** Writes the status of an operation in the version that was read, after what else has to be in its metadata. */
export async function reportOperation(
  client: KubeClient,
  object: EtcdOperation,
  status: EtcdOperationStatus,
  metadata?: object,
): Promise<void> {
  const ref = refOf(keyOf(object));
  const { uid = "", resourceVersion = "" } = object.metadata;
  const read = metadata
    ? await client.patch(etcdOperations, ref, { metadata }, { uid, resourceVersion })
    : object;
  const patch = mergePatch({ ...object.status }, { ...status });
  const version = read.metadata.resourceVersion ?? "";
  if (patch) await client.patchStatus(etcdOperations, ref, patch, { uid, resourceVersion: version });
}

/** Its status, or whether it is kept until it is gone from etcd, in the version that was read. */
export async function updateAuthObject(
  client: KubeClient,
  object: EtcdUser | EtcdRole,
  change: Extract<ObjectAction, { kind: "UpdateAuthObject" }>["change"],
): Promise<void> {
  const ref = refOf(keyOf(object));
  const resource: Resource<EtcdUser | EtcdRole> = object.kind === "EtcdRole" ? etcdRoles : etcdUsers;
  const { uid = "", resourceVersion = "", finalizers = [] } = object.metadata;
  if ("status" in change) {
    const patch = mergePatch({ ...object.status }, { ...change.status });
    if (patch) await client.patchStatus(resource, ref, patch, { uid, resourceVersion });
    return;
  }
  const others = finalizers.filter((one) => one !== AUTH_FINALIZER);
  const after = change.applied ? [...others, AUTH_FINALIZER] : others;
  await client.patch(resource, ref, { metadata: { finalizers: after } }, { uid, resourceVersion });
}

/** What is gone has ended before: an answer was lost, or somebody else was quicker. */
async function unlessGone(end: Promise<unknown>): Promise<void> {
  try {
    await end;
  } catch (error) {
    if (!isReason(error, "NotFound")) throw error;
  }
}
