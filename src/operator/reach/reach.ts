/**
 * How the members of one cluster are reached: each cluster has certificates of its own, and so connections of its
 * own. The simulator gives another way than the wire.
 */
import { GrpcTransport } from "../../etcd/grpc/transport.ts";
import type { TlsCredentials } from "../../etcd/types.ts";
import type { IdleConnections } from "../../http2/idle.ts";
import { HttpProbe } from "../../etcd/probe.ts";
import type { Clock } from "../../seams/clock.ts";
import type { EtcdProbe } from "../../seams/etcd-probe.ts";
import type { EtcdTransport } from "../../seams/etcd-transport.ts";

export interface EtcdReach {
  readonly transport: EtcdTransport;
  readonly probe: EtcdProbe;
  /** Another way to the members, with these credentials; closed by whoever asked for it. */
  connect?(credentials: TlsCredentials): EtcdTransport;
  /** What a process of ours answers to a GET, over plain HTTP; undefined, never a rejection, without a good answer. */
  read(url: string, signal: AbortSignal): Promise<string | undefined>;
  /** The Date of an answer to a GET, over plain HTTP; undefined, never a rejection, without one. */
  date?(url: string, signal: AbortSignal): Promise<number | undefined>;
  /** Throws when they cannot be read. */
  setCredentials(credentials: TlsCredentials): void;
  close(): Promise<void>;
}

/** The operator reads member lists, statuses and hashes; whoever chose the image could answer with anything. */
const LONGEST_ANSWER = 1024 * 1024;

/** gRPC and HTTP over TLS; `idle` are the connections of all clusters that nobody uses just now. */
export function overTheWire(clock: Clock, idle: IdleConnections): EtcdReach {
  const transport = new GrpcTransport({ clock, idle: idle.ofOne(), longestAnswer: LONGEST_ANSWER });
  const probe = new HttpProbe({ idle });
  return {
    transport,
    probe,
    connect: (credentials) => {
      const other = new GrpcTransport({ clock, idle: idle.ofOne(), longestAnswer: LONGEST_ANSWER });
      other.setCredentials(credentials);
      return other;
    },
    read: (url, signal) => probe.read(url, signal),
    date: (url, signal) => probe.date(url, signal),
    setCredentials: (credentials) => {
      transport.setCredentials(credentials);
      probe.setCredentials(credentials);
    },
    close: async () => {
      probe.close();
      await transport.close();
    },
  };
}
