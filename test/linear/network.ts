/**
 * The network between members: a TCP proxy before each member's peer address, and rules for who reaches
 * whom, in which direction, how late and how fast. Without rules it only forwards.
 */
import net, { type Server, type Socket } from "node:net";
import { dialerOf, type Candidate } from "./dialer.ts";
import { Pipe, type Conditions } from "./pipe.ts";

const HOST = "127.0.0.1";
const CLEAR: Conditions = { blocked: false, delayMs: 0, bytesPerSecond: Number.POSITIVE_INFINITY };

/** Concerns bytes from one member to another, whoever dialled; absent means all. */
export interface Rule extends Partial<Conditions> {
  readonly from?: string;
  readonly to?: string;
}

interface Proxy {
  readonly server: Server;
  readonly connections: Set<Connection>;
}

interface Connection {
  readonly sockets: readonly Socket[];
  /** Something ended, or the rules changed. */
  look(): void;
}

export class Network implements AsyncDisposable {
  readonly #members: () => readonly Candidate[];
  readonly #proxies = new Map<string, Proxy>();
  readonly #rules = new Set<Rule>();
  /** Connections whose dialler the system told. */
  identified = 0;
  accepted = 0;

  constructor(members: () => readonly Candidate[]) {
    this.#members = members;
  }

  /** Listens where the member is known to be, and forwards to where it listens. Once open, nothing. */
  async open(member: string, knownAt: number, listensAt: number): Promise<void> {
    if (this.#proxies.has(member)) return;
    const connections = new Set<Connection>();
    const server = net.createServer({ allowHalfOpen: true, pauseOnConnect: true }, (socket) => {
      socket.on("error", () => socket.destroy());
      this.#join(socket, member, knownAt, listensAt, connections);
    });
    this.#proxies.set(member, { server, connections });
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject);
      server.listen({ host: HOST, port: knownAt, exclusive: true }, resolve);
    });
    server.unref();
  }

  #join(dialer: Socket, to: string, knownAt: number, listensAt: number, connections: Set<Connection>): void {
    this.accepted++;
    const from = dialerOf(dialer.remotePort ?? 0, knownAt, this.#members()) ?? "unknown";
    if (from !== "unknown") this.identified++;
    const listener = net.connect({ host: HOST, port: listensAt, allowHalfOpen: true });
    const pipes = [
      new Pipe(dialer, listener, () => this.#conditions(from, to)),
      new Pipe(listener, dialer, () => this.#conditions(to, from)),
    ];
    const tell = (gone: Socket, other: Socket, way: Conditions) => {
      // Who is cut off does not hear that the other is gone.
      if (gone.destroyed && !way.blocked) other.destroy();
    };
    const connection: Connection = {
      sockets: [dialer, listener],
      look: () => {
        for (const pipe of pipes) pipe.look();
        tell(dialer, listener, this.#conditions(from, to));
        tell(listener, dialer, this.#conditions(to, from));
        if (dialer.destroyed && listener.destroyed) connections.delete(connection);
      },
    };
    connections.add(connection);
    listener.on("error", () => listener.destroy());
    for (const socket of connection.sockets) {
      socket.on("close", () => connection.look());
      socket.setNoDelay(true);
    }
    connection.look();
  }

  #conditions(from: string, to: string): Conditions {
    let all = CLEAR;
    for (const rule of this.#rules) {
      if ((rule.from ?? from) !== from || (rule.to ?? to) !== to) continue;
      all = {
        blocked: all.blocked || rule.blocked === true,
        delayMs: all.delayMs + (rule.delayMs ?? 0),
        bytesPerSecond: Math.min(all.bytesPerSecond, rule.bytesPerSecond ?? Number.POSITIVE_INFINITY),
      };
    }
    return all;
  }

  /** Rules in force until the answer is called. */
  impose(...rules: readonly Rule[]): () => void {
    for (const rule of rules) this.#rules.add(rule);
    this.#look();
    return () => {
      for (const rule of rules) this.#rules.delete(rule);
      this.#look();
    };
  }

  /** Nobody hears the member, it hears nobody, or both. */
  isolate(member: string, how: "both" | "out" | "in" = "both"): () => void {
    const rules: Rule[] = [];
    if (how !== "in") rules.push({ from: member, blocked: true });
    if (how !== "out") rules.push({ to: member, blocked: true });
    return this.impose(...rules);
  }

  /** Every connection ends at once; members dial anew, and show their certificates anew. */
  reset(): void {
    for (const { connections } of this.#proxies.values())
      for (const { sockets } of connections) for (const socket of sockets) socket.destroy();
  }

  #look(): void {
    for (const { connections } of this.#proxies.values())
      for (const connection of connections) connection.look();
  }

  /** Closes what stands before members that are gone, so that their ports are free. */
  async keep(members: ReadonlySet<string>): Promise<void> {
    for (const member of this.#proxies.keys()) if (!members.has(member)) await this.#close(member);
  }

  async #close(member: string): Promise<void> {
    const proxy = this.#proxies.get(member);
    if (proxy === undefined) return;
    this.#proxies.delete(member);
    const closed = new Promise((resolve) => proxy.server.close(resolve));
    for (const { sockets } of proxy.connections) for (const socket of sockets) socket.destroy();
    await closed;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.keep(new Set());
  }
}
