/**
 * The caches of src/kube on a real API server: filled, followed, and equal to the server's own objects after it was
 * killed, frozen, or cut off without a word.
 */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { KubeClient } from "../../src/kube/client.ts";
import { isReason } from "../../src/kube/errors.ts";
import { configMaps } from "../../src/kube/resources.ts";
import type { Http2Transport } from "../../src/kube/transport.ts";
import type { KubeTransport } from "../../src/seams/kube-transport.ts";
import { eventually } from "../../testbed/eventually.ts";
import { upForTests, type TestTestbed } from "../../testbed/for-tests.ts";
import { bedPaths } from "../../testbed/paths.ts";
import { endOwned } from "../../testbed/processes.ts";
import { up } from "../../testbed/testbed.ts";
import {
  apiServerPid,
  clientOn,
  configOf,
  reflectorOf,
  relayTo,
  transportTo,
  versions,
} from "../support/kube-runtime.ts";

const NAMESPACE = "default";
const OBJECTS = 2_000;

let bed: TestTestbed;
let transport: Http2Transport;
let client: KubeClient;
let reflector: ReturnType<typeof reflectorOf>;

before(async () => {
  bed = await upForTests();
  transport = transportTo(configOf(bed));
  client = clientOn(transport);
});

after(async () => {
  await reflector?.stop();
  await transport?.close();
  await bed?.down();
});

function configMap(name: string, data: Record<string, string> = {}) {
  return { metadata: { name, namespace: NAMESPACE, labels: { "kube-test": "yes" } }, data };
}

/** The server's own word, by another client. */
async function serverList(): Promise<string[]> {
  const path = `/api/v1/namespaces/${NAMESPACE}/configmaps?labelSelector=kube-test`;
  return versions((await bed.client.get<{ items: [] }>(path)).items);
}

/** Both are read again each time: a write that was given up here may still come to pass there. */
async function storeEqualsServer(store = reflector.store): Promise<void> {
  let differences: string[] = [];
  const look = async () => {
    const [theirs, ours] = [new Set(await serverList()), new Set(versions(store.list()))];
    differences = [
      ...[...theirs].filter((one) => !ours.has(one)),
      ...[...ours].filter((one) => !theirs.has(one)),
    ];
    return differences.length === 0;
  };
  await eventually("the store equals the server's", look, { everyMs: 200 }).catch(() =>
    assert.deepEqual(differences.slice(0, 20), [], "on one side only"),
  );
}

async function many<T>(count: number, work: (i: number) => Promise<T>): Promise<void> {
  let next = 0;
  const worker = async () => {
    while (next < count) await work(next++);
  };
  await Promise.all(Array.from({ length: 32 }, worker));
}

test("2,000 objects fill a store through one watch, or through pages where that is refused", async (t) => {
  const making = performance.now();
  await many(OBJECTS, (i) => client.create(configMaps, configMap(`c${i}`, { n: String(i) })));
  t.diagnostic(`${OBJECTS} created in ${Math.round(performance.now() - making)} ms`);

  const filling = performance.now();
  reflector = reflectorOf(client, NAMESPACE);
  await reflector.store.whenSynced(AbortSignal.timeout(60_000));
  t.diagnostic(`filled by WatchList in ${Math.round(performance.now() - filling)} ms`);
  assert.equal(reflector.store.size, OBJECTS);
  assert.equal(reflector.store.get(`${NAMESPACE}/c7`)?.metadata?.managedFields, undefined);
  await storeEqualsServer();

  let pages = 0;
  const without: KubeTransport = {
    request: (request, options) => {
      if (request.query?.["limit"] !== undefined) pages++;
      return transport.request(request, options);
    },
    stream: (request, options) =>
      request.query?.["sendInitialEvents"] === undefined
        ? transport.stream(request, options)
        : Promise.resolve({ ok: false, response: { status: 422, body: "sendInitialEvents is forbidden" } }),
    close: () => Promise.resolve(),
  };
  const paging = performance.now();
  const paged = reflectorOf(clientOn(without), NAMESPACE);
  try {
    await paged.store.whenSynced(AbortSignal.timeout(60_000));
    t.diagnostic(`filled by ${pages} pages in ${Math.round(performance.now() - paging)} ms`);
    assert.ok(pages >= OBJECTS / 500);
    await client.create(configMaps, configMap("after-the-pages"));
    await storeEqualsServer(paged.store);
  } finally {
    await paged.stop();
  }
  assert.equal(transport.connections, 1, "one connection serves all");
});

