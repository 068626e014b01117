/**
 * Restores of first members on one machine, for a loop that must not wait: asking answers at once, and the restore goes
 * on in the background. Nothing of it is remembered: a directory with a log in it was restored, an empty one was not.
 */
import type { RestoreRecipe, RestoreFault } from "../api/bootstrap.ts";
import type { MemberRecord } from "../core/record.ts";

export interface RestoreRequest {
  readonly restore: RestoreRecipe;
  readonly record: MemberRecord;
  /** The volume's own directory, and the data directory in it. */
  readonly volume: string;
  readonly dataDir: string;
  /** Of a point in time that was built here and encrypted; otherwise the environment has the key. */
  readonly keyFile?: string;
}

/** Makes the data directory, or rejects with an error that has a `fault`. */
export type Restorer = (
  request: RestoreRequest,
  tell: (text: string) => void,
  signal: AbortSignal,
) => Promise<void>;

export type RestoreState =
  | { readonly state: "running"; readonly text: string }
  | { readonly state: "done" }
  | { readonly state: "failed"; readonly fault: RestoreFault; readonly message: string };

interface Running {
  readonly uid: string;
  readonly abort: AbortController;
  readonly ended: Promise<void>;
  state: RestoreState;
}

export class Restores {
  readonly #restorer: Restorer;
  readonly #onEvent: () => void;
  /** By member. */
  readonly #running = new Map<string, Running>();

  constructor(restorer: Restorer, onEvent: () => void) {
    this.#restorer = restorer;
    this.#onEvent = onEvent;
  }

  /** How far it is; the first question begins it, and so does the next one after a failure was told. */
  advance(request: RestoreRequest): RestoreState {
    const { name, uid } = request.record;
    const known = this.#running.get(name);
    if (known?.uid === uid) {
      if (known.state.state !== "running") this.#running.delete(name);
      return known.state;
    }
    known?.abort.abort();
    return this.#begin(request).state;
  }

  #begin(request: RestoreRequest): Running {
    const { name, uid } = request.record;
    const abort = new AbortController();
    const tell = (text: string) => {
      if (running.state.state !== "running" || running.state.text === text) return;
      running.state = { state: "running", text };
      this.#onEvent();
    };
    const ended = Promise.resolve()
      .then(() => this.#restorer(request, tell, abort.signal))
      .then((): RestoreState => ({ state: "done" }), failed)
      .then((state) => {
        running.state = state;
        if (!abort.signal.aborted) this.#onEvent();
      });
    const running: Running = { uid, abort, ended, state: { state: "running", text: "starting" } };
    this.#running.set(name, running);
    return running;
  }

  /** Its member is gone, or is to be. */
  forget(member: string): void {
    this.#running.get(member)?.abort.abort();
    this.#running.delete(member);
  }

  /** Ends all of them and waits until nothing is written any more. */
  async close(): Promise<void> {
    const running = [...this.#running.values()];
    for (const { abort } of running) abort.abort();
    await Promise.all(running.map(({ ended }) => ended));
    this.#running.clear();
  }
}

function failed(error: unknown): RestoreState {
  const { fault = "failed" } = error as { fault?: RestoreFault };
  return { state: "failed", fault, message: error instanceof Error ? error.message : String(error) };
}
