/**
 * Which configuration file a container reads when its kubelet restarts it in place. A kubelet rewrites the Secret of
 * a running Pod only when it syncs the Pod, and until then a restart reads the file of the first start, with which
 * an emptied directory starts over (H3). So the Pod is touched as soon as its Secret holds the file of a member that
 * has joined: kubelets sync at once when a Pod changes. A toleration makes it a change of the spec, whose
 * generation the kubelet reports back; that it has written the file too is shown by the certificate that etcd serves,
 * where it serves one. Nothing of this concerns Pods that are made later, which mount that file.
 */
import type { Pod, Toleration } from "kubernetes-types/core/v1.d.ts";
import type { MemberRecord } from "../../core/record.ts";
import { readStart } from "../../core/template/start.ts";
import type { KubeClient } from "../../kube/client.ts";
import { isReason } from "../../kube/errors.ts";
import { pods } from "../../kube/resources.ts";
import type { Clock } from "../../seams/clock.ts";
import type { Contests } from "./contests.ts";
import { ANNOTATIONS } from "../names.ts";

/** No node has a taint of this name. */
const MARK: Toleration = { key: ANNOTATIONS.latched, operator: "Exists" };

/** A kubelet reports what it syncs before it writes the files: up to 0.2 s before, as measured (docs/start.md). */
export const WRITES_WITHIN_MS = 500;

/** Nothing tells when the files were replaced, so etcd is asked for its certificate this often, and for this long. */
const ASK_EVERY_MS = 50;
const ASK_OFTEN_FOR_MS = 5_000;

/**
 * A kubelet syncs a Pod that nobody touches after 60 to 90 s as well; where touching it is refused, this has to do. Only
 * where nothing proves the contrary: one that is cut off from the API server never syncs.
 */
export const SYNCS_WITHIN_MS = 120_000;

/** Its container may have been started with the file of its first start. */
export function startedBeforeJoining({ metadata }: Pod): boolean {
  return readStart(metadata?.annotations?.[ANNOTATIONS.startedFrom] ?? "")?.peers !== undefined;
}

/** Either half is proof of it, and no reason to do it again: another controller may have taken the other half off. */
function isTouched(pod: Pod): boolean {
  return pod.metadata?.annotations?.[ANNOTATIONS.latched] !== undefined || isMarked(pod);
}

function isMarked({ spec }: Pod): boolean {
  return spec?.tolerations?.some(({ key }) => key === MARK.key) ?? false;
}

/** True for a Pod that has to be touched: the Secret that it mounts was rewritten since it was made. */
export function lacksTouch(pod: Pod, record: Pick<MemberRecord, "joined">): boolean {
  return record.joined && startedBeforeJoining(pod) && !isTouched(pod);
}

export interface TouchContext {
  readonly client: KubeClient;
  readonly contests: Pick<Contests, "write">;
  readonly latches: Pick<StartLatches, "refused">;
}

/** To be called once the Secret of the member is in place. Where all of it is taken off each time, ever more seldom. */
export async function touch({ client, contests, latches }: TouchContext, pod: Pod): Promise<void> {
  const { name = "", namespace = "", uid = "" } = pod.metadata ?? {};
  const metadata = { annotations: { [ANNOTATIONS.latched]: "true" } };
  const spec = { tolerations: [...(pod.spec?.tolerations ?? []), MARK] };
  const write = async () => {
    try {
      await client.patch(pods, { name, namespace }, { metadata, spec }, { uid });
    } catch (error) {
      if (!isReason(error, "Forbidden", "Invalid")) throw error;
      // Tolerations are restricted here, or were changed since: the kubelet syncs all the same, and confirms nothing.
      await client.patch(pods, { name, namespace }, { metadata }, { uid });
    }
  };
  try {
    await contests.write(pods, pod, { metadata, spec }, write, { metadata, spec: MARK });
  } catch (error) {
    if (isReason(error, "Forbidden", "Invalid")) latches.refused(uid);
    throw error;
  }
}

