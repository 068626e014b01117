/**
 * Good and bad changes of an EtcdMember, for the unit tests and for the tests with a real API server.
 */
import type { EtcdMember, EtcdMemberSpec, MemberAddress } from "./etcd-member.ts";
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

const address: MemberAddress = {
  peerURL: "https://demo-1.demo-peers.default.svc:2380",
  clientURL: "https://demo-1.demo-peers.default.svc:2379",
  metricsURL: "http://demo-1.demo-peers.default.svc:2381",
  listenPeerURL: "https://0.0.0.0:2380",
  listenClientURL: "https://0.0.0.0:2379",
  listenMetricsURL: "http://0.0.0.0:2381",
};

export function exampleMember(spec: Partial<EtcdMemberSpec> = {}, name = "demo-1"): EtcdMember {
  const parsed = parseCluster(exampleCluster());
  if (!parsed.ok) throw new Error(`the minimal cluster is not valid: ${JSON.stringify(parsed.errors)}`);
  const { version, image, options, pod, tls } = parsed.cluster.spec;
  const { retention: _, ...storage } = parsed.cluster.spec.storage;
  return {
    apiVersion: API_VERSION,
    kind: "EtcdMember",
    metadata: { name },
    spec: {
      cluster: "demo",
      ordinal: 1,
      role: "Voter",
      token: "0c8e1f5a-1",
      boot: "New",
      address,
      initialCluster: [{ name: "demo-1", peerURL: address.peerURL }],
      joined: false,
      run: true,
      template: {
        renderVersion: 1,
        version,
        image,
        options: { ...options, quotaBackendBytes: "2Gi" },
        storage,
        pod,
        tls,
      },
      ...spec,
    },
  };
}

const { template } = exampleMember().spec;

export const memberExamples: readonly MemberExample[] = [
  { title: "the latch shuts", old: {}, change: { joined: true, memberID: "8e9e05c52164694d" } },
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
  { title: "another token", old: {}, change: { token: "other-2" }, refusedAt: "spec" },
  { title: "another ordinal", old: {}, change: { ordinal: 2 }, refusedAt: "spec" },
  { title: "another way to boot", old: {}, change: { boot: "Join" }, refusedAt: "spec" },
  {
    title: "another peer URL",
    old: {},
    change: { address: { ...address, peerURL: "https://demo-9.demo-peers.default.svc:2380" } },
    refusedAt: "spec",
  },
  {
    title: "another listen URL",
    old: {},
    change: { address: { ...address, listenMetricsURL: "http://[::]:2381" } },
    refusedAt: "spec",
  },
  {
    title: "the ID that etcd gave it after another add, before it joined",
    old: { memberID: "1" },
    change: { memberID: "2" },
  },
  {
    title: "another ID after it joined",
    old: { joined: true, memberID: "8e9e05c52164694d" },
    change: { memberID: "2" },
    refusedAt: "spec.memberID",
  },
  { title: "it is permitted to start on its volume", old: {}, change: { volumeUID: "5d1a" } },
  {
    title: "the volume is exchanged",
    old: { volumeUID: "5d1a" },
    change: { volumeUID: "9e2b" },
    refusedAt: "spec.volumeUID",
  },
  {
    title: "the volume is forgotten",
    old: { volumeUID: "5d1a" },
    change: { volumeUID: undefined },
    refusedAt: "spec.volumeUID",
  },
  {
    title: "the list for a joiner is rebuilt before it starts",
    old: { boot: "Join" },
    change: { initialCluster: [] },
  },
  { title: "a rollout", old: {}, change: { template: { ...template, version: "3.6.16" } } },
  { title: "hibernation", old: { joined: true }, change: { run: false } },
  { title: "it is scaled to what it is", old: {}, change: { replicas: 1 } },
  { title: "it is scaled out", old: {}, change: { replicas: 2 }, refusedAt: "spec.replicas" },
  { title: "it is scaled in", old: { joined: true }, change: { replicas: 0 }, refusedAt: "spec.replicas" },
  { title: "it retires", old: {}, change: { retiring: { reason: "another medium" } } },
  {
    title: "it does not retire after all",
    old: { retiring: { reason: "another medium" } },
    change: { retiring: undefined },
  },
  {
    title: "it leaves",
    old: {},
    change: { leaving: { reason: "its data is gone", volume: "Delete", broken: true } },
  },
  {
    title: "it stays after all",
    old: { leaving: { reason: "scale-in", volume: "Delete" } },
    change: { leaving: undefined },
    refusedAt: "spec.leaving",
  },
];
