/**
 * The hazards that docs/rules.md names, on Pods: what etcd would do is shown in test/etcd/hazards; here is what the
 * operator makes of it. H3 and H4 are in operator-heal, H10 is in operator-outage, H11 in operator-objects.
 */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { PersistentVolumeClaim } from "kubernetes-types/core/v1.d.ts";
import { IdleConnections } from "../../src/http2/idle.ts";
import { ops } from "../../src/etcd/kv.ts";
import { overTheWire, type EtcdReach } from "../../src/operator/reach/reach.ts";
import type { OperatorOptions } from "../../src/operator/runtime.ts";
import { systemClock } from "../../src/seams/clock.ts";
import type { EtcdTransport } from "../../src/seams/etcd-transport.ts";
import { isCode } from "../../testbed/client.ts";
import { eventually } from "../../testbed/eventually.ts";
import { faults, type Faults } from "../../testbed/faults.ts";
import type { TestTestbed } from "../../testbed/for-tests.ts";
import { HookedTransport } from "../support/hooked-transport.ts";
import { PATHS } from "../support/kube-paths.ts";
import { ClusterOnBed, startOperator, upWithDefinitions, type Running } from "../support/operator.ts";

const PATIENCE = { withinMs: 120_000, everyMs: 50 };

let bed: TestTestbed;
let fault: Faults;
let operators = 0;

before(async () => {
  bed = await upWithDefinitions();
  fault = faults(bed.name);
});

after(async () => {
  await bed?.down();
});

interface Hooked extends Running {
  readonly hooks: HookedTransport;
}

/** Each with a lease of its own: nobody waits for the one before, and two of them lead at once. */
function start(change: Partial<OperatorOptions> = {}): Hooked {
  const hooks = new HookedTransport(bed);
  const lease = { namespace: "default", name: `lease-${++operators}` };
  return Object.assign(startOperator(bed, { transport: hooks, lease, installation: "hazards", ...change }), {
    hooks,
  });
}

async function withCluster(
  name: string,
  change: Partial<OperatorOptions>,
  work: (cluster: ClusterOnBed, operator: Hooked) => Promise<void>,
): Promise<void> {
  const operator = start(change);
  const cluster = new ClusterOnBed(bed, name, operator);
  try {
    await work(cluster, operator);
    await cluster.delete();
    await cluster.gone(`${PATHS.clusters}/${name}`);
  } finally {
    await cluster.close();
    await operator.stop();
  }
}

/** Pods that were made, `demo-1`, in order. */
function made({ hooks }: Hooked): string[] {
  const posts = hooks.answers.filter(
    ({ status, what }) => status === 201 && what.startsWith(`POST ${PATHS.pods}/`),
  );
  return posts.filter(({ what }) => !what.endsWith(")")).map(({ what }) => what.split("/").at(-1) ?? "");
}

/** Without the Pod that uses it, too. */
async function loseClaim(member: string): Promise<PersistentVolumeClaim> {
  const path = `${PATHS.claims}/data-${member}`;
  const claim = await bed.client.get<PersistentVolumeClaim>(path);
  await bed.client.delete(path);
  await bed.client.delete(`${PATHS.pods}/${member}`).catch((error: unknown) => assert.ok(isCode(error, 404)));
  await eventually(
    `the volume of ${member} is gone`,
    async () => {
      const now = await bed.client.get<PersistentVolumeClaim>(path).catch((error: unknown) => {
        assert.ok(isCode(error, 404));
        return undefined;
      });
      return now?.metadata?.uid !== claim.metadata?.uid;
    },
    PATIENCE,
  );
  return claim;
}

const permitted = async (cluster: ClusterOnBed) =>
  (await cluster.members()).filter(({ spec }) => spec.volumeUID !== undefined).length;

