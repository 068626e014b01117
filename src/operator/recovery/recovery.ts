/**
 * Recovery from quorum loss where members are Pods: what is read of their volumes, which Pods do that, and the Pod that
 * rescues the data of the survivor. What is done when is decided in `src/core/rules/recover.ts`.
 */
import type { Pod, Secret } from "kubernetes-types/core/v1.d.ts";
import {
  Conflict,
  type ObjectAction,
  type PlatformMember,
  type PlatformState,
} from "../../control/platform.ts";
import { isWorthReading } from "../../core/assess/recovery-plan.ts";
import { isGiven, isSecure } from "../../core/config/flags.ts";
import type { ClusterFacts, MemberDirectory, PlatformFacts } from "../../core/observation.ts";
import type { MemberAddress, MemberRecord } from "../../core/record.ts";
import type { View } from "../../core/view.ts";
import type { KubeClient } from "../../kube/client.ts";
import { isReason } from "../../kube/errors.ts";
import { isControlledBy, pods, refOf } from "../../kube/resources.ts";
import { authorityIn, authorityName, givenAuthority } from "../apply/authority-secret.ts";
import type { Certificates } from "../apply/certificates.ts";
import { deleted } from "../apply/entries.ts";
import { findOne } from "../apply/keep.ts";
import { PlaceCheck } from "../apply/place-check.ts";
import { offeredCa } from "../apply/plane-source.ts";
import type { PartWaits } from "../apply/part-waits.ts";
import type { Wanted } from "../apply/wanted-object.ts";
import type { Stores } from "../cache/stores.ts";
import { ANNOTATIONS } from "../names.ts";
import {
  directoriesOf,
  hasEnded,
  inspectionOf,
  isRecoveryPod,
  isTooEarly,
  isUseless,
  podOf,
  readingOf,
  recoveryRefused,
  runningRecovery,
  type RecoveryObjects,
} from "../observe/recovery-facts.ts";
import { rescueFacts } from "../observe/rescue-facts.ts";
import { adoptionInspections } from "../apply/adoption-pods.ts";
import { approvalOf, inspectPod, rescuePod, type RecoveryWishes } from "../render/recovery-pods.ts";
import { hostDirectory } from "../render/volumes.ts";
import { secrets } from "../resources.ts";

export interface RecoveryOptions {
  readonly client: KubeClient;
  readonly stores: Stores;
  /** `namespace/name` of the cluster. */
  readonly key: string;
  readonly certificates: Certificates;
  /** By the API server's clock. */
  readonly now: () => number;
  /** Our own. */
  readonly image: string | undefined;
  /** What could not be made, and why. */
  readonly waits: Pick<PartWaits, "failureOf">;
}

const partOf = (member: string) => `the Pod that reads the volume of ${member}`;

type State = Pick<PlatformState, "cluster" | "members" | "operations">;
type Facts = Pick<PlatformFacts, "rescued" | "rescue" | "recoveryRefused" | "firstMemberRefused">;

export class KubeRecovery {
  readonly #options: RecoveryOptions;
  readonly #places: PlaceCheck;
  #state: State | undefined;

  constructor(options: RecoveryOptions) {
    this.#options = options;
    this.#places = new PlaceCheck(options.client, options.now);
  }

