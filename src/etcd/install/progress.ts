/**
 * What an installation reports while it works: a sentence at each step, and again with the elapsed
 * time while a step takes long, so that a silent minute of compiling does not look like a hang.
 */
import type { Clock } from "../../seams/clock.ts";

export interface InstallProgress {
  readonly version: string;
  /** "building from Go modules, 120 packages compiled" */
  readonly text: string;
  /** Since this installation began. */
  readonly elapsedMs: number;
}

export type OnProgress = (progress: InstallProgress) => void;

const REPEAT_MS = 5_000;

/** The voice of one installation. */
export class Reporter implements Disposable {
  readonly #version: string;
  readonly #clock: Clock;
  readonly #onProgress: OnProgress | undefined;
  readonly #began: number;
  #text = "";
  #timer: { cancel(): void } | undefined;

  constructor(version: string, clock: Clock, onProgress: OnProgress | undefined) {
    this.#version = version;
    this.#clock = clock;
    this.#onProgress = onProgress;
    this.#began = clock.monotonic();
  }

  /** A new step: told at once. */
  step(text: string): void {
    this.#text = text;
    this.#tell();
  }

  /** More of the same step: told with the next repetition. */
  detail(text: string): void {
    this.#text = text;
  }

  elapsedMs(): number {
    return this.#clock.monotonic() - this.#began;
  }

  #tell(): void {
    this.#timer?.cancel();
    this.#onProgress?.({ version: this.#version, text: this.#text, elapsedMs: this.elapsedMs() });
    this.#timer = this.#clock.timer(REPEAT_MS, () => this.#tell(), { background: true });
  }

  [Symbol.dispose](): void {
    this.#timer?.cancel();
  }
}