test("our own write is in the store at once, and the watch agrees later", async () => {
  const made = await client.create(configMaps, configMap("own", { n: "1" }));
  const key = `${NAMESPACE}/own`;
  assert.equal(reflector.store.get(key)?.metadata?.resourceVersion, made.metadata?.resourceVersion);
  const changed = await client.replace(configMaps, { ...made, data: { n: "2" } });
  assert.equal(reflector.store.get(key)?.data?.["n"], "2");
  await reflector.store.whenReached(changed.metadata?.resourceVersion ?? "", AbortSignal.timeout(60_000));
  await client.delete(configMaps, { name: "own", namespace: NAMESPACE }, { uid: made.metadata?.uid ?? "" });
  assert.equal(reflector.store.get(key), undefined);
  await storeEqualsServer();
});

test("a connection that dies without a word is noticed, and what happened meanwhile is seen", async () => {
  const relay = await relayTo(bed.access.server);
  const through = transportTo(configOf(bed, { server: relay.url }));
  const far = reflectorOf(clientOn(through), NAMESPACE);
  try {
    await far.store.whenSynced(AbortSignal.timeout(60_000));
    relay.blackhole();
    await client.create(configMaps, configMap("unheard"));
    await client.delete(
      configMaps,
      { name: "c0", namespace: NAMESPACE },
      { uid: reflector.store.get(`${NAMESPACE}/c0`)?.metadata?.uid ?? "" },
    );
    await storeEqualsServer(far.store);
    await eventually("the dead connection is let go", () => through.connections === 1);
  } finally {
    await far.stop();
    await through.close();
    relay.close();
  }
});

test("a frozen API server is noticed; thawed, the store equals the server's again", async () => {
  const pid = apiServerPid(bed);
  process.kill(pid, "SIGSTOP");
  try {
    await eventually("the silence is noticed", () => reflector.trouble !== undefined);
    const [read] = await Promise.allSettled([
      client.get(configMaps, { name: "c1", namespace: NAMESPACE }, { timeoutMs: 500 }),
    ]);
    assert.ok(
      read.status === "rejected" && isReason(read.reason, "Unreachable", "Interrupted"),
      String(read),
    );
    assert.ok(reflector.store.size > 0, "what was seen stays readable");
  } finally {
    process.kill(pid, "SIGCONT");
  }
  await eventually("it answers", () => bed.client.get("/readyz"));
  await bed.client.create(`/api/v1/namespaces/${NAMESPACE}/configmaps`, configMap("after-the-thaw"));
  await storeEqualsServer();
});

test("an API server killed in the middle of changes and started again: the store equals the server's", async (t) => {
  let stop = false;
  let refused = 0;
  const writing = many(Infinity, async (i) => {
    if (stop) return await Promise.reject(new Error("enough"));
    // Whatever becomes of it: the store must show what became of it.
    await client.create(configMaps, configMap(`w${i}`), { timeoutMs: 2_000 }).catch(async () => {
      refused++;
      await new Promise((resolve) => setTimeout(resolve, 50));
    });
  }).catch(() => undefined);
  await eventually("writes are under way", () => reflector.store.get(`${NAMESPACE}/w50`));
  await endOwned(bedPaths(bed.name).dir, ({ role }) => role === "kube-apiserver");
  await eventually("the loss is noticed", () => reflector.trouble !== undefined && refused > 0);
  const restarting = performance.now();
  (await up({ name: bed.name })).client.close();
  t.diagnostic(`API server back after ${Math.round(performance.now() - restarting)} ms`);
  await eventually("writes go on", () => client.create(configMaps, configMap(`z${performance.now() | 0}`)));
  stop = true;
  await writing;
  t.diagnostic(`${refused} writes failed; ${reflector.store.size} objects in the end`);
  // Our own writes are in the store at once: it may equal the server's before the watch is back.
  await eventually("the trouble is over", () => reflector.trouble === undefined);
  await storeEqualsServer();
});

test("a version from before the API server was started again is reported as Expired", async () => {
  await assert.rejects(
    async () => {
      const objects = await client.watch(
        configMaps,
        { namespace: NAMESPACE },
        { resourceVersion: "1", timeoutSeconds: "5" },
        AbortSignal.timeout(60_000),
      );
      for await (const event of objects) {
        const { type, object } = event as { type: string; object: { code?: number } };
        if (type === "ERROR" && object.code === 410) throw new Error("410 within the stream");
      }
    },
    (error) => isReason(error, "Expired") || (error as Error).message === "410 within the stream",
  );
});
