/**
 * Every kind of store on a real API server, by the Jobs that Kubernetes makes: a cluster with TLS and authentication is
 * saved and verified, deleted with its volumes, and comes back from the store under the same name.
 */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { EtcdSnapshot } from "../../src/api/etcd-snapshot.ts";
import { API_VERSION } from "../../src/api/metadata.ts";
import type { EtcdClient } from "../../src/etcd/client.ts";
import type { KubeObject } from "../../testbed/client.ts";
import { eventually } from "../../testbed/eventually.ts";
import type { TestTestbed } from "../../testbed/for-tests.ts";
import { bedStores, type StoreKind } from "../support/bed-stores.ts";
import { newestVersions } from "../support/etcd-versions.ts";
import { PATHS } from "../support/kube-paths.ts";
import { assertNoLeakOnBed } from "../support/leaks.ts";
import {
  ClusterOnBed,
  PATIENCE_MS,
  startOperator,
  upWithDefinitions,
  type Running,
} from "../support/operator.ts";
import { ownImage } from "../support/own-image.ts";
import { sampled } from "../support/sample.ts";

const versions = newestVersions.filter((version) => !version.startsWith("3.4"));
const kinds = Object.keys(bedStores) as StoreKind[];
const cases = versions.flatMap((version) => kinds.map((kind) => ({ version, kind })));

let bed: TestTestbed;
let running: Running;

before(async () => {
  bed = await upWithDefinitions();
  running = startOperator(bed, ownImage(bed));
});

after(async () => {
  await running?.stop();
  await bed?.down();
});

async function create(path: string, kind: string, name: string, rest: object): Promise<void> {
  const apiVersion = kind === "Secret" ? "v1" : API_VERSION;
  await bed.client.create(path, { apiVersion, kind, metadata: { name }, ...rest } as KubeObject);
}

/** All that etcd tells of all keys. */
async function dumpOf({ kv }: EtcdClient): Promise<string[]> {
  const { kvs } = await kv.range("\0", { rangeEnd: "\0" });
  return kvs.map(({ key, value, createRevision, modRevision, version, lease }) =>
    [Buffer.from(key), Buffer.from(value), createRevision, modRevision, version, lease].map(String).join(" "),
  );
}

for (const { version, kind } of sampled(cases))
  test(`etcd ${version} with TLS and auth, ${kind}: saved, verified, deleted, and back with keys, leases and revisions`, async () => {
    await using store = await bedStores[kind]();
    const name = `${kind}-${version.split(".").slice(0, 2).join("-")}`;
    await create(PATHS.secrets, "Secret", name, { stringData: store.credentials });
    const spec = {
      replicas: 1,
      version,
      storage: { size: "1Gi", retention: { onDelete: "Delete" } },
      auth: { enabled: true, clientRoles: ["root"] },
    };
    const former = new ClusterOnBed(bed, name, running);
    await former.create(spec);
    await former.converged(1);
    await former.waitFor("AuthReady");
    const client = await former.etcd();
    const { id: lease } = await client.lease.grant(3_600);
    for (let i = 0; i < 20; i++) await client.kv.put(`key/${i}`, `value ${i}`);
    await client.kv.put("key/1", "again", { lease });
    const { header } = await client.kv.delete("key/7");
    const wanted = await dumpOf(client);

    await create(PATHS.snapshots, "EtcdSnapshot", name, {
      spec: { cluster: name, destination: store.destination("prod", name) },
    });
    const { status } = await eventually(
      "the snapshot is taken and verified",
      async () => {
        const found = await bed.client.get<EtcdSnapshot>(`${PATHS.snapshots}/${name}`);
        if (found.status?.verification?.phase === "Succeeded") return found;
        throw new Error(`${JSON.stringify(found.status)}; ${running.log.slice(-3).join("\n")}`);
      },
      { withinMs: PATIENCE_MS },
    );
    assert.ok(BigInt(status?.revision ?? 0) >= header.revision, status?.message);
    assert.match(status?.verification?.message ?? "", /19 keys, and their hash is the recorded one/);

    await former.close();
    await former.delete();
    await former.gone(`${PATHS.clusters}/${name}`);
    assert.deepEqual(await former.claims(), [], "its volumes went with it");

    const restored = new ClusterOnBed(bed, name, running);
    await restored.create({ ...spec, bootstrap: { restore: { snapshot: name } } });
    await restored.converged(1);
    await restored.waitFor("AuthReady");
    const back = await restored.etcd();
    assert.deepEqual(await dumpOf(back), wanted, "keys with their revisions, versions and leases");
    assert.equal((await back.lease.timeToLive(lease)).grantedTtl, 3_600);
    assert.equal((await back.auth.status()).enabled, true);
    const { header: now } = await back.kv.put("since", "x");
    assert.ok(now.revision > header.revision + 1_000_000_000n, `revision ${now.revision}`);
    const signal = AbortSignal.timeout(PATIENCE_MS);
    const watch = back.watches.watch("key/1", { startRevision: header.revision + 1n, signal });
    await assert.rejects(async () => {
      for await (const { type } of watch) assert.notEqual(type, "events", "a watcher travels back");
    }, /compacted/);
    await assertNoLeakOnBed(bed, running, name);
    await restored.close();
    await restored.delete();
    await restored.gone(`${PATHS.clusters}/${name}`);
  });
