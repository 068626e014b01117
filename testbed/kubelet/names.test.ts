import assert from "node:assert/strict";
import { test } from "node:test";
import { answer } from "./dns.ts";
import { clusterNames, hostLines } from "./names.ts";
import type { NamedPod } from "./names.ts";

function named(name: string, ip: string, ready: boolean): NamedPod {
  const metadata = { name, namespace: "ns", labels: { app: "etcd" } };
  return { pod: { metadata, spec: { hostname: name, subdomain: "peers", containers: [] } }, ip, ready };
}

const service = (name: string, rest: object) => ({
  metadata: { name, namespace: "ns" },
  spec: { selector: { app: "etcd" }, ...rest },
});

const names = clusterNames(
  [service("peers", { publishNotReadyAddresses: true }), service("clients", {})],
  [named("a", "127.64.1.10", true), named("b", "127.64.2.10", false)],
);

test("a Service gives the Pods that are ready, or all where it says so", () => {
  assert.deepEqual(names.get("clients.ns.svc.cluster.local"), ["127.64.1.10"]);
  assert.deepEqual(names.get("peers.ns.svc.cluster.local"), ["127.64.1.10", "127.64.2.10"]);
});

test("a Pod has a name of its own below the Service that is its subdomain, and only there", () => {
  assert.deepEqual(names.get("b.peers.ns.svc.cluster.local"), ["127.64.2.10"]);
  assert.equal(names.get("a.clients.ns.svc.cluster.local"), undefined);
  assert.ok(hostLines(names).includes("127.64.2.10 b.peers.ns.svc.cluster.local b.peers.ns.svc b.peers.ns"));
});

function question(name: string, type: number): Buffer {
  const labels = name.split(".").flatMap((label) => [Buffer.from([label.length]), Buffer.from(label)]);
  const head = Buffer.from([0xab, 0xcd, 0x01, 0x00, 0, 1, 0, 0, 0, 0, 0, 0]);
  return Buffer.concat([head, ...labels, Buffer.from([0, 0, type, 0, 1])]);
}

test("the name server answers A questions about the cluster and nothing else", () => {
  const lookup = (name: string) => names.get(name);
  const found = answer(question("B.peers.ns.svc.cluster.local", 1), lookup);
  assert.ok(found);
  assert.equal(found.readUInt16BE(0), 0xabcd);
  assert.equal(found.readUInt8(3) & 15, 0);
  assert.equal(found.readUInt16BE(6), 1);
  assert.deepEqual([...found.subarray(-4)], [127, 64, 2, 10]);
  const v6 = answer(question("b.peers.ns.svc.cluster.local", 28), lookup);
  assert.deepEqual([v6?.readUInt8(3), v6?.readUInt16BE(6)], [0x80, 0]);
  assert.equal((answer(question("elsewhere.example", 1), lookup)?.readUInt8(3) ?? 0) & 15, 3);
});

test("what is no question gets no answer", () => {
  const whole = question("a.b", 1);
  const lookup = () => [];
  for (let length = 0; length < whole.length; length++)
    assert.equal(answer(whole.subarray(0, length), lookup), undefined);
  const reply = Buffer.from(whole);
  reply.writeUInt8(0x80, 2);
  assert.equal(answer(reply, lookup), undefined);
});
