/**
 * Change logs of a real etcd: a random workload with leases, deletions and transactions of many keys is followed, and
 * every point that is rebuilt from the log equals the original at that revision, by its dump and by etcd's own hash.
 */
import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import process from "node:process";
import { test } from "node:test";
import { EtcdClient } from "../../src/etcd/client.ts";
import * as etcdutl from "../../src/etcd/etcdutl.ts";
import { ops, type Operation } from "../../src/etcd/kv.ts";
import { createPki } from "../../src/pki/issue.ts";
import { systemClock } from "../../src/seams/clock.ts";
import { systemRandom } from "../../src/seams/random.ts";
import { follow, type FollowEvent } from "../../src/snapshot/changes/follow.ts";
import { LeaseKeeper } from "../../src/snapshot/changes/lease-keeper.ts";
import { findPoint } from "../../src/snapshot/changes/point.ts";
import { readSteps } from "../../src/snapshot/changes/reader.ts";
import { replay, REPLAY_FLAGS } from "../../src/snapshot/changes/replay.ts";
import { SNAPSHOT_NAME } from "../../src/snapshot/scratch.ts";
import { withScratchEtcd } from "../../src/snapshot/scratch-process.ts";
import type { Manifest } from "../../src/snapshot/manifest.ts";
import { SnapshotReader } from "../../src/snapshot/read.ts";
import { saveSnapshot } from "../../src/snapshot/save.ts";
import { FileStore } from "../../src/snapshot/store/file.ts";
import { eventually } from "../../testbed/eventually.ts";
import { etcdOf, TestCluster, world, type TestMember } from "../support/etcd-cluster.ts";
import { sampledVersions } from "../support/sample.ts";
import { snapshot, snapshotJson } from "../support/snapshot-verbs.ts";
import { passwordOf } from "../support/passwords.ts";

const CHANGES = 200;
const POINTS = 20;

/** A workload is a function of its seed, so a failure can be run again. */
function numbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

/** All that etcd tells of all keys, at a revision. */
async function dump(client: EtcdClient, revision: number): Promise<string[]> {
  const { kvs } = await client.kv.range("", { prefix: true, revision: BigInt(revision) });
  return kvs.map(({ key, value, createRevision, modRevision, version, lease }) =>
    [
      Buffer.from(key).toString(),
      Buffer.from(value).toString("hex").slice(0, 40),
      value.length,
      createRevision,
      modRevision,
      version,
      lease,
    ].join(" "),
  );
}

async function work(client: EtcdClient, seed: number, changes: number): Promise<bigint[]> {
  const pick = numbers(seed);
  const key = () => `key/${pick(40)}`;
  const value = () => `${pick(1000)}`.repeat(1 + pick(30));
  const leases = [0n, 0n];
  for (const ttl of [1, 2, 600, 3600]) leases.push((await client.lease.grant(ttl)).id);
  const lease = () => leases[pick(leases.length)] ?? 0n;
  for (let i = 0; i < changes; i++) {
    const kind = pick(12);
    try {
      if (kind < 6) await client.kv.put(key(), value(), { lease: lease() });
      else if (kind < 8) await client.kv.delete(key());
      else if (kind === 8) await client.kv.delete("key/1", { prefix: true });
      else if (kind === 9) {
        const id = (await client.lease.grant(60 + pick(100))).id;
        await client.kv.put(key(), "leased", { lease: id });
        await client.kv.put(`other/${pick(5)}`, "leased", { lease: id });
        if (pick(2) === 0) await client.lease.revoke(id);
      } else {
        const keys = new Set(Array.from({ length: 1 + pick(60) }, () => `txn/${pick(80)}`));
        const success: Operation[] = [...keys].map((one) =>
          pick(3) === 0 ? ops.delete(one) : ops.put(one, value()),
        );
        await client.kv.txn({ success });
      }
    } catch (error) {
      // A short lease has expired by now, as it should.
      if (!/lease not found/.test((error as Error).message)) throw error;
      leases.splice(2, 2);
    }
  }
  return leases;
}

