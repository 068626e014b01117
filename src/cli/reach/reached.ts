/** A cluster that can be dialled from this machine, by our own client and by etcdctl. */
import { EtcdClient } from "../../etcd/client.ts";
import { GrpcTransport } from "../../etcd/grpc/transport.ts";
import type { TlsCredentials } from "../../etcd/types.ts";
import type { Endpoint } from "../../seams/etcd-transport.ts";
import type { CliIo } from "../io.ts";

export interface Reached {
  readonly name: string;
  /** Members that answer. */
  readonly endpoints: readonly (Endpoint & { readonly name: string })[];
  /** As PEM; undefined for a cluster whose clients use plaintext. */
  readonly credentials: TlsCredentials | undefined;
  /** What etcdctl needs to find and trust the cluster. */
  environment(): Promise<Readonly<Record<string, string>>>;
  /** Ends port-forwards, and removes files that were written. */
  close(): Promise<void>;
}

export interface OwnClient {
  readonly client: EtcdClient;
  close(): Promise<void>;
}

export interface EtcdUser {
  readonly user: string;
  readonly password: string;
}

export function ownClient({ endpoints, credentials }: Reached, io: CliIo, user?: EtcdUser): OwnClient {
  const { clock } = io;
  const transport = new GrpcTransport({ clock, ...(credentials && { tls: credentials }) });
  const client = new EtcdClient({ transport, clock, endpoints, ...(user && { credentials: user }) });
  return { client, close: () => transport.close() };
}

/** Learners answer hardly any call, so etcdctl is not sent to them. */
export function endpointsOf({ endpoints }: Pick<Reached, "endpoints">): string {
  const voters = endpoints.filter(({ learner }) => learner !== true);
  return (voters.length > 0 ? voters : endpoints).map(({ url }) => url).join(",");
}
