/**
 * The files of Secrets and ConfigMaps in the Pods of one node. A kubelet writes them when it mounts them, soon after the
 * Pod changed, and else only once in a while; cut off from the API server it writes nothing. A container that ends
 * makes a real kubelet sync as well, and the new files then nearly always win against the restart: here never.
 */
import { same, type KubeJson } from "../object.ts";

type Files = Readonly<Record<string, string>>;

/** A kubelet syncs every Pod once in 60 to 90 s. */
export const SYNC_MS = 90_000;
/** It reports a change of a Pod before it has written the files: up to 0.2 s, as measured (docs/start.md). */
export const WRITES_AFTER_MS = 200;

interface Synced {
  pod: KubeJson;
  readonly volumes: Map<string, { files: Files; at: number }>;
}

export class LateFiles {
  readonly #read: (pod: KubeJson, volume: string) => Files;
  readonly #now: () => number;
  readonly #after: (ms: number, work: () => void) => void;
  /** By the UID of the Pod. */
  readonly #synced = new Map<string, Synced>();
  /** A kubelet that has much to do takes longer than any that was measured. */
  writesAfterMs = WRITES_AFTER_MS;

  constructor(
    read: (pod: KubeJson, volume: string) => Files,
    now: () => number,
    after: (ms: number, work: () => void) => void,
  ) {
    this.#read = read;
    this.#now = now;
    this.#after = after;
  }

  /** The kubelet sees the Pod as it is now. Its own reports are no change. */
  see(pod: KubeJson): void {
    const known = this.#synced.get(pod.metadata.uid);
    if (!known || same(touchable(known.pod), touchable(pod))) return;
    known.pod = pod;
    // What it is to write it has seen by now, also should it be cut off before it does.
    const { volumes = [] } = pod["spec"] as { volumes?: { name: string }[] };
    const files = volumes.map(({ name }) => [name, this.#read(pod, name)] as const);
    this.#after(this.writesAfterMs, () => {
      if (known.pod === pod) for (const [name, found] of files) this.#keep(known, name, found);
    });
  }

  /** What a container finds that starts now. */
  of(pod: KubeJson, volume: string, connected: boolean): Files {
    const { uid } = pod.metadata;
    const known = this.#synced.get(uid) ?? { pod, volumes: new Map() };
    this.#synced.set(uid, known);
    const found = known.volumes.get(volume);
    if (found && (!connected || this.#now() - found.at < SYNC_MS)) return found.files;
    return this.#write(known, volume);
  }

  /** Cut off now: what is older than a sync was written before. */
  cut(): void {
    for (const known of this.#synced.values())
      for (const [volume, { at }] of known.volumes)
        if (this.#now() - at >= SYNC_MS) this.#write(known, volume);
  }

  /** Secrets are in memory, and Pods that are gone have none. */
  forget(uid?: string): void {
    if (uid === undefined) this.#synced.clear();
    else this.#synced.delete(uid);
  }

  #write(known: Synced, volume: string): Files {
    return this.#keep(known, volume, this.#read(known.pod, volume));
  }

  #keep(known: Synced, volume: string, files: Files): Files {
    known.volumes.set(volume, { files, at: this.#now() });
    return files;
  }
}

function touchable({ metadata, spec }: KubeJson): object {
  return { labels: metadata.labels ?? {}, annotations: metadata.annotations ?? {}, spec };
}
