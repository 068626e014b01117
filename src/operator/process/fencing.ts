/**
 * Who may act: the holder of the lease, and only while enough of its term is left for the effect to end within
 * it. Checked before every write to the API server and before every step (H10: a check is no fence by itself;
 * records are written under their resourceVersion on top).
 */
import { LeaseLost, type Term } from "../../kube/term.ts";
import { KubeFailure, type KubeTransport } from "../../seams/kube-transport.ts";

/** Longer than any effect may take: calls to etcd and to the API server have deadlines of at most this. */
export const EFFECT_MS = 5_000;

export class Fence {
  #term: Term | undefined;

  /** From now on we lead, in this term. */
  lead(term: Term): void {
    this.#term = term;
  }

  get leads(): boolean {
    return (this.#term?.remainingMs() ?? 0) > EFFECT_MS;
  }

  /** Throws `LeaseLost` when nothing may be done. */
  check(): void {
    if (this.#term === undefined) throw new LeaseLost("not done: this process does not hold the lease");
    this.#term.check(EFFECT_MS);
  }
}

/** Reads go through; a write is not sent unless we lead. */
export function fencedTransport(transport: KubeTransport, fence: Pick<Fence, "check">): KubeTransport {
  return {
    async request(request, options) {
      if (request.method !== "GET") {
        try {
          fence.check();
        } catch (error) {
          const why = error instanceof Error ? error.message : String(error);
          throw new KubeFailure("not-sent", "cancelled", why, { cause: error });
        }
      }
      return await transport.request(request, options);
    },
    stream: (request, options) => transport.stream(request, options),
    close: () => transport.close(),
  };
}
