/**
 * Good and bad changes of an EtcdMember, for the unit tests and for the tests with a real API server.
 */
import type { EtcdMember, EtcdMemberSpec } from "./etcd-member.ts";
import { API_VERSION } from "./metadata.ts";
import { parseCluster } from "./parse-cluster.ts";
import { exampleCluster } from "./examples.ts";

export interface MemberExample {
  readonly title: string;
  readonly old: Partial<EtcdMemberSpec>;
  readonly change: Partial<EtcdMemberSpec>;
  /** Where a refused change is reported; absent for one that is allowed. */
  readonly refusedAt?: string;
}

const identity: EtcdMemberSpec["identity"] = {
  token: "0c8e1f5a-1",
  boot: "New",
  initialCluster: [{ name: "demo-0", peerURL: "https://demo-0.demo:2380" }],
  peerURL: "https://demo-0.demo:2380",
  clientURL: "https://demo-0.demo:2379",
};

const volume = { name: "data-demo-0", uid: "5d1a" };

export function exampleMember(spec: Partial<EtcdMemberSpec> = {}, name = "demo-0"): EtcdMember {
  const parsed = parseCluster(exampleCluster());
  if (!parsed.ok) throw new Error(`the minimal cluster is not valid: ${JSON.stringify(parsed.errors)}`);
  const { version, image, options, storage, pod } = parsed.cluster.spec;
  return {
    apiVersion: API_VERSION,
    kind: "EtcdMember",
    metadata: { name },
    spec: {
      cluster: "demo",
      ordinal: 0,
      role: "Voter",
      identity,
      template: {
        renderVersion: 1,
        version,
        image,
        options,
        storage,
        pod,
        tls: { client: "Managed", peer: "Managed", clientAuth: "Required", extraSANs: [] },
      },
      joined: false,
      ...spec,
    },
  };
}

export const memberExamples: readonly MemberExample[] = [
  { title: "the latch shuts", old: { joined: false }, change: { joined: true } },
  {
    title: "the latch opens again",
    old: { joined: true },
    change: { joined: false },
    refusedAt: "spec.joined",
  },
  { title: "a learner is promoted", old: { role: "Learner" }, change: { role: "Voter" } },
  {
    title: "a voter becomes a learner",
    old: { role: "Voter" },
    change: { role: "Learner" },
    refusedAt: "spec.role",
  },
  {
    title: "another token",
    old: {},
    change: { identity: { ...identity, token: "other-2" } },
    refusedAt: "spec",
  },
  { title: "another ordinal", old: {}, change: { ordinal: 1 }, refusedAt: "spec" },
  {
    title: "another peer URL",
    old: {},
    change: { identity: { ...identity, peerURL: "https://demo-9.demo:2380" } },
    refusedAt: "spec",
  },
  {
    title: "the volume of the first start is recorded",
    old: {},
    change: { identity: { ...identity, volume } },
  },
  {
    title: "the volume is exchanged",
    old: { identity: { ...identity, volume } },
    change: { identity: { ...identity, volume: { ...volume, uid: "9e2b" } } },
    refusedAt: "spec.identity.volume",
  },
  {
    title: "the volume is forgotten",
    old: { identity: { ...identity, volume } },
    change: { identity },
    refusedAt: "spec.identity.volume",
  },
  {
    title: "the list for a joiner is rebuilt before it starts",
    old: { identity: { ...identity, boot: "Join" } },
    change: { identity: { ...identity, boot: "Join", initialCluster: [] } },
  },
  {
    title: "an intent is written before a membership call",
    old: {},
    change: { intent: { kind: "Add", peerURL: identity.peerURL, at: "2026-01-01T00:00:00Z" } },
  },
];
