/**
 * Connections that nothing is asked over, of all clusters that one process looks after. Each costs 100 kB, most of it
 * for TLS, which is not given back to the system either: beyond a number, who was used longest ago is ended.
 */
interface Closable {
  destroy(): void;
}

export class IdleConnections {
  readonly #most: number;
  /** In the order of their last use. */
  readonly #idle = new Set<Closable>();

  constructor(most: number) {
    this.#most = most;
  }

  get size(): number {
    return this.#idle.size;
  }

  add(connection: Closable): void {
    this.#idle.delete(connection);
    this.#idle.add(connection);
    if (this.#idle.size <= this.#most) return;
    const [oldest] = this.#idle;
    if (oldest === undefined) return;
    this.#idle.delete(oldest);
    oldest.destroy();
  }

  /** It is used again, or gone. */
  delete(connection: Closable): void {
    this.#idle.delete(connection);
  }
}
