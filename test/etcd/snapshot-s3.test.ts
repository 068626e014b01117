/** Snapshots in a real S3 server, over TLS: written in parts, read back, restored, copied, pruned and refused. */
import assert from "node:assert/strict";
import { readdirSync, readFileSync, truncateSync, writeFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { createPki } from "../../src/pki/issue.ts";
import { ops } from "../../src/etcd/kv.ts";
import { systemClock } from "../../src/seams/clock.ts";
import { systemRandom } from "../../src/seams/random.ts";
import type { Entry } from "../../src/snapshot/catalog.ts";
import type { Manifest } from "../../src/snapshot/manifest.ts";
import { TestCluster, type TestMember } from "../support/etcd-cluster.ts";
import { newestVersions } from "../support/etcd-versions.ts";
import { snapshot, snapshotJson } from "../support/snapshot-verbs.ts";
import { S3Server } from "../support/versitygw.ts";

const HOUR = 3_600_000;

test("a bucket holds snapshots from the first byte to the last", { timeout: 900_000 }, async (t) => {
  const pki = createPki(systemClock, systemRandom);
  const ca = await pki.issueCa({ commonName: "s3 CA", lifeMs: 24 * HOUR });
  const tls = await pki.issueLeaf({
    ca,
    leaf: {
      commonName: "s3",
      sans: { dns: [], ips: ["127.0.0.1"] },
      usages: ["serverAuth"],
      lifeMs: HOUR,
    },
  });
  await using server = await S3Server.start({ buckets: ["backups"], tls });
  await using cluster = await TestCluster.start({ version: newestVersions[1] ?? "3.6", members: 1 });
  const member = cluster.members[0] as TestMember;
  const client = cluster.client();
  for (let i = 0; i < 300; i += 10)
    await client.kv.txn({
      success: Array.from({ length: 10 }, (_, j) => ops.put(`key/${i + j}`, systemRandom.bytes(100_000))),
    });
  const caFile = path.join(cluster.dir, "s3-ca.crt");
  writeFileSync(caFile, ca.certificate);
  const env = { ...server.env, AWS_CA_BUNDLE: caFile };
  const folder = "s3://backups/prod/a b+c/";
  const save = ["save", "--endpoints", member.clientUrl];
  let first: Manifest & { uri: string } = undefined as never;

  await t.test("more than one part goes in, and comes out the same", async () => {
    first = await snapshotJson([...save, folder], env);
    assert.ok(first.size > 3 * 8 * 1024 * 1024);
    const file = path.join(cluster.dir, "fetched.db");
    await snapshot(["get", first.uri, file], env);
    const stored = path.join(server.dir, "data/backups/prod/a b+c", first.object);
    assert.ok(readFileSync(stored).equals(readFileSync(file)));
    await snapshot(["verify", first.uri], env);
  });

  await t.test("it can be restored", async () => {
    const { restored } = await snapshotJson<{ restored: { totalKeys: number } }>(
      ["verify", "--restore", first.uri],
      env,
    );
    assert.equal(restored.totalKeys, 300);
  });

  await t.test("a name that is taken is refused, and the object stays", async () => {
    await assert.rejects(snapshot([...save, first.uri], env), { code: 5 });
    await snapshot(["verify", first.uri], env);
  });

  await t.test("a listing tells what is there; a copy goes to a directory and back", async () => {
    const list = await snapshotJson<Entry[]>(["ls", folder], env);
    assert.deepEqual(
      list.map(({ name, state }) => [name, state]),
      [[first.object, "complete"]],
    );
    const local = path.join(cluster.dir, "local/");
    await snapshot(["copy", folder, local], env);
    await snapshot(["verify", path.join(local, first.object)]);
    await snapshot(["copy", local, "s3://backups/again/"], env);
    await snapshot(["verify", `s3://backups/again/${first.object}`], env);
    const again = await snapshot(["copy", local, "s3://backups/again/"], env);
    assert.match(again.out, /there already/);
  });

  await t.test("pruning keeps the newest and what is not ours", async () => {
    await snapshotJson([...save, "--compress", folder], env);
    writeFileSync(path.join(server.dir, "data/backups/prod/a b+c/foreign.db"), "not ours");
    const { code } = await snapshot(["prune", "--keep-last", "1", "--yes", folder], env);
    assert.equal(code, 0);
    const left = readdirSync(path.join(server.dir, "data/backups/prod/a b+c")).toSorted();
    assert.equal(left.length, 3, left.join(", "));
    assert.ok(left.includes("foreign.db") && left.some((name) => name.endsWith(".db.zst")));
  });

  await t.test("an object that is damaged in the store is found", async () => {
    const stored = path.join(server.dir, "data/backups/again", first.object);
    const bytes = readFileSync(stored);
    bytes[20_000_000] = (bytes[20_000_000] ?? 0) ^ 1;
    writeFileSync(stored, bytes);
    await assert.rejects(snapshot(["verify", `s3://backups/again/${first.object}`], env), /is damaged/);
    truncateSync(stored, 20_000_000);
    const [entry] = await snapshotJson<Entry[]>(["ls", "s3://backups/again/"], env);
    assert.equal(entry?.state, "damaged");
  });

  await t.test(
    "wrong credentials, a bucket that does not exist, an untrusted server and no server are told apart",
    async () => {
      const list = (more: Record<string, string | undefined>, uri = folder) =>
        snapshot(["ls", uri], { ...env, ...more });
      await assert.rejects(list({ AWS_SECRET_ACCESS_KEY: "wrong" }), { code: 4 });
      await assert.rejects(list({ AWS_ACCESS_KEY_ID: undefined }), /no credentials for S3/);
      await assert.rejects(list({}, "s3://missing/"), /bucket does not exist/);
      await assert.rejects(list({ AWS_CA_BUNDLE: undefined }), /certificate/);
      await assert.rejects(list({ AWS_ENDPOINT_URL: "https://127.0.0.1:9" }), { code: 3 });
    },
  );
});
