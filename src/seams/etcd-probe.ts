/**
 * What etcd tells over plain HTTP and not over gRPC, as a port: the version that the whole cluster speaks,
 * and whether a process is alive (R34).
 */
import type { Endpoint } from "./etcd-transport.ts";

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
}
