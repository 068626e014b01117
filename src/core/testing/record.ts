/** Member records and file paths for tests of what is rendered from them. */
import type { EtcdClusterSpecInput } from "../../api/etcd-cluster-spec.ts";
import type { ConfigPaths } from "../config/flags.ts";
import type { MemberRecord } from "../record.ts";
import { templateFor } from "../template/template.ts";
import { specOf } from "./cluster.ts";

/** One of every minor. */
export const VERSIONS = ["3.4.45", "3.5.35", "3.6.16", "3.7.3"] as const;
export type Version = (typeof VERSIONS)[number];

export const paths: ConfigPaths = {
  dataDir: "/data",
  serverPem: "/tls/server.pem",
  peerPem: "/tls/peer.pem",
  clientCA: "/tls/client-ca.pem",
  peerCA: "/tls/peer-ca.pem",
  tokenKey: "/tls/auth-token.key",
};

const founders = [1, 2, 3].map((n) => ({ name: `demo-${n}`, peerURL: `https://demo-${n}.demo:2380` }));

/** A founder of three that has not joined yet, unless told otherwise. */
export function recordOf(
  version: string,
  spec: Partial<EtcdClusterSpecInput> = {},
  more: Partial<MemberRecord> = {},
): MemberRecord {
  return {
    name: "demo-1",
    ordinal: 1,
    uid: "u1",
    resourceVersion: "1",
    createdAt: 0,
    role: "Voter",
    token: "uid-1",
    boot: "New",
    address: {
      peerURL: "https://demo-1.demo:2380",
      clientURL: "https://demo-1.demo:2379",
      metricsURL: "http://demo-1.demo:2381",
      listenPeerURL: "https://0.0.0.0:2380",
      listenClientURL: "https://0.0.0.0:2379",
      listenMetricsURL: "http://0.0.0.0:2381",
    },
    initialCluster: founders,
    joined: false,
    run: true,
    template: templateFor(specOf({ version, ...spec }), version),
    ...more,
  };
}
