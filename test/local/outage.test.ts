/**
 * Total outage: all members are killed at once while clients write. Everything that was acknowledged is there
 * afterwards, and the cluster takes writes again within seconds, by itself.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { EtcdClient } from "../../src/etcd/client.ts";
import { eventually } from "../../testbed/eventually.ts";
import { LocalCluster } from "../support/local-cluster.ts";
import { EVERY_CASE } from "../support/sample.ts";

const ROUNDS = EVERY_CASE ? 20 : 2;
const WRITERS = 4;
/** From the kill to the first acknowledged write; a machine that runs other tests beside it is slower. */
const WRITABLE_WITHIN_MS = EVERY_CASE ? 5_000 : 15_000;

/** Writes until it is told to stop, and remembers what was acknowledged: key and revision. */
function writer(client: EtcdClient, name: string) {
  const acknowledged = new Map<string, bigint>();
  const stop = new AbortController();
  const done = (async () => {
    for (let i = 0; !stop.signal.aborted; i++) {
      const key = `${name}/${i}`;
      try {
        const { header } = await client.kv.put(key, key, { timeoutMs: 1_000 });
        acknowledged.set(key, header.revision);
      } catch {
        // Not acknowledged: it may be there or not.
      }
    }
  })();
  return {
    acknowledged,
    async end() {
      stop.abort();
      await done;
    },
  };
}

test(`three of three killed under load, ${ROUNDS} times: no acknowledged write is lost, and writes go on by themselves`, async (t) => {
  await using local = await LocalCluster.start({ replicas: 3, version: "3.6.16" });
  const client = await local.client();
  const times: number[] = [];
  const everything = new Map<string, bigint>();
  for (let round = 0; round < ROUNDS; round++) {
    const writers = Array.from({ length: WRITERS }, (_, i) => writer(client, `${round}/${i}`));
    await eventually("writes are under way", () =>
      writers.every(({ acknowledged }) => acknowledged.size > 20),
    );
    const names = await local.names();
    const began = performance.now();
    // By their processes, not by the controller's hand: it has to notice by itself.
    for (const name of names) local.children.findLast(({ member }) => member === name)?.signal("SIGKILL");
    const before = new Set(writers.flatMap(({ acknowledged }) => [...acknowledged.keys()]));
    await eventually("a write is acknowledged again", async () => {
      await client.kv.put(`probe/${round}`, "x", { timeoutMs: 500 });
      return local.children.length >= 3 * (round + 2);
    });
    times.push(performance.now() - began);
    await Promise.all(writers.map((one) => one.end()));
    await local.until("all three serve", ({ healthyVoters }) => healthyVoters === 3);
    const all = await client.kv.range(`${round}/`, { prefix: true, keysOnly: true });
    const found = new Map(all.kvs.map(({ key, modRevision }) => [Buffer.from(key).toString(), modRevision]));
    for (const { acknowledged } of writers)
      for (const [key, revision] of acknowledged) {
        assert.equal(found.get(key), revision, `${key}, acknowledged at ${revision}, is lost`);
        everything.set(key, revision);
      }
    assert.ok(before.size > 80);
  }
  // Whatever a later outage did to what an earlier one had left.
  const all = await client.kv.range("\0", { rangeEnd: "\0", keysOnly: true, timeoutMs: 60_000 });
  const found = new Map(all.kvs.map(({ key, modRevision }) => [Buffer.from(key).toString(), modRevision]));
  for (const [key, revision] of everything)
    assert.equal(found.get(key), revision, `${key}, acknowledged at ${revision}, is lost`);
  const told = `${everything.size} acknowledged writes, none lost; writable again after ${times.map((ms) => `${Math.round(ms)} ms`).join(", ")}`;
  t.diagnostic(told);
  assert.ok(Math.max(...times) <= WRITABLE_WITHIN_MS, told);
});