test("H2: a volume lost during the first boot ends the attempt: other names, another token, and nobody starts where a volume was lost", async () => {
  await withCluster("first", {}, async (cluster, operator) => {
    // One founder runs alone and waits for the others: the cluster exists nowhere yet.
    const missing = ["first-2", "first-3"];
    operator.hooks.refuses = (what) => missing.some((name) => what === `POST ${PATHS.pods}/${name}`);
    await cluster.create({ replicas: 3 });
    await eventually("all may start", async () => (await permitted(cluster)) === 3, PATIENCE);
    await eventually("one does", () => made(operator).includes("first-1"), PATIENCE);
    await loseClaim("first-1");
    await cluster.converged(3);
    assert.deepEqual(await cluster.list(PATHS.members), ["first-4", "first-5", "first-6"]);
    const { uid } = (await cluster.get()).metadata;
    for (const { spec } of await cluster.members()) assert.equal(spec.token, `${uid}-2`);
    assert.deepEqual(
      made(operator).filter((name) => missing.includes(name)),
      [],
    );
    const claims = await cluster.list(PATHS.claims);
    for (const name of missing) assert.ok(claims.includes(`data-${name}`), "what was not lost is kept");
    await cluster.assertSound(3);
  });
});

test("H2: a founder that was slower than the others and lost its volume does not start on another one of that name", async () => {
  await withCluster("slow", {}, async (cluster, operator) => {
    operator.hooks.refuses = (what) => what === `POST ${PATHS.pods}/slow-3`;
    await cluster.create({ replicas: 3 });
    await cluster.waitFor("Available");
    const clusterID = await eventually(
      "it is told",
      async () => (await cluster.status()).clusterID,
      PATIENCE,
    );
    await eventually("all may start", async () => (await permitted(cluster)) === 3, PATIENCE);
    const { metadata, spec, apiVersion, kind } = await loseClaim("slow-3");
    const { name, namespace, labels } = metadata ?? {};
    await bed.client.create(PATHS.claims, { apiVersion, kind, metadata: { name, namespace, labels }, spec });
    await eventually("it is given up", () => operator.steps.includes("UpdateMember/leave slow-3"), PATIENCE);
    operator.hooks.refuses = () => false;
    await eventually(
      "another takes its place",
      async () => (await cluster.list(PATHS.members)).includes("slow-4"),
      PATIENCE,
    );
    await cluster.converged(3);
    assert.deepEqual(await cluster.list(PATHS.members), ["slow-1", "slow-2", "slow-4"]);
    assert.ok(!made(operator).includes("slow-3"), "it never ran");
    assert.equal((await cluster.status()).clusterID, clusterID);
    await cluster.assertSound(3);
  });
});

test("H5: woken with another version and size, all members wake as they fell asleep; then they shrink and roll, one minor at a time", async () => {
  await withCluster("asleep", {}, async (cluster, operator) => {
    await cluster.create({ replicas: 3, version: "3.5.35" });
    await cluster.converged(3);
    await (await cluster.etcd()).kv.put("kept", "yes", { timeoutMs: 5_000 });
    await cluster.edit({ replicas: 0 });
    await eventually("no Pod is left", async () => (await cluster.pods()).length === 0, PATIENCE);
    const images = new Map<string, string[]>();
    operator.hooks.holds = (what, { body }) => {
      if (!what.startsWith(`POST ${PATHS.pods}/`) || what.endsWith(")")) return false;
      const { metadata, spec } = body as {
        metadata: { name: string };
        spec: { containers: { image: string }[] };
      };
      const before = images.get(metadata.name) ?? [];
      images.set(metadata.name, [...before, spec.containers[0]?.image.split(":v").at(-1) ?? ""]);
      return false;
    };
    await cluster.edit({ replicas: 1, version: "3.7.3" });
    await eventually(
      "3.7.3 is reached",
      async () => (await cluster.status()).version?.current === "3.7.3",
      PATIENCE,
    );
    await cluster.converged(1);
    const [left = ""] = await cluster.list(PATHS.members);
    assert.deepEqual([...images.keys()].toSorted(), ["asleep-1", "asleep-2", "asleep-3"]);
    for (const [name, versions] of images) assert.equal(versions[0], "3.5.35", name);
    assert.deepEqual(images.get(left), ["3.5.35", "3.6.16", "3.7.3"]);
    const restarts = (await cluster.pods()).map(({ status }) => status?.containerStatuses?.[0]?.restartCount);
    assert.deepEqual(restarts, [0], "none ended by itself");
    const found = await (await cluster.etcd()).kv.range("kept", { timeoutMs: 5_000 });
    assert.equal(found.kvs.length, 1);
  });
});

