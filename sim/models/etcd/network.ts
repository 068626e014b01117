/** The processes that run, and who reaches whom: ended, frozen and cut-off processes reach nobody. */
import type { Server } from "./server.ts";

export class Network {
  readonly #servers = new Map<string, Server>();
  readonly #cuts = new Set<string>();
  /** What else may stand between two processes, such as a node that is cut off. */
  between: (a: Server, b: Server) => boolean = () => false;
  /** Whether the name in a URL leads anywhere. */
  resolves: (url: string) => boolean = () => true;

  add(server: Server): void {
    this.#servers.set(server.key, server);
  }

  remove(server: Server): void {
    this.#servers.delete(server.key);
  }

  all(): Server[] {
    return [...this.#servers.values()];
  }

  get(key: string): Server | undefined {
    return this.#servers.get(key);
  }

  /**
   * Both run, nothing stands between them, and one of them could dial the other by the URL that its list has, or did so
   * before the URL changed: a connection stays until one of the two ends (R52).
   */
  connected(a: Server, b: Server): boolean {
    if (a.phase !== "running" || b.phase !== "running" || a.frozen || b.frozen) return false;
    if (this.#apart(a, b) || !knowsTLS(a, b) || !knowsTLS(b, a)) return false;
    return a.linked.has(b.key) || dials(a, b) || dials(b, a);
  }

  #apart(a: Server, b: Server): boolean {
    return this.between(a, b) || (this.#cuts.size > 0 && this.#cuts.has(pair(a.config.name, b.config.name)));
  }

  /** Who has bound this peer URL, booting ones included. */
  peerAt(url: string, from?: Server): Server | undefined {
    if (!this.resolves(url)) return undefined;
    for (const server of this.#servers.values()) {
      if (server === from || server.frozen || !server.config.peerURLs.includes(url)) continue;
      if (from && this.#apart(from, server)) return undefined;
      return server;
    }
    return undefined;
  }

  /** Who serves clients at this URL. A frozen one is found: its kernel still accepts the connection. */
  clientAt(url: string): Server | undefined {
    for (const server of this.#servers.values()) {
      if (server.config.clientURLs.includes(url) || server.config.listenClientURLs.includes(url))
        return server;
    }
    return undefined;
  }

  /** The name of the process that has bound one of these addresses already. */
  bound(server: Server): string | undefined {
    const wanted = [...server.config.listenPeerURLs, ...server.config.listenClientURLs];
    for (const other of this.#servers.values()) {
      const theirs = [...other.config.listenPeerURLs, ...other.config.listenClientURLs];
      const clash = theirs.find((url) => wanted.includes(url));
      if (clash !== undefined) return clash;
    }
    return undefined;
  }

  /** No packet passes between two members, by name. */
  cut(a: string, b: string): void {
    this.#cuts.add(pair(a, b));
  }

  heal(): void {
    this.#cuts.clear();
  }
}

/** R52: without certificates nobody reaches one that listens with TLS. */
function knowsTLS(from: Server, to: Server): boolean {
  return from.config.dialsTLS || to.config.listenPeerURLs.some((url) => url.startsWith("http:"));
}

/** R52: it listens by the scheme of the URL at which the other one looks for it. */
function dials(from: Server, to: Server): boolean {
  const listed = from.knownMembers().find(({ id }) => id === to.id)?.peerURLs ?? [];
  const schemes = to.config.listenPeerURLs.map(schemeOf);
  return listed.some((url) => schemes.includes(schemeOf(url)));
}

function schemeOf(url: string): string {
  return url.slice(0, url.indexOf(":"));
}

function pair(a: string, b: string): string {
  return a < b ? `${a} ${b}` : `${b} ${a}`;
}
