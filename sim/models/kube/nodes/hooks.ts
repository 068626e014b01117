/** Where the processes of Pods come from: what the model kubelet asks of whoever models them, and tells it. */
import type { KubeJson } from "../object.ts";

/** How a container ended, as a runtime tells it. */
export interface Ending {
  readonly exitCode: number;
  /** `Error`, `Completed`, `OOMKilled`. */
  readonly reason?: string;
  /** The end of its log. */
  readonly message?: string;
}

/** One start of one container. */
export interface Start {
  readonly pod: KubeJson;
  readonly container: string;
  readonly node: string;
  readonly ip: string;
  /** How often this container of this Pod was started before. */
  readonly restarts: number;
  /** Which disk or memory is behind each volume: the same text is the same data. */
  readonly disks: Readonly<Record<string, string>>;
  /** The files of a mounted Secret or ConfigMap, as the kubelet has written them. */
  files(volume: string): Readonly<Record<string, string>>;
  /** To be called when it has ended by itself, or after it was asked to. */
  ended(how: Ending): void;
}

export interface Running {
  /** SIGTERM. It has until the kubelet loses patience to call `ended`. */
  stop(): void;
  /** SIGKILL or power loss: it is gone at once and says nothing any more. */
  kill(): void;
  freeze?(): void;
  thaw?(): void;
  /** Its readiness probe; true when absent. */
  isReady?(): boolean;
  /** Its liveness probe; true when absent. */
  isAlive?(): boolean;
}

export interface Hooks {
  /** Undefined for containers that just run. */
  onStart?(start: Start): Running | undefined;
  /** An init container runs to its end at once; success when there is no answer. */
  onInit?(start: Omit<Start, "ended">): Ending | undefined;
  hasImage?(image: string): boolean;
  /** How soon a container that ended for the first time is started again; half a second when absent. */
  readonly restartMs?: number;
  /** Data that nobody will see again. */
  onDiskGone?(disk: string): void;
}