  /** What the decision has to know beside the directories. */
  async facts(state: State, next: MemberAddress | undefined): Promise<Facts> {
    this.#state = state;
    if (!state.operations.some(({ task }) => task.kind === "recoverQuorum")) return {};
    const { image } = this.#options;
    const refused = recoveryRefused(state.members, image);
    const objects = this.#objects(state);
    const rescue = rescueFacts(objects, (record) => this.#directoryOf(state.cluster, record));
    const isNext = rescue.rescued && runningRecovery(objects) !== undefined;
    const unplaced = isNext && (await this.#places.verdict(state.cluster, rescue.rescued, next, image));
    return {
      ...rescue,
      ...(refused !== undefined && { recoveryRefused: refused }),
      ...(unplaced && { firstMemberRefused: unplaced }),
    };
  }

  inspect(members: readonly PlatformMember[], view: View): Record<string, MemberDirectory> {
    if (!this.#state) return {};
    return directoriesOf(this.#objects({ ...this.#state, members }), this.#isWanted(view));
  }

  /** The Pods that have to be there, and those that nobody needs any more. */
  wanted(view: View): Wanted[] {
    const { cluster, members, operations } = view.observation;
    const objects = this.#objects({ cluster, members, operations });
    const wanted = [
      ...(this.#isWanted(view) ? this.#inspections(view, objects) : []),
      ...adoptionInspections(view, objects, this.#options.image),
    ];
    const isNeeded = (name: string) => wanted.some(({ policy }) => nameIn(policy) === name);
    // Without quorum, what was read stays good as long as the same Pod runs, or none.
    const isKnown = (reads: string | undefined) =>
      !view.hasQuorum && members.some((member) => readingOf(member, objects) === reads);
    const recovery = runningRecovery(objects);
    const approved =
      recovery?.task.kind === "recoverQuorum" ? approvalOf(recovery.task.approve, recovery.uid) : undefined;
    const old = objects.pods.filter((pod) => {
      const { name = "", annotations } = pod.metadata ?? {};
      if (isRecoveryPod(pod, cluster.uid, "rescue")) return annotations?.[ANNOTATIONS.plan] !== approved;
      if (!isRecoveryPod(pod, cluster.uid, "inspect") || isNeeded(name)) return false;
      const reads = annotations?.[ANNOTATIONS.reads];
      const member = members.find((one) => readingOf(one, objects) === reads);
      return !isKnown(reads) || (member !== undefined && isUseless(pod, member, objects));
    });
    return [...wanted, ...old.flatMap((pod) => deleted(pods, pod, cluster.uid))];
  }

  #inspections(view: View, objects: RecoveryObjects): Wanted[] {
    const { cluster, members } = view.observation;
    return members.flatMap((member): Wanted[] => {
      const { record } = member;
      const reads = readingOf(member, objects);
      const wishes = this.#wishes(cluster, record, objects);
      if (reads === undefined || !wishes) return [];
      const known = inspectionOf(reads, objects);
      // It is deleted first, and made again when it is gone.
      if (known ? isUseless(known, member, objects) : isTooEarly(member, objects) !== undefined) return [];
      const policy = {
        do: "create",
        object: inspectPod(cluster, record, reads, wishes),
        known,
        isOurs: (found: Parameters<typeof isControlledBy>[0]) => isControlledBy(found, cluster.uid),
      } as const;
      return [{ part: partOf(record.name), resource: pods, policy }];
    });
  }

  /** A second attempt may find the first one: then its Pod is there, and that is what was asked for. */
  async rescue(cluster: ClusterFacts, action: Extract<ObjectAction, { kind: "RescueData" }>): Promise<void> {
    const { client } = this.#options;
    const member = this.#state?.members.find(({ record }) => record.name === action.member);
    const state = this.#state;
    const wishes = member && state && this.#wishes(cluster, member.record, this.#objects(state));
    if (!member || !wishes || member.record.volumeUID !== action.volumeUID)
      throw new Conflict(`the volume of ${action.member} is not what was decided on`);
    const pod = rescuePod(cluster, member.record, action, wishes);
    const { name = "", namespace = "" } = pod.metadata ?? {};
    const approved = approvalOf(action.plan, action.operation);
    const isThis = (one: Pod) =>
      one.metadata?.name === name && one.metadata.annotations?.[ANNOTATIONS.plan] === approved;
    // What failed before, or was for another operation, may still hold the volume.
    const others = this.#objects(state).pods.filter(
      (one) => isRecoveryPod(one, cluster.uid, "rescue") && !isThis(one),
    );
    for (const { metadata } of others)
      await client.delete(pods, { name: metadata?.name ?? "", namespace }, { uid: metadata?.uid ?? "" });
    try {
      await client.create(pods, pod);
    } catch (error) {
      if (!isReason(error, "AlreadyExists")) throw error;
      const found = await findOne(client, pods, { name, namespace });
      if (found && isRecoveryPod(found, cluster.uid, "rescue") && isThis(found))
        return client.found(pods, found);
      throw new Conflict(`Pod ${namespace}/${name} of an earlier attempt or another owner is still there`, {
        cause: error,
      });
    }
  }

  /**
   * Nobody runs: with another authority, no former member that returns is let in by its peers. A change of TLS that
   * was under way ends with them: the new life begins with the source that is asked for, and with nothing of another.
   */
  async renewPeerAuthority(cluster: ClusterFacts): Promise<void> {
    const { client, stores, key } = this.#options;
    const name = authorityName(cluster, "peer");
    const before = stores.ownObjects(key).secrets.find(({ metadata }) => metadata?.name === name);
    if (!before || !isControlledBy(before, cluster.uid)) return;
    const next = await this.#nextPeerAuthority(cluster, before);
    if (!next) return;
    const { data } = next;
    const gone = Object.keys(before.data ?? {}).filter((file) => data?.[file] === undefined);
    const rotation = next.metadata?.annotations?.[ANNOTATIONS.rotation] ?? null;
    const patch = {
      metadata: { annotations: { [ANNOTATIONS.rotation]: rotation } },
      data: { ...Object.fromEntries(gone.map((file) => [file, null])), ...data },
    };
    const { uid = "", resourceVersion = "" } = before.metadata ?? {};
    const namespace = cluster.namespace;
    try {
      await client.patch(secrets, { name, namespace }, patch, { uid, resourceVersion });
    } catch (error) {
      throw isReason(error, "Conflict") ? new Conflict(error.message, { cause: error }) : error;
    }
  }

  /** Undefined where it stays: one that somebody else gives is not ours to replace. */
  async #nextPeerAuthority(cluster: ClusterFacts, before: Secret): Promise<Secret | undefined> {
    const { certificates } = this.#options;
    const { tls } = cluster.spec;
    // One that nobody uses need not wait for a clock.
    if (!isSecure(tls, "peer") && certificates.contradiction !== undefined) return undefined;
    if (!isGiven(tls, "peer")) return await certificates.newAuthority(cluster, "peer");
    const { signer, rotation } = authorityIn(before, "the peer CA");
    const offered = certificates.offered("peer");
    if (!offered || (signer.given && rotation.phase === "Steady")) return undefined;
    return givenAuthority(cluster, "peer", offeredCa(offered));
  }

  #isWanted(view: View): boolean {
    const { cluster, members, operations } = view.observation;
    if (recoveryRefused(members, this.#options.image) !== undefined) return false;
    return isWorthReading(view) || runningRecovery({ cluster, operations }) !== undefined;
  }

  #wishes(
    cluster: ClusterFacts,
    record: MemberRecord,
    objects: Pick<RecoveryObjects, "pods">,
  ): RecoveryWishes | undefined {
    const { image, stores } = this.#options;
    if (image === undefined) return undefined;
    const { annotations } = stores.member(`${cluster.namespace}/${record.name}`)?.metadata ?? {};
    const pod = podOf(record, objects.pods);
    // One that has ended holds its volume no more, and its node may be gone.
    const running = pod && !hasEnded(pod) ? pod.spec?.nodeName : undefined;
    const node = running ?? annotations?.[ANNOTATIONS.node];
    // Without a node nothing was ever started in a directory of one.
    if (record.template.storage.medium === "HostPath" && node === undefined) return undefined;
    return { image, node, directory: annotations?.[ANNOTATIONS.directory] };
  }

  #directoryOf(cluster: ClusterFacts, record: MemberRecord): string {
    const { stores } = this.#options;
    const { annotations } = stores.member(`${cluster.namespace}/${record.name}`)?.metadata ?? {};
    return hostDirectory(cluster, record, annotations?.[ANNOTATIONS.directory]);
  }

  #objects(state: State): RecoveryObjects {
    const { stores, key, now, waits } = this.#options;
    const namespace = refOf(key).namespace;
    const { pods: found = [], nodes } = stores.objectsOf(key) ?? {};
    return {
      ...state,
      pods: found.filter(({ metadata }) => metadata?.namespace === namespace),
      nodes: nodes && new Map(nodes.map((node) => [node.metadata?.name ?? "", node])),
      now: now(),
      notMade: (member) => waits.failureOf(partOf(member)),
    };
  }
}

function nameIn(policy: Wanted["policy"]): string | undefined {
  return "object" in policy ? policy.object.metadata?.name : undefined;
}
