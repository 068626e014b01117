/**
 * Connections that nothing is asked over, of all clusters that one process looks after. Each costs 100 kB, most of it
 * for TLS, which is not given back to the system either: beyond a number, who was used longest ago is ended. The one
 * that was used last of each cluster stays, for short looks at it (control/glance.ts).
 */
interface Closable {
  destroy(): void;
}

/** Told of each connection that is put away for later, and of each that is used again, or gone. */
export interface Idle {
  add(connection: Closable): void;
  delete(connection: Closable): void;
}

export class IdleConnections implements Idle {
  readonly #most: () => number;
  /** In the order of their last use. */
  readonly #idle = new Set<Closable>();

  /** As many are kept; how many that is may change. */
  constructor(most: number | (() => number)) {
    this.#most = typeof most === "number" ? () => most : most;
  }

  get size(): number {
    return this.#idle.size;
  }

  add(connection: Closable): void {
    this.#idle.delete(connection);
    this.#idle.add(connection);
    for (const oldest of this.#idle) {
      if (this.#idle.size <= this.#most()) return;
      this.#idle.delete(oldest);
      oldest.destroy();
    }
  }

  delete(connection: Closable): void {
    this.#idle.delete(connection);
  }

  /** Those of one cluster: the last one is its own, and does not count among all. */
  ofOne(): Idle {
    let last: Closable | undefined;
    return {
      add: (connection) => {
        if (last !== undefined && last !== connection) this.add(last);
        this.delete(connection);
        last = connection;
      },
      delete: (connection) => {
        if (last === connection) last = undefined;
        this.delete(connection);
      },
    };
  }
}
