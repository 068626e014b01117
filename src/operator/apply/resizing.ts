/**
 * Other resources for a Pod that runs, without a restart: noted on the Pod, asked for, and confirmed once the
 * kubelet has done it. Where the server or the kubelet will not, or not in time, the member restarts instead.
 */
import type { Pod, ResourceRequirements } from "kubernetes-types/core/v1.d.ts";
import type { EtcdMemberStatus } from "../../api/etcd-member.ts";
import type { MemberRecord } from "../../core/record.ts";
import { readStart, writeStart, type Start } from "../../core/template/start.ts";
import { startHash, startOf } from "../../core/template/template.ts";
import type { KubeClient } from "../../kube/client.ts";
import { isReason } from "../../kube/errors.ts";
import { pods } from "../../kube/resources.ts";
import type { Clock } from "../../seams/clock.ts";
import { ANNOTATIONS, ETCD_CONTAINER } from "../names.ts";
import { resourcesOf } from "../render/pod.ts";

/** A kubelet that can does it within seconds; one that puts it off waits for room that a restart may find elsewhere. */
const PATIENCE_MS = 60_000;

type Amounts = Readonly<Record<string, string>>;

interface Request {
  /** The UID of the Pod. */
  readonly uid: string;
  /** What it should become. */
  readonly hash: string;
  /** By the monotonic clock. */
  readonly since: number;
  readonly refused: boolean;
}

export class Resizing {
  readonly #client: KubeClient;
  readonly #clock: Clock;
  /** By member. Forgotten with the process: then it is waited for a little longer. */
  readonly #requests = new Map<string, Request>();

  constructor(client: KubeClient, clock: Clock) {
    this.#client = client;
    this.#clock = clock;
  }

  /** Whether what its record asks for may still come without a restart. */
  isPossible(pod: Pod, record: MemberRecord): boolean {
    const request = this.#requests.get(record.name);
    if (request?.hash !== startHash(record) || request.uid !== pod.metadata?.uid) return true;
    return !request.refused && !isInfeasible(pod) && this.#clock.monotonic() - request.since < PATIENCE_MS;
  }

  /** Of a member that lacks only resources, the next step; false when there is nothing to do but to wait. */
  async proceed(pod: Pod, record: MemberRecord): Promise<boolean> {
    const { name = "", namespace = "", uid = "", annotations = {} } = pod.metadata ?? {};
    const startedFrom = annotations[ANNOTATIONS.startedFrom] ?? "";
    const wanted = resourcesOf(record.template) ?? {};
    const hash = startHash(record);
    // Whether its container was started with the file of its first start is kept: its new file may not be there yet.
    const peers = readStart(startedFrom)?.peers;
    const done: Start = { ...startOf(record), ...(peers !== undefined && { peers }) };
    const asked = writeStart({ ...done, resizing: true });
    // First the note: whoever comes after a crash knows that the Pod may have either.
    if (startedFrom !== asked) {
      await this.#note(pod, asked);
      return true;
    }
    const request = this.#requests.get(name);
    if (request?.hash !== hash || request.uid !== uid) this.#remember(name, { uid, hash, refused: false });
    if (!hasResources(etcdOf(pod.spec?.containers)?.resources, wanted)) {
      const given = etcdOf(pod.spec?.containers)?.resources;
      const spec = { containers: [{ name: ETCD_CONTAINER, resources: change(given, wanted) }] };
      const how = { uid, subresource: "resize", strategic: true } as const;
      try {
        await this.#client.patch(pods, { name, namespace }, { spec }, how);
      } catch (error) {
        // Older than 1.33, not in our role, or nothing that this server changes in place.
        if (!isReason(error, "Invalid", "Forbidden", "NotFound", "MethodNotAllowed", "BadRequest"))
          throw error;
        this.#remember(name, { uid, hash, refused: true });
      }
      return true;
    }
    if (!isDone(pod, wanted)) return false;
    await this.#note(pod, writeStart(done));
    this.forget(name);
    return true;
  }

  forget(member: string): void {
    this.#requests.delete(member);
  }

  #remember(member: string, request: Omit<Request, "since">): void {
    this.#requests.set(member, { ...request, since: this.#clock.monotonic() });
  }

  async #note(pod: Pod, startedFrom: string): Promise<void> {
    const { name = "", namespace = "", uid = "" } = pod.metadata ?? {};
    const metadata = { annotations: { [ANNOTATIONS.startedFrom]: startedFrom } };
    await this.#client.patch(pods, { name, namespace }, { metadata }, { uid });
  }
}

/**
 * What the container has where somebody else gave it that: an autoscaler when the Pod was created or later, a LimitRange.
 * Undefined where it has what its record asks for, or is about to get it.
 */
export function foreignResources(
  pod: Pod | undefined,
  record: MemberRecord,
): EtcdMemberStatus["resources"] | undefined {
  const started = readStart(pod?.metadata?.annotations?.[ANNOTATIONS.startedFrom] ?? "");
  const found = etcdOf(pod?.spec?.containers)?.resources;
  if (!started || started.resizing || started.resources !== startOf(record).resources) return undefined;
  if (hasResources(found, resourcesOf(record.template) ?? {})) return undefined;
  const { requests, limits } = found ?? {};
  return { ...(requests && { requests: { ...requests } }), ...(limits && { limits: { ...limits } }) };
}

function etcdOf<T extends { readonly name: string }>(containers: readonly T[] | undefined): T | undefined {
  return containers?.find(({ name }) => name === ETCD_CONTAINER);
}

/** What the kubelet tells of a Pod whose spec has the new resources already. */
function isDone(pod: Pod, wanted: ResourceRequirements): boolean {
  const { generation } = pod.metadata ?? {};
  // Newer than the published types.
  const { observedGeneration } = (pod.status ?? {}) as { observedGeneration?: number };
  if (observedGeneration !== undefined && generation !== undefined && observedGeneration < generation)
    return false;
  if (resizeCondition(pod, "PodResizePending") || resizeCondition(pod, "PodResizeInProgress")) return false;
  const actual = etcdOf(pod.status?.containerStatuses)?.resources;
  return actual !== undefined && hasResources(actual, wanted);
}

function isInfeasible(pod: Pod): boolean {
  return resizeCondition(pod, "PodResizePending")?.reason === "Infeasible";
}

function resizeCondition(pod: Pod, type: string) {
  return pod.status?.conditions?.find((one) => one.type === type && one.status === "True");
}

/** Requests that were not given follow the limits, by the server's own rule. */
function hasResources(found: ResourceRequirements | undefined, wanted: ResourceRequirements): boolean {
  const limits = same(found?.limits, wanted.limits);
  return limits && same(found?.requests, { ...wanted.limits, ...wanted.requests });
}

function same(found: Amounts = {}, wanted: Amounts = {}): boolean {
  const keys = new Set([...Object.keys(found), ...Object.keys(wanted)]);
  return [...keys].every((key) => found[key] === wanted[key]);
}

/** As a patch: what is not wanted any more is taken away. */
function change(found: ResourceRequirements | undefined, wanted: ResourceRequirements): object {
  const kind = (before: Amounts = {}, after: Amounts = {}) => ({
    ...Object.fromEntries(Object.keys(before).map((key) => [key, null])),
    ...after,
  });
  const requests = kind(found?.requests, { ...wanted.limits, ...wanted.requests });
  return { requests, limits: kind(found?.limits, wanted.limits) };
}
