/** A watch on real etcd: nothing lost and nothing twice, whatever happens to the member it is on. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { EtcdClient } from "../../src/etcd/client.ts";
import { text } from "../../src/etcd/convert.ts";
import type { WatchBatch, WatchOptions } from "../../src/etcd/watch.ts";
import { eventually } from "../../testbed/eventually.ts";
import { TestCluster, type TestMember } from "../support/etcd-cluster.ts";
import { newestVersions } from "../support/etcd-versions.ts";

/** Reads a watch in the background into an array. */
function collect(client: EtcdClient, key: string, options: WatchOptions = {}) {
  const batches: WatchBatch[] = [];
  const stop = new AbortController();
  const done = (async () => {
    for await (const batch of client.watches.watch(key, { ...options, signal: stop.signal }))
      batches.push(batch);
  })();
  done.catch(() => undefined);
  const values = () =>
    batches.flatMap((batch) => (batch.type === "events" ? batch.events : [])).map(({ kv }) => text(kv.value));
  const on = () => batches.findLast((batch) => batch.type === "created")?.endpoint.name;
  return { batches, values, on, done, stop: async () => (stop.abort(), await done) };
}

describe("watches", () => {
  for (const version of newestVersions) {
    test(`etcd ${version}: events come in order, with what was before, from any revision still kept`, async () => {
      await using cluster = await TestCluster.start({ version, members: 1 });
      const client = cluster.client();
      const { header } = await client.kv.put("w/a", "1");
      const live = collect(client, "w/", { prefix: true, previous: true });
      await eventually("the watch is there", () => Promise.resolve(live.batches.length === 1));
      await client.kv.put("w/a", "2");
      await client.kv.delete("w/a");
      await client.kv.put("other", "x");
      await eventually("both events", () => Promise.resolve(live.values().length === 2));
      await live.stop();
      const [put, deleted] = live.batches.flatMap((batch) => (batch.type === "events" ? batch.events : []));
      assert.deepEqual([put?.type, text(put?.previous?.value ?? new Uint8Array())], ["put", "1"]);
      assert.deepEqual([deleted?.type, text(deleted?.kv.key ?? new Uint8Array())], ["delete", "w/a"]);

      const past = collect(client, "w/", { prefix: true, startRevision: header.revision });
      await eventually("the past", () => Promise.resolve(past.values().length === 3));
      await past.stop();

      const now = (await client.kv.put("w/a", "3")).header.revision;
      await client.kv.compact(now);
      await assert.rejects(collect(client, "w/", { startRevision: header.revision }).done, {
        kind: "compacted",
        compactRevision: now,
      });
    });
  }

  test("the member it is on is killed and comes back: every write is seen once, in order", async () => {
    await using cluster = await TestCluster.start({ version: newestVersions.at(-1) as string, members: 3 });
    const client = cluster.client();
    const watch = collect(client, "seq");
    await eventually("the watch is there", () => Promise.resolve(watch.batches.length === 1));
    let written = 0;
    const write = async (count: number, writer: EtcdClient) => {
      for (let i = 0; i < count; i++) {
        await eventually("the write", async () => (await writer.kv.put("seq", String(written + 1)), true));
        written++;
      }
    };
    await write(20, client);
    const victim = cluster.members.find(({ name }) => name === watch.on()) as TestMember;
    const others = cluster.members.filter((member) => member !== victim);
    await victim.running.kill();
    await write(
      20,
      cluster.client(
        others.map(({ endpoint }) => endpoint),
        1_000,
      ),
    );
    await eventually("all so far", () => Promise.resolve(watch.values().length >= written));
    await cluster.restart(victim);
    await write(20, client);
    await eventually("all", () => Promise.resolve(watch.values().length >= written));
    await watch.stop();
    // A write whose answer was lost may have been made twice; seen values never go back.
    const numbers = watch.values().map(Number);
    assert.equal(new Set(numbers).size, written);
    assert.ok(numbers.every((value, index) => index === 0 || value >= (numbers[index - 1] ?? 0)));
    const revisions = watch.batches.flatMap((batch) => (batch.type === "events" ? batch.events : []));
    assert.equal(new Set(revisions.map(({ kv }) => kv.modRevision)).size, revisions.length);
  });

  test("a member that is told to stop is not held up by our watch, which goes on elsewhere", async () => {
    await using cluster = await TestCluster.start({ version: newestVersions.at(-1) as string, members: 3 });
    const watch = collect(cluster.client(), "k");
    await eventually("the watch is there", () => Promise.resolve(watch.batches.length === 1));
    const member = cluster.members.find(({ name }) => name === watch.on()) as TestMember;
    const started = performance.now();
    assert.equal((await member.running.stop({ graceMs: 20_000 })).reason, "stopped");
    assert.ok(performance.now() - started < 5_000, "etcd waits 7 s for streams that stay");
    await eventually("it goes on", () => Promise.resolve(watch.on() !== member.name));
    await watch.stop();
  });

  test("a member cut off from its leader does not hold the watch in silence", async () => {
    await using cluster = await TestCluster.start({ version: newestVersions.at(-1) as string, members: 3 });
    const [on, ...others] = await cluster.followers();
    const follower = on as TestMember;
    const reported: string[] = [];
    const client = cluster.client([follower.endpoint]);
    const watch = collect(client, "k", { onInterrupted: (error) => reported.push(error.kind) });
    await eventually("the watch is there", () => Promise.resolve(watch.batches.length === 1));
    const leader = await cluster.leader();
    await Promise.all([leader, ...others].map((member) => member.running.kill()));
    await eventually("it is told that there is no leader", () =>
      Promise.resolve(reported.includes("no-leader")),
    );
    await watch.stop();
  });
});