for (const version of sampledVersions)
  test(`etcd ${version}: every point in time is rebuilt as it was`, async (t) => {
    await using cluster = await TestCluster.start({ version, members: 1 });
    const member = cluster.members[0] as TestMember;
    const client = cluster.client();
    const folder = path.join(cluster.dir, "backups");
    const store = new FileStore(folder, systemRandom);
    const never = new AbortController().signal;
    const shared = { client, store, compression: "zstd", clock: systemClock, random: systemRandom } as const;
    const events: FollowEvent[] = [];
    let current = new AbortController();
    let running: Promise<void> = Promise.resolve();
    const start = (): void => {
      current = new AbortController();
      const { signal } = current;
      running = follow({
        ...shared,
        signal,
        intervalMs: 300,
        segmentBytes: 4_000,
        takeBase: async () => void (await saveSnapshot({ ...shared, name: "", signal })),
        progress: (event) => events.push(event),
      });
      running.catch(() => undefined);
    };
    const stop = async () => {
      current.abort();
      await running;
    };
    const revisionNow = async () => Number((await client.kv.range("x")).header.revision);
    const recorded = async (revision: number) =>
      await eventually("the log to be complete", async () => {
        await Promise.race([running, Promise.resolve()]);
        return events.some((event) => event.kind === "complete" && event.revision >= revision);
      });
    const seed = Date.now() % 100_000;
    t.diagnostic(`seed ${seed}`);

    await work(client, seed, 30);
    start();
    await eventually("the base to be taken", () => events.some(({ kind }) => kind === "start"));
    await work(client, seed + 1, CHANGES / 2);
    // Stopped and started again: it continues where it was.
    await stop();
    await work(client, seed + 2, CHANGES / 4);
    start();
    await work(client, seed + 3, CHANGES / 4);
    const last = await revisionNow();
    await recorded(last);
    await stop();

    const starts = events.flatMap((event) => (event.kind === "start" ? [event.start] : []));
    // Whatever is tried again begins once more, where the log ends.
    const [isFirstResumed, ...later] = starts.map(({ resumed }) => resumed);
    assert.equal(isFirstResumed, false);
    assert.ok(later.length > 0 && later.every(Boolean), "it continues where it was");
    const { clusterId, after: base } = starts[0] as (typeof starts)[number];
    const pick = numbers(seed + 4);
    const points = new Set(Array.from({ length: POINTS }, () => base + pick(last - base + 1)));
    points.add(last);
    const expected = new Map<number, { dump: string[]; hash: number; compactRevision: bigint }>();
    for (const revision of points) {
      const { hash, compactRevision } = await client.maintenance.hashKv(member.endpoint, BigInt(revision));
      expected.set(revision, { dump: await dump(client, revision), hash, compactRevision });
    }

    await t.test("at random revisions, by dump and by etcd's hash", async () => {
      const point = await findPoint({ store, clusterId, target: { revision: last }, signal: never });
      assert.ok(point.segments.length > 2, "several segments");
      const directory = path.join(cluster.dir, "scratch");
      mkdirSync(directory);
      const reader = new SnapshotReader({ store, ...point.base, signal: never });
      await new FileStore(directory, systemRandom).put(SNAPSHOT_NAME, reader, {
        signal: never,
        ifAbsent: true,
      });
      const etcd = await etcdOf(version);
      const pki = createPki(systemClock, systemRandom);
      const scratch = { directory, etcd, pki, world, env: process.env, signal: never, flags: REPLAY_FLAGS };
      await withScratchEtcd(scratch, async (copy, endpoint) => {
        await using leases = await LeaseKeeper.start(copy, endpoint, systemClock);
        const compare = async (revision: number) => {
          const was = expected.get(revision);
          if (was === undefined) return;
          assert.deepEqual(await dump(copy, revision), was.dump, `revision ${revision}`);
          const { hash, compactRevision } = await copy.maintenance.hashKv(endpoint, BigInt(revision));
          assert.equal(compactRevision, was.compactRevision);
          assert.equal(hash, was.hash, `hash at revision ${revision}`);
          expected.delete(revision);
        };
        const { authRevision = 0, authEnabled = true } = point.base.manifest;
        const steps = readSteps({
          store,
          ...point,
          after: base,
          auth: { authRevision, authEnabled },
          signal: never,
        });
        const compared = async function* () {
          await compare(base);
          for await (const step of steps) {
            yield step;
            await compare(step.record.revision);
          }
        };
        await replay({ client: copy, leases, steps: compared(), signal: never });
        assert.equal(expected.size, 0);
        // Leases have the IDs and times to live that they had.
        const { kvs } = await copy.kv.range("", { prefix: true });
        for (const id of new Set(kvs.map(({ lease }) => lease)))
          if (id !== 0n) {
            const [was, is] = await Promise.all([client.lease.timeToLive(id), copy.lease.timeToLive(id)]);
            if (was.grantedTtl > 0) assert.equal(is.grantedTtl, was.grantedTtl);
          }
      });
    });

    const middle = Math.floor((base + last) / 2);
    await t.test("as a snapshot that plain etcdutl restores", async () => {
      const file = path.join(cluster.dir, "middle.db");
      const manifest = await snapshotJson<Manifest>(["build", "--at-revision", `${middle}`, folder, file]);
      assert.equal(manifest.revision, middle);
      assert.equal(manifest.clusterId, clusterId);
      const { etcdutl: binary = "" } = await etcdOf(version);
      const tool = { binary, version, env: process.env };
      const status = await etcdutl.snapshotStatus(tool, file);
      assert.equal(Number(status.revision), middle);
      const verified = await snapshot(["verify", "--restore", file]);
      assert.match(verified.out, /Verified/);
    });

    await t.test("at a time, and the list says how far it goes", async () => {
      const [entry] = await snapshotJson<{ reaches?: { revision: number; time: string } }[]>(["ls", folder]);
      assert.ok(entry?.reaches !== undefined);
      // A lease may have expired meanwhile.
      const { time, revision } = entry.reaches;
      assert.ok(revision >= last);
      const found = await findPoint({ store, clusterId, target: { time: Date.parse(time) }, signal: never });
      assert.equal(found.revision, revision);
      await assert.rejects(
        snapshot(["build", "--at-time", "2200-01-01T00:00:00Z", folder, path.join(cluster.dir, "never.db")]),
        new RegExp(`are not in the log: what was received by .* is \\(revision ${revision}\\)`),
      );
    });

    await t.test("history that was compacted meanwhile makes a new base", async () => {
      await work(client, seed + 5, 20);
      await client.kv.compact(BigInt(await revisionNow()), { physical: true });
      events.length = 0;
      start();
      await client.kv.put("after", "compaction");
      await recorded(await revisionNow());
      const reasons = events.flatMap((event) => (event.kind === "base" ? [event.reason] : []));
      assert.deepEqual(reasons, ["compacted"]);
    });

    await t.test("a change of users makes a new base, and both sides of it can be rebuilt", async () => {
      const before = await revisionNow();
      await recorded(before);
      events.length = 0;
      await client.auth.userAdd("someone", passwordOf("root"));
      await client.kv.put("after", "auth");
      await client.kv.put("after", "auth, again");
      await eventually("the new base", () => events.some(({ kind }) => kind === "base"));
      await eventually("the follower to go on", () => events.some(({ kind }) => kind === "start"));
      await client.kv.put("after", "new base");
      const now = await revisionNow();
      await recorded(now);
      await stop();
      const [was] = events.flatMap((event) => (event.kind === "base" ? [event.reason] : []));
      assert.equal(was, "auth");
      for (const revision of [before, now]) {
        const file = path.join(cluster.dir, `auth-${revision}.db`);
        const manifest = await snapshotJson<Manifest>([
          "build",
          "--at-revision",
          `${revision}`,
          folder,
          file,
        ]);
        assert.equal(manifest.revision, revision);
      }
      await assert.rejects(
        snapshot(["build", "--at-revision", `${middle}`, folder, path.join(cluster.dir, "middle.db")]),
        /not overwritten|exists/,
      );
    });

    await t.test("by the command, with authentication on, compressed and encrypted", async () => {
      const env = { ETCDCTL_USER: "root", ETCDCTL_PASSWORD: passwordOf("root") };
      await client.auth.userAdd("root", passwordOf("root"));
      await client.auth.roleAdd("root");
      await client.auth.userGrantRole("root", "root");
      await client.auth.enable();
      const root = new EtcdClient({
        transport: cluster.transport(),
        clock: systemClock,
        endpoints: cluster.endpoints,
        credentials: { user: "root", password: passwordOf("root") },
      });
      const key = path.join(cluster.dir, "key");
      writeFileSync(key, "0f".repeat(32), { mode: 0o600 });
      const [safe, decrypt] = [path.join(cluster.dir, "safe"), ["--encryption-key-file", key]];
      const ended = new AbortController();
      const args = ["follow", "--endpoints", member.clientUrl, "--interval", "1s", "--compress", "--encrypt"];
      const following = snapshot([...args, ...decrypt, `${safe}/`], env, ended.signal);
      following.catch(() => undefined);
      const reached = async () => {
        const [entry] = await snapshotJson<{ reaches?: { revision: number } }[]>(["ls", safe]);
        return entry?.reaches?.revision;
      };
      let wanted = 0;
      await eventually("the command to record a change", async () => {
        await Promise.race([following, Promise.resolve()]);
        if ((await reached()) === undefined)
          wanted = Number((await root.kv.put("by", "the command")).header.revision);
        return (await reached()) !== undefined;
      });
      // Written when it is told to end.
      wanted = Number((await root.kv.put("by", "the end")).header.revision);
      // A lease of the workload may expire meanwhile, which is a change too.
      await eventually("the last change", async () => ((await reached()) ?? 0) >= wanted);
      ended.abort();
      const { code, err } = await following;
      assert.equal(code ?? 0, 0);
      assert.match(err, /A new snapshot is needed, since the folder has no snapshot/);
      assert.match(err, /Recorded revisions \d+ to \d+ in changes\//);
      const target = path.join(cluster.dir, "safe-point.db");
      await assert.rejects(snapshot(["build", safe, target]), /encrypted with key/);
      const built = await snapshotJson<Manifest>(["build", ...decrypt, safe, target]);
      assert.ok(built.revision >= wanted, `${built.revision} is not before ${wanted}`);
      await snapshot(["verify", "--restore", target]);
    });
  });