export class StartLatches {
  readonly #clock: Pick<Clock, "monotonic" | "now">;
  /** By the UID of the Pod: when its kubelet was first seen to have synced. Forgotten with the process, which costs a moment. */
  readonly #syncedAt = new Map<string, number>();
  /** By the UID of the Pod: since when touching it is refused. */
  readonly #refusedAt = new Map<string, number>();
  /** By the UID of the Pod: since when its etcd is asked for the certificate that came with the file. */
  readonly #askedSince = new Map<string, number>();
  /** By the UID of the Pod: its etcd has shown it. */
  readonly #proven = new Set<string>();
  /** By the UID of the Pod: its etcd was asked, and showed a former one, so the file was not there. */
  readonly #disproven = new Set<string>();

  constructor(clock: Pick<Clock, "monotonic" | "now">) {
    this.#clock = clock;
  }

  /** Nobody may touch this Pod: its kubelet has to find the new file by itself. */
  refused(uid: string): void {
    if (!this.#refusedAt.has(uid)) this.#refusedAt.set(uid, this.#clock.monotonic());
  }

  /** A restart in place would read the file of a member that has joined. */
  isConfirmed(pod: Pod): boolean {
    const uid = pod.metadata?.uid ?? "";
    if (!startedBeforeJoining(pod) || this.#proven.has(uid)) return true;
    // What etcd shows counts more than any report, and than any time that passes.
    if (this.#disproven.has(uid)) return false;
    const now = this.#clock.monotonic();
    const since = this.#syncedAt.get(uid) ?? (isTouched(pod) && hasSynced(pod) ? now : undefined);
    if (since === undefined) return now - (this.#refusedAt.get(uid) ?? Infinity) >= SYNCS_WITHIN_MS;
    this.#syncedAt.set(uid, since);
    return now - since >= WRITES_WITHIN_MS;
  }

  /**
   * The certificate that this Pod's etcd shows, and those of which each is proof. True when it shows one of these; any
   * other one is older than the file.
   */
  judge({ metadata }: Pod, shown: string | undefined, proofs: readonly string[]): boolean {
    const uid = metadata?.uid ?? "";
    if (!this.#askedSince.has(uid)) this.#askedSince.set(uid, this.#clock.monotonic());
    if (shown === undefined) return false;
    const isNew = proofs.includes(shown);
    if (isNew) this.#proven.add(uid);
    else this.#disproven.add(uid);
    return isNew;
  }

  /** When the next of them may be confirmed, as time of day; nothing else tells it. */
  get lookAgainAt(): number | undefined {
    const now = this.#clock.monotonic();
    const open = (known: ReadonlyMap<string, number>) => [...known].filter(([uid]) => !this.#proven.has(uid));
    const due = [
      ...open(this.#syncedAt)
        .filter(([uid]) => !this.#disproven.has(uid))
        .map(([, since]) => since + WRITES_WITHIN_MS - now),
      ...open(this.#askedSince)
        .filter(([, since]) => now - since < ASK_OFTEN_FOR_MS)
        .map(() => ASK_EVERY_MS),
    ].filter((waitMs) => waitMs > 0);
    return due.length === 0 ? undefined : this.#clock.now() + Math.min(...due);
  }

  /** Of the Pods of a cluster, those that still exist. */
  keepOnly(uids: ReadonlySet<string>): void {
    for (const known of [this.#syncedAt, this.#refusedAt, this.#askedSince, this.#proven, this.#disproven])
      for (const uid of known.keys()) if (!uids.has(uid)) known.delete(uid);
  }
}

/** Its kubelet knows of the touch. One older than 1.33 does not say. */
function hasSynced(pod: Pod): boolean {
  if (!isMarked(pod)) return true;
  const { metadata, status } = pod;
  // observedGeneration is newer than the published types.
  const { observedGeneration } = (status ?? {}) as { observedGeneration?: number };
  return observedGeneration === undefined || observedGeneration >= (metadata?.generation ?? 0);
}
