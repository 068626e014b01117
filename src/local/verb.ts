/** What a verb of a local cluster works on, and what it came to. */
import type { EtcdClusterStatus } from "../api/etcd-cluster-status.ts";
import type { Problem } from "../control/problem.ts";
import type { TranscriptEntry } from "../control/transcript.ts";
import type { Decision } from "../core/action.ts";
import type { Observation } from "../core/observation.ts";
import type { Disk } from "../seams/disk.ts";
import type { Layout } from "./layout.ts";
import type { LocalPlatform } from "./platform.ts";

/** A running controller's inside, or what was found on the disk. */
export interface Subject {
  readonly layout: Layout;
  readonly disk: Disk;
  readonly platform: LocalPlatform;
  /** The newest observation and what was decided on it. */
  look(): Promise<Seen>;
  /** Something changed: let the loop look. */
  wake(): void;
  transcript(): readonly TranscriptEntry[];
  /** Ends the members, and the controller if there is one. */
  down(): Promise<void>;
  readonly controller?: { readonly pid: number; readonly since: number };
}

export interface Seen {
  readonly observation: Observation;
  readonly decision: Decision;
  readonly problems: readonly Problem[];
  readonly status: EtcdClusterStatus;
}

export interface Done {
  readonly text: string;
  readonly warnings?: readonly string[];
}