test("H9: an operator whose caches are old, and whose calls arrive late, changes nothing that is not as it was", async (t) => {
  await withCluster("stale", {}, async (cluster, operator) => {
    const stale = operator.hooks;
    await cluster.create({ replicas: 3 });
    await cluster.converged(3);
    /** What changes a cluster: not what is reported it. */
    const matters = (what: string) => !/^GET |\/(leases|events|status)(\/|$)|\(dry run\)$/.test(what);
    const late = () => stale.answers.filter(({ what, late: was }) => was && matters(what));
    /** From the first such call on, the operator is as if it were in another time, and another one does its work. */
    const overtaken = async (begins: RegExp, ask: () => Promise<unknown>, work: () => Promise<unknown>) => {
      let begun = false;
      stale.holds = (what) => {
        begun ||= begins.test(what);
        if (begun) stale.keepNews();
        return begun && matters(what);
      };
      await ask();
      await eventually("it is about to", () => begun, PATIENCE);
      const other = start();
      try {
        await work();
        const before = await state(cluster);
        stale.release();
        await eventually("its call arrives", () => late().length > 0, PATIENCE);
        const versions = (await cluster.members()).map(({ metadata }) =>
          BigInt(metadata.resourceVersion ?? 0),
        );
        await stale.passRecords(versions.reduce((a, b) => (a > b ? a : b), 0n));
        stale.passNews();
        await work();
        await eventually("what it did in vain is gone", async () => {
          assert.deepEqual(await state(cluster), before);
          return true;
        });
      } finally {
        await other.stop();
      }
      t.diagnostic(
        late()
          .map(({ what, status }) => `${what.split("/").slice(-2).join("/")}: ${status}`)
          .join("; "),
      );
    };

    await overtaken(
      new RegExp(`^DELETE ${PATHS.pods}/`),
      () => cluster.edit({ options: { snapshotCount: 5_000 } }),
      () => cluster.converged(3),
    );
    assert.ok(late().length > 0);
    assert.deepEqual(
      late().filter(({ status }) => status !== 404 && status !== 409),
      [],
      "the Pod of that UID is gone, and the records have other versions",
    );
    await cluster.assertSound(3);

    stale.answers.length = 0;
    await overtaken(
      new RegExp(`^POST ${PATHS.pods}/stale-3$`),
      () => cluster.deletePod("stale-3"),
      async () => {
        if ((await cluster.get()).spec.replicas === 3) await cluster.edit({ replicas: 1 });
        await cluster.converged(1);
      },
    );
    await cluster.assertSound(1);
  });
});

/** Who is there, by UID; a Pod without a record has nothing to start from and goes. */
async function state(cluster: ClusterOnBed): Promise<string[][]> {
  const uids = (objects: readonly { metadata?: { name?: string; uid?: string } }[]) =>
    objects.map(({ metadata }) => `${metadata?.name} ${metadata?.uid}`);
  return [uids(await cluster.pods()), uids(await cluster.members()), uids(await cluster.claims())];
}

/** The way to the members over the wire; before one is defragmented, its name is reported and what follows waited for. */
function beforeDefragmentation(tell: (member: string) => Promise<void>): () => EtcdReach {
  const idle = new IdleConnections(16);
  return () => {
    const reach = overTheWire(systemClock, idle);
    const wire = reach.transport;
    const transport: EtcdTransport = {
      async unary(call, endpoint, request, options) {
        if (call.name === "Defragment") await tell(endpoint.name ?? "");
        return await wire.unary(call, endpoint, request, options);
      },
      stream: (call, endpoint, options) => wire.stream(call, endpoint, options),
      close: () => wire.close(),
    };
    return { ...reach, transport };
  };
}

