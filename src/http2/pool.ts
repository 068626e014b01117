/**
 * The connections of one client, by server, shared by all calls. New credentials retire those made with the old ones:
 * calls under way finish on them. What met a connection already closed goes on a new one; no byte of it had left.
 */
import type { ClientHttp2Stream, OutgoingHttpHeaders } from "node:http2";
import type { SecureContext } from "node:tls";
import { Connection, type CallKind, type ConnectionOptions } from "./connection.ts";
import { dial, sameTls, secureContext, type Target, type TlsMaterial } from "./dial.ts";
import { ended, Http2Failure } from "./failure.ts";

interface Shelf {
  readonly connections: Set<Connection>;
  /** One at a time: a burst of calls after a loss must not become a burst of connections. */
  opening: Promise<Connection> | undefined;
}

export interface Begun {
  readonly connection: Connection;
  readonly stream: ClientHttp2Stream;
}

export class Pool {
  readonly #options: ConnectionOptions;
  readonly #shelves = new Map<string, Shelf>();
  readonly #alive = new Set<Connection>();
  #tls: TlsMaterial | undefined;
  #context: SecureContext | undefined;
  #closed = false;

  constructor(options: ConnectionOptions) {
    this.#options = options;
  }

  /** Throws on what is no PEM, and keeps what it had. */
  setCredentials(tls: TlsMaterial): void {
    if (this.#tls !== undefined && sameTls(this.#tls, tls)) return;
    this.#context = secureContext(tls);
    this.#tls = tls;
    this.#shelves.clear();
    for (const connection of this.#alive) connection.retire();
  }

  /** Connections not yet closed. */
  get size(): number {
    return this.#alive.size;
  }

  async begin(
    target: Target,
    headers: OutgoingHttpHeaders,
    kind: CallKind,
    signal: AbortSignal,
  ): Promise<Begun> {
    let made = 0;
    for (;;) {
      if (signal.aborted) throw ended(signal, "not-sent");
      const known = this.#known(target);
      const connection = known ?? (await this.#opened(target, signal));
      // Others waited for the same one and were quicker.
      if (!connection.hasRoom) continue;
      try {
        return { connection, stream: connection.request(headers, kind) };
      } catch (error) {
        // It had died unnoticed, or was made with credentials that were replaced meanwhile.
        if (known === undefined && ++made > 1) throw error;
      }
    }
  }

  close(): void {
    this.#closed = true;
    this.#shelves.clear();
    for (const connection of this.#alive) connection.destroy();
    this.#alive.clear();
  }

  #known(target: Target): Connection | undefined {
    const { connections = [] } = this.#shelves.get(keyOf(target)) ?? {};
    for (const connection of connections) if (connection.usable && connection.hasRoom) return connection;
    return undefined;
  }

  /** A connection is shared, so that one caller's abort ends only its own waiting. */
  async #opened(target: Target, signal: AbortSignal): Promise<Connection> {
    if (this.#closed) throw new Http2Failure("not-sent", "cancelled", "the transport is closed");
    const key = keyOf(target);
    let shelf = this.#shelves.get(key);
    if (shelf === undefined) this.#shelves.set(key, (shelf = { connections: new Set(), opening: undefined }));
    shelf.opening ??= this.#open(target, shelf);
    const { opening } = shelf;
    return await new Promise((resolve, reject) => {
      const onAbort = () => reject(ended(signal, "not-sent"));
      signal.addEventListener("abort", onAbort, { once: true });
      opening.then(resolve, reject).finally(() => signal.removeEventListener("abort", onAbort));
    });
  }

  async #open(target: Target, shelf: Shelf): Promise<Connection> {
    const key = keyOf(target);
    const tidy = () => {
      const empty = shelf.connections.size === 0 && shelf.opening === undefined;
      if (empty && this.#shelves.get(key) === shelf) this.#shelves.delete(key);
    };
    try {
      const { clock, patience } = this.#options;
      const session = await dial(target, this.#context, clock, patience.connectMs, this.#tls?.ca);
      const connection: Connection = new Connection(session, this.#options, {
        onRetired: () => {
          shelf.connections.delete(connection);
          tidy();
        },
        onClosed: () => this.#alive.delete(connection),
      });
      if (connection.usable) this.#alive.add(connection);
      if (this.#closed) connection.destroy();
      else if (this.#shelves.get(key) !== shelf) connection.retire();
      else if (connection.usable) shelf.connections.add(connection);
      return connection;
    } finally {
      shelf.opening = undefined;
      tidy();
    }
  }
}

function keyOf({ url, serverName, proxy }: Target): string {
  return `${url} ${serverName ?? ""} ${proxy ?? ""}`;
}
