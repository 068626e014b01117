/**
 * When the cluster was at which revision, as reads through quorum told: so that it can be said from when on writes are
 * missing in a copy that ends at a revision. Few are kept; the older they are, the further apart.
 */
import type { RevisionLook } from "../core/facts/etcd-facts.ts";

const MOST = 64;

export class RevisionLooks {
  #looks: RevisionLook[] = [];

  /** In the order of time. */
  get all(): readonly RevisionLook[] {
    return this.#looks;
  }

  /** A read through quorum that began at the mark `at` told this revision: what is above it was written later. */
  see(revision: number, at: number): void {
    const last = this.#looks.at(-1);
    if (last && (at < last.at || revision < last.revision)) return;
    if (last?.revision === revision) this.#looks.pop();
    this.#looks.push({ revision, at });
    if (this.#looks.length > MOST) this.#thin(at);
  }

  forget(): void {
    this.#looks = [];
  }

  /** Without the one whose neighbours are closest together for its age: what follows from the rest is longer, and true. */
  #thin(now: number): void {
    const gap = (index: number) => {
      const [before, here, next] = this.#looks.slice(index - 1, index + 2);
      return before && here && next ? (next.at - before.at) / (now - here.at + 1) : Infinity;
    };
    const inner = this.#looks.map((_, index) => index).slice(1, -1);
    const [dropped] = inner.toSorted((a, b) => gap(a) - gap(b));
    this.#looks = this.#looks.filter((_, index) => index !== dropped);
  }
}
