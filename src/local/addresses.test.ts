import assert from "node:assert/strict";
import { test } from "node:test";
import type { MemberRecord } from "../core/record.ts";
import type { Ports } from "../seams/ports.ts";
import { addressAt, chooseBasePort, offers, slotOf } from "./addresses.ts";

const tls = { client: true, peer: true };
const free = async () => await Promise.resolve(true);

function record(name: string, ordinal: number, slot: number, plan: readonly number[] = []): MemberRecord {
  const initialCluster = plan.map((n) => ({ name: `c-${n}`, peerURL: addressAt(1000, n - 1, tls).peerURL }));
  const boot = plan.length > 0 ? "New" : "Join";
  return {
    name,
    ordinal,
    boot,
    initialCluster,
    address: addressAt(1000, slot, tls),
  } as unknown as MemberRecord;
}

test("a member has a port for clients, one for peers and one for metrics, and only metrics are plain", () => {
  const { clientURL, peerURL, metricsURL } = addressAt(1000, 2, tls);
  assert.deepEqual(
    [clientURL, peerURL, metricsURL],
    ["https://127.0.0.1:1006", "https://127.0.0.1:1007", "http://127.0.0.1:1008"],
  );
});

test("a peer URL is ours only when it is a peer port of our block", () => {
  assert.equal(slotOf(1000, "https://127.0.0.1:1007"), 2);
  for (const foreign of [
    "https://127.0.0.1:1006",
    "https://10.0.0.1:1007",
    "https://127.0.0.1:1101",
    "https://127.0.0.1:998",
    "nonsense",
  ]) {
    assert.equal(slotOf(1000, foreign), undefined, foreign);
  }
});

test("the next members are offered the lowest slots that nobody has, under ordinals never used", async () => {
  const input = { cluster: "c", basePort: 1000, tls, records: [record("c-2", 2, 1)], highestOrdinal: 5 };
  const found = await offers(input, free);
  assert.deepEqual(
    found.slice(0, 2).map(({ ordinal, address }) => [ordinal, slotOf(1000, address.peerURL)]),
    [
      [6, 0],
      [7, 2],
    ],
  );
});

test("founders that are planned but not recorded yet are offered what the plan says", async () => {
  const records = [record("c-1", 1, 0, [1, 2, 3])];
  const found = await offers({ cluster: "c", basePort: 1000, tls, records, highestOrdinal: 1 }, free);
  assert.deepEqual(
    found.slice(0, 3).map(({ ordinal, address }) => [ordinal, slotOf(1000, address.peerURL)]),
    [
      [2, 1],
      [3, 2],
      [4, 3],
    ],
  );
});

test("slots whose ports another process holds are passed over", async () => {
  const found = await offers({ cluster: "c", basePort: 1000, tls, records: [], highestOrdinal: 0 }, (slot) =>
    Promise.resolve(slot !== 0),
  );
  assert.equal(slotOf(1000, found[0]?.address.peerURL ?? ""), 1);
});

test("a new cluster takes the first block that is free and nobody else's", async () => {
  const ports: Ports = {
    isFree: (_host, port) => Promise.resolve(port >= 24_000),
    holder: () => Promise.resolve(undefined),
  };
  const first = await chooseBasePort(ports, []);
  assert.ok(first !== undefined && first >= 24_000);
  assert.equal(await chooseBasePort(ports, [first]), first + 100);
  const none: Ports = { ...ports, isFree: () => Promise.resolve(false) };
  assert.equal(await chooseBasePort(none, []), undefined);
});
