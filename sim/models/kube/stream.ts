/** A stream of objects to a reader that may leave, be cut off, or be reported that it is over. */
import { KubeFailure } from "../../../src/seams/kube-transport.ts";

export class EventStream {
  readonly #events: unknown[] = [];
  readonly #onClose: () => void;
  #ended: KubeFailure | "cleanly" | undefined;
  #wake: (() => void) | undefined;

  constructor(onClose: () => void) {
    this.#onClose = onClose;
  }

  push(event: unknown): void {
    if (this.#ended !== undefined) return;
    this.#events.push(event);
    this.#wake?.();
  }

  /** What was pushed before is still read, unless the connection is gone. */
  end(how: KubeFailure | "cleanly"): void {
    if (this.#ended !== undefined) return;
    this.#ended = how;
    if (how !== "cleanly") this.#events.length = 0;
    this.#onClose();
    this.#wake?.();
  }

  async *read(): AsyncGenerator<unknown> {
    try {
      for (;;) {
        if (this.#events.length > 0) yield this.#events.shift();
        else if (this.#ended === "cleanly") return;
        else if (this.#ended !== undefined) throw this.#ended;
        else
          await new Promise<void>((resolve) => {
            this.#wake = resolve;
          });
      }
    } finally {
      this.end("cleanly");
    }
  }
}
