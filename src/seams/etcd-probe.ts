/**
 * What etcd tells over plain HTTP and not over gRPC, as a port: the version that the whole cluster speaks,
 * whether a process is alive and ready (R34), to which members it is connected, and which certificate it has now.
 */
import type { Endpoint } from "./etcd-transport.ts";
import type { KeyPair } from "./pki.ts";

export interface EtcdVersions {
  readonly server: string;
  /** Undefined while the members have not agreed on one. */
  readonly cluster?: string;
}

export interface EtcdProbe {
  /** `/version` of the client URL. Rejects when there is no answer. */
  versions(endpoint: Endpoint, signal: AbortSignal): Promise<EtcdVersions>;
  /** `/livez` of the metrics URL. False, never a rejection, when there is no good answer. */
  alive(metricsURL: string, signal: AbortSignal): Promise<boolean>;
  /** A health path of the metrics URL that reads through quorum, `/readyz` say. False, never a rejection. */
  ready(url: string, signal: AbortSignal): Promise<boolean>;
  /**
   * The IDs of the members that this one is connected to, from its `/metrics` on the metrics URL; undefined, never a
   * rejection, when there is no good answer.
   */
  activePeers(metricsURL: string, signal: AbortSignal): Promise<ReadonlySet<string> | undefined>;
  /**
   * The SHA-256 of the server certificate that a new connection is shown, lower-case hex: etcd reads the file for each
   * (R45). Undefined, never a rejection, without an answer or TLS.
   */
  certificate(endpoint: Endpoint, signal: AbortSignal): Promise<string | undefined>;
  /**
   * A new connection that shows this certificate, to the client or the peer port: what it is shown, whoever issued that,
   * and whether a request over it is answered. Undefined, never a rejection, without an answer or TLS.
   */
  offer(endpoint: Endpoint, offered: KeyPair, signal: AbortSignal): Promise<Offered | undefined>;
}

export interface Offered {
  /** PEM. */
  readonly shown: string;
  /** The other side accepted the certificate that it was offered. */
  readonly served: boolean;
}