test("H12: a member that is silent while it is defragmented is neither killed by its probes nor replaced", async (t) => {
  let begins = (_member: string): Promise<void> => Promise.resolve();
  const reach = beforeDefragmentation((member) => begins(member));
  await withCluster("large", { reach }, async (cluster, operator) => {
    const options = { quotaBackendBytes: "256Mi" };
    await cluster.create({ replicas: 3, options, maintenance: { defrag: { auto: false } } });
    await cluster.converged(3);
    await fill(cluster);
    const before = await state(cluster);
    const silent = Promise.withResolvers<{ member: string; follows: boolean; began: number }>();
    // Who comes first depends on who leads at that moment.
    begins = async (member) => {
      begins = () => Promise.resolve();
      try {
        const follows = (await followers(cluster)).includes(member);
        await fault.freeze("default", member);
        silent.resolve({ member, follows, began: Date.now() });
      } catch (error) {
        silent.reject(error);
      }
    };
    // Anybody who is silent for so long otherwise is given up.
    const repair = { unhealthyAfter: "3s", memberLostAfter: "15s" };
    const defrag = { auto: true, freeAbove: "4Mi", ratioAbove: 0.1 };
    await cluster.edit({ repair, maintenance: { defrag } });
    const { member, follows, began } = await silent.promise;
    try {
      assert.ok(follows, `followers first, and not ${member}`);
      await eventually("it was silent for long", () => Date.now() - began > 18_000, PATIENCE);
      assert.ok(!operator.steps.some((step) => step.startsWith("Defragment")), "it is just this one");
      assert.deepEqual(await state(cluster), before);
      // What follows is not about patience.
      await cluster.edit({ repair: { unhealthyAfter: "30s", memberLostAfter: "1h" } });
    } finally {
      await fault.thaw("default", member);
    }
    t.diagnostic(`${member} was silent for ${Date.now() - began} ms`);
    await eventually(
      "all were defragmented",
      async () => {
        const done = operator.steps.filter((step) => /^Defragment \S+$/.test(step)).length;
        if (done >= 3) return true;
        throw new Error(`${operator.steps.slice(-6).join("; ")}; ${(await cluster.status()).message}`);
      },
      PATIENCE,
    );
    await cluster.converged(3);
    assert.deepEqual(await state(cluster), before, "nobody came, nobody went");
    for (const pod of await cluster.pods())
      assert.equal(pod.status?.containerStatuses?.[0]?.restartCount, 0, pod.metadata?.name);
    await cluster.assertSound(3);
  });
});

/** By what they say themselves, right now. */
async function followers(cluster: ClusterOnBed): Promise<string[]> {
  const client = await cluster.etcd();
  const endpoints = await cluster.endpoints();
  const states = await Promise.all(
    endpoints.map((endpoint) => client.maintenance.status(endpoint, { timeoutMs: 5_000 })),
  );
  const follows = states.map(({ header, leader }) => header.memberId !== leader);
  return endpoints.filter((_, index) => follows[index]).flatMap(({ name }) => name ?? []);
}

/** Most of it goes again, and leaves free pages behind. */
async function fill(cluster: ClusterOnBed): Promise<void> {
  const client = await cluster.etcd();
  const value = "x".repeat(64 * 1024);
  for (let n = 0; n < 16; n++) {
    const success = Array.from({ length: 16 }, (_, i) =>
      ops.put(`${n < 4 ? "stay" : "go"}/${n}/${i}`, value),
    );
    await client.kv.txn({ compare: [], success, failure: [] }, { timeoutMs: 10_000 });
  }
  const { header } = await client.kv.delete("go/", { prefix: true, timeoutMs: 10_000 });
  await client.kv.compact(header.revision, { physical: true, timeoutMs: 30_000 });
  const endpoints = await cluster.endpoints();
  await eventually(
    "all members know of their free pages",
    async () => {
      // They count them anew only when they write.
      await client.kv.put("stay/last", `${Date.now()}`, { timeoutMs: 5_000 });
      const states = await Promise.all(
        endpoints.map((endpoint) => client.maintenance.status(endpoint, { timeoutMs: 5_000 })),
      );
      return states.every(({ dbSize, dbSizeInUse }) => dbSize - dbSizeInUse > 8 * 1024 ** 2);
    },
    PATIENCE,
  );
}
