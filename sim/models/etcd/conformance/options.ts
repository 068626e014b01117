/** What a comparison is given, and what it tells. */
import type { Side, Slot } from "./side.ts";

export interface EtcdRun {
  readonly real: Side;
  readonly slots: readonly Slot[];
  readonly version: string;
  readonly seed: number;
  /** Begins with this one, to see again what it found. */
  readonly round?: number;
  readonly calls: number;
  readonly callsPerRound?: number;
  /** How often, between calls, something is done to a process. */
  readonly lives?: number;
  /** After so many calls the whole cluster is lost and comes back from what is left; never, unless given. */
  readonly callsPerDisaster?: number;
  /** How long the real side may take to show what the model shows. */
  readonly patienceMs?: number;
  readonly now: () => number;
  readonly wait: (ms: number) => Promise<void>;
  /** Ends the run at the next call. */
  readonly signal?: AbortSignal;
  readonly onDifference: (text: string) => void;
  readonly onStep?: (text: string) => void;
  /** Where to see how far the run is. */
  readonly progress?: Progress;
}

export interface Progress {
  report: EtcdReport;
}

export interface EtcdReport {
  readonly calls: number;
  readonly lives: number;
  /** Times that a cluster came back from a snapshot or a survivor. */
  readonly disasters: number;
  readonly refused: number;
  /** Rounds that ended early since the real side elected somebody in the midst of it. */
  readonly unsettled: number;
  readonly disagreements: number;
}
